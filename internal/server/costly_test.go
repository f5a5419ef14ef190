package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seen/internal/resp"
)

// costly are the most expensive commands of each family. docs/OPERATIONS.md has a table of
// them and their limits.
var costly = []struct {
	family, command, bound string
	words                  func(keys int) []string
}{
	{"Bloom", "BF.MADD", "items x layers", func(n int) []string { return numbered(n, "BF.MADD", "grown") }},
	{"Bloom", "BF.MEXISTS", "items x layers", func(n int) []string { return numbered(n, "BF.MEXISTS", "layered") }},
	{"Bloom", "BF.INSERT", "items x layers", func(n int) []string { return numbered(n, "BF.INSERT", "inserted", "ITEMS") }},
	{"Bloom", "BF.UNIONCARD", "the bytes of the filters, each once", func(n int) []string {
		return append([]string{"BF.UNIONCARD", "big1"}, slices.Repeat([]string{"big2"}, n)...)
	}},
	{"Bloom", "BF.INTERCARD", "the bytes of one filter x 64", func(int) []string {
		return []string{"BF.INTERCARD", "big1", "big2", "big3", "big4", "big5", "big6"}
	}},
	{"Bloom", "BF.MERGE", "the bytes of the filters, each once, and of a file", func(int) []string { return []string{"BF.MERGE", "big6", "big1", "big2"} }},
	{"Bloom", "BF.CLEAR", "the layers", func(int) []string { return []string{"BF.CLEAR", "big5"} }},
	{"Bloom", "BF.SCANDUMP", "16 MiB", func(int) []string { return []string{"BF.SCANDUMP", "big1", "1"} }},
	{"Cuckoo", "CF.INSERT", "items x (sub-filters + MAXITERATIONS)", func(n int) []string { return numbered(n, "CF.INSERT", "cuckoo", "ITEMS") }},
	{"Cuckoo", "CF.MEXISTS", "items x sub-filters", func(n int) []string { return numbered(n, "CF.MEXISTS", "cuckoo") }},
	{"Cuckoo", "CF.COMPACT", "slots x sub-filters", func(int) []string { return []string{"CF.COMPACT", "cuckoo"} }},
	{"Count-min", "CMS.INCRBY", "pairs x depth", func(n int) []string { return pairs(n, "1000", "CMS.INCRBY", "counts") }},
	{"Count-min", "CMS.MERGE", "the bytes of the sketches, each once, and of a file", func(n int) []string {
		return append([]string{"CMS.MERGE", "sum", strconv.Itoa(n)}, slices.Repeat([]string{"counts"}, n)...)
	}},
	{"Top-k", "TOPK.INCRBY", "pairs x depth", func(n int) []string { return pairs(n, "100000", "TOPK.INCRBY", "top") }},
	{"Top-k", "TOPK.LIST", "k log k", func(int) []string { return []string{"TOPK.LIST", "top", "WITHCOUNT"} }},
	{"Keys", "KEYS", "keys x bytes of the pattern", func(int) []string { return []string{"KEYS", "*" + strings.Repeat("a", 500) + "*b"} }},
	{"Keys", "SCAN", "1048576 keys x bytes of the pattern", func(int) []string { return []string{"SCAN", "0", "COUNT", "10000000", "MATCH", "*a*b*c*"} }},
	{"Keys", "DUMP", "512 MiB", func(int) []string { return []string{"DUMP", "big1"} }},
	{"Keys", "DEL", "keys", func(n int) []string { return numbered(n, "DEL") }},
	{"Transactions", "EXEC", "that of its commands, 65536 of them", nil},
}

func numbered(n int, words ...string) []string {
	for i := range n {
		words = append(words, fmt.Sprint("item:", i))
	}
	return words
}

func pairs(n int, by string, words ...string) []string {
	for i := range n {
		words = append(words, fmt.Sprint("item:", i%1000), by)
	}
	return words
}

