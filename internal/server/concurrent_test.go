package server

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"seen/internal/resp"
)

// Many clients change the same few values while these are deleted and created again. A
// command whose value was deleted after the lookup runs again: no client sees an error
// that the commands one after another could not give.
func TestCommandsWhileValuesAreDeleted(t *testing.T) {
	s := start(t)
	commands := [][]string{
		{"BF.RESERVE", "bf", "0.01", "10", "NONSCALING"}, {"BF.ADD", "bf", "KEY"}, {"BF.MADD", "bf", "KEY", "KEY"}, {"BF.INSERT", "bf", "ITEMS", "KEY"},
		{"BF.EXISTS", "bf", "KEY"}, {"BF.INFO", "bf"}, {"BF.CLEAR", "bf"}, {"BF.SCANDUMP", "bf", "0"}, {"BF.MERGE", "bf", "bf2"}, {"BF.ADD", "bf2", "KEY"},
		{"BF.UNIONCARD", "bf", "bf2"},
		{"CF.RESERVE", "cf", "100", "EXPANSION", "0"}, {"CF.ADD", "cf", "KEY"}, {"CF.ADDNX", "cf", "KEY"}, {"CF.INSERT", "cf", "ITEMS", "KEY", "KEY"},
		{"CF.INSERTNX", "cf", "ITEMS", "KEY"}, {"CF.DEL", "cf", "KEY"}, {"CF.COUNT", "cf", "KEY"}, {"CF.COMPACT", "cf"}, {"CF.SCANDUMP", "cf", "0"},
		{"CMS.INITBYDIM", "cms", "20", "3"}, {"CMS.INCRBY", "cms", "KEY", "2", "KEY", "1"}, {"CMS.QUERY", "cms", "KEY"}, {"CMS.INFO", "cms"},
		{"CMS.INITBYDIM", "cms2", "20", "3"}, {"CMS.MERGE", "cms2", "2", "cms", "cms2"},
		{"TOPK.RESERVE", "topk", "5"}, {"TOPK.ADD", "topk", "KEY", "KEY"}, {"TOPK.INCRBY", "topk", "KEY", "7"}, {"TOPK.QUERY", "topk", "KEY"},
		{"TOPK.COUNT", "topk", "KEY"}, {"TOPK.LIST", "topk", "WITHCOUNT"},
	}
	expected := map[string]bool{
		"ERR not found": true, "ERR item exists": true, "ERR non scaling filter is full": true,
		"Not found": true, "Cuckoo filter was not found": true, "Filter is full": true,
		"CMS: key does not exist": true, "CMS: key already exists": true, "CMS: MERGE overflow": true,
		"TopK: key does not exist": true, "TopK: key already exists": true,
	}
	var running, deleting sync.WaitGroup
	stop := make(chan struct{})
	deleting.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			names := [][]byte{[]byte("bf"), []byte("cf"), []byte("bf2"), []byte("cms"), []byte("cms2"), []byte("topk")}
			s.store.Begin()
			_, _, err := s.store.Delete(names[i%len(names)])
			s.store.End()
			if err != nil {
				t.Error(err)
			}
		}
	})
	const clients, each = 4, 500
	for number := range clients {
		c := s.dial(t)
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(number), 1))
			for range each {
				var sent []byte
				var batch [][]string
				for range 1 + rng.IntN(4) {
					args := append([]string{}, commands[rng.IntN(len(commands))]...)
					for i := range args {
						if args[i] == "KEY" {
							args[i] = fmt.Sprint(rng.IntN(30))
						}
					}
					batch = append(batch, args)
					sent = resp.AppendCommand(sent, args...)
				}
				if _, err := c.Write(sent); err != nil {
					t.Error(err)
					return
				}
				for _, args := range batch {
					v, err := c.next()
					if err != nil {
						t.Error(err)
						return
					}
					if v.Kind == resp.Error && !expected[v.Text] && args[0] != "BF.MERGE" && args[0] != "BF.UNIONCARD" {
						t.Errorf("%q: %v", args, v)
						return
					}
				}
			}
		})
	}
	running.Wait()
	close(stop)
	deleting.Wait()
}