// prepareCostly creates the filters for the costly commands, each with so many keys.
func prepareCostly(c *client, capacity int) {
	size := strconv.Itoa(capacity)
	for i := range 6 {
		c.do("BF.RESERVE", fmt.Sprint("big", i+1), "0.001", size, "NONSCALING")
		c.do("BF.MADD", fmt.Sprint("big", i+1), "a", "b", "c")
	}
	c.do("BF.RESERVE", "asked", "0.001", "10000")
	c.do("BF.ADD", "asked", "key")
	// Each key of the next filter adds a layer.
	c.do("BF.RESERVE", "layered", "0.01", "1", "EXPANSION", "1")
	c.do(numbered(1500, "BF.MADD", "layered")...)
	c.do("BF.RESERVE", "grown", "0.01", "1", "EXPANSION", "1")
	c.do("CF.RESERVE", "cuckoo", "10000", "MAXITERATIONS", "500", "EXPANSION", "1")
	c.do("CMS.INITBYDIM", "counts", size, "4")
	c.do("CMS.INITBYDIM", "sum", size, "4")
	c.do("TOPK.RESERVE", "top", "5000", "1000", "7", "0.99")
	c.do(pairs(10_000, "1000", "TOPK.INCRBY", "top")...)
}

// runCostly sends a costly command and reads its reply.
func runCostly(c *client, words func(int) []string, keys int) {
	if words != nil {
		c.do(words(keys)...)
		return
	}
	c.do("MULTI")
	for _, other := range costly[:len(costly)-1] {
		if other.family == "Bloom" {
			c.do(other.words(keys)...)
		}
	}
	c.do("EXEC")
}

// besideCostly asks for a key repeatedly while each costly command runs on other filters,
// and passes each command's 99.9th percentile of the times to each.
func besideCostly(t *testing.T, capacity, keys, least int, each func(family, command string, took, slowest time.Duration)) {
	s := start(t)
	prepareCostly(s.dial(t), capacity)
	asking := s.dial(t)
	for _, of := range costly {
		other := s.dial(t)
		done := make(chan time.Duration)
		go func() {
			began := time.Now()
			runCostly(other, of.words, keys)
			done <- time.Since(began)
		}()
		var took time.Duration
		var waited []time.Duration
		for took == 0 || len(waited) < least {
			began := time.Now()
			if v := asking.do("BF.EXISTS", "asked", "key"); v.Int != 1 {
				t.Fatal(v)
			}
			waited = append(waited, time.Since(began))
			select {
			case took = <-done:
			default:
			}
		}
		slices.Sort(waited)
		each(of.family, of.command, took, waited[len(waited)*999/1000])
		_ = other.Close() // it has its reply
	}
}

// TestQuestionsBesideCostlyCommands checks that no read command waits for a costly command
// on other filters. The limit allows for a busy machine;
// TestSoakQuestionsBesideCostlyCommands has the limit for an idle one.
func TestQuestionsBesideCostlyCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	besideCostly(t, 2_000_000, 2000, 50, func(family, command string, took, slowest time.Duration) {
		t.Logf("%-12s %-13s took %8.1f ms, the slowest question beside it %6.2f ms", family, command, took.Seconds()*1e3, slowest.Seconds()*1e3)
		if slowest > max(500*time.Millisecond, took/2) {
			t.Errorf("beside %s, which took %v, a question took %v", command, took, slowest)
		}
	})
}

// TestCostlyCommandsAreDocumented compares the table in the handbook with the list.
func TestCostlyCommandsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) == 7 && strings.HasPrefix(strings.TrimSpace(cells[2]), "`") && strings.HasSuffix(strings.TrimSpace(cells[4]), " s") {
			rows = append(rows, strings.TrimSpace(cells[1])+" "+strings.Trim(cells[2], " `")+": "+strings.TrimSpace(cells[3]))
		}
	}
	var want []string
	for _, of := range costly {
		want = append(want, of.family+" "+of.command+": "+of.bound)
	}
	if !slices.Equal(rows, want) {
		t.Errorf("docs/OPERATIONS.md has\n%s\nand the costly commands are\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// endless is a read command on the filter layered that takes minutes unless it is stopped.
func endless() []byte {
	words := numbered(300_000, "BF.MEXISTS", "layered")
	return resp.AppendCommand(nil, words...)
}

// checks returns how many keys the filter layered was asked for.
func (s *testServer) checks() uint64 { return s.store.Get([]byte("layered")).Traffic().Checks }

// begun waits until a command works on the filter layered.
func (s *testServer) begun(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(patience); s.checks() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the command does not begin")
		}
	}
}

// A client that closes only its sending side may still read: its commands get more time. A
// client that has reset the connection does not.
func TestGoneClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for what, c := range map[string]struct {
		leave     func(socket *net.TCPConn) error
		soon, end bool
	}{
		"stays":     {func(*net.TCPConn) error { return nil }, false, false},
		"sent all":  {(*net.TCPConn).CloseWrite, false, true},
		"has ended": {(*net.TCPConn).Close, false, true},
		"has reset": {func(socket *net.TCPConn) error { return errors.Join(socket.SetLinger(0), socket.Close()) }, true, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := start(t)
			client := s.dial(t)
			client.do("BF.RESERVE", "layered", "0.01", "1", "EXPANSION", "1")
			client.do(numbered(1500, "BF.MADD", "layered")...)
			client.write(endless())
			s.begun(t)
			if err := c.leave(client.Conn.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			served := s.clients.list()[0]
			eventually(t, "the state of the client", func() bool { return served.outlet.gone(halfGoneAfter+1) == c.end })
			if served.outlet.gone(goneAfter) || served.outlet.gone(halfGoneAfter) != c.soon {
				t.Error("counts as gone at another time")
			}
			served.cut()
		})
	}
}

// A command stops early when its client is killed or gone, or the server shuts down; so do
// commands in a transaction and later ones in a pipeline.
func TestCostlyCommandsStop(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for what, stop := range map[string]func(t *testing.T, s *testServer, c *client){
		"CLIENT KILL": func(t *testing.T, s *testServer, c *client) {
			if v := s.dial(t).do("CLIENT", "KILL", "TYPE", "normal"); v.Int != 1 {
				t.Error(v)
			}
		},
		"the client has gone": func(t *testing.T, s *testServer, c *client) {
			served := s.clients.list()[0]
			_ = c.Close() // the reply is not read
			eventually(t, "the closed connection", func() bool { return served.outlet.gone(halfGoneAfter + 1) })
			s.clock.advance(halfGoneAfter + time.Second)
			s.sweep(s.config.Now())
		},
		"Shutdown": func(t *testing.T, s *testServer, c *client) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := s.Shutdown(ctx); err == nil {
				t.Error("the command ended in time")
			}
		},
	} {
		for _, transaction := range []bool{false, true} {
			t.Run(fmt.Sprint(what, transaction), func(t *testing.T) {
				s := start(t)
				c := s.dial(t)
				c.do("BF.RESERVE", "layered", "0.01", "1", "EXPANSION", "1")
				c.do(numbered(1500, "BF.MADD", "layered")...)
				if transaction {
					c.do("MULTI")
				}
				c.write(endless())
				if transaction {
					c.send("EXEC")
				}
				c.send("BF.ADD", "next", "key")
				s.begun(t)
				stop(t, s, c)
				for limit := time.Now().Add(patience); slices.ContainsFunc(s.clients.list(), func(o *conn) bool { return o.id == 1 }); time.Sleep(time.Millisecond) {
					if time.Now().After(limit) {
						t.Fatal("the command does not end")
					}
				}
				if n := s.checks(); n > 200_000 {
					t.Errorf("%d keys of 300000 were asked for", n)
				}
				if s.store.Get([]byte("next")) != nil {
					t.Error("the next command of the pipeline ran without a client")
				}
			})
		}
	}
}
