//go:build unix

package daemon

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"seen/internal/crashtest"
	"seen/internal/resp"
)

// An act is a command on one filter or one count-min sketch, with few keys.
type act struct {
	name string // of the value
	verb string
	keys []int
	n    uint64
}

// command returns the act as it is sent.
func (a act) command() []string {
	words := []string{a.verb, a.name}
	switch a.verb {
	case "CMS.INITBYDIM":
		return append(words, "2000", "5")
	case "CMS.INCRBY":
		return append(words, strconv.Itoa(a.keys[0]), strconv.FormatUint(a.n, 10))
	}
	for _, k := range a.keys {
		words = append(words, strconv.Itoa(k))
	}
	return words
}

// held is what a value holds: no value at all, or for each key how often it was
// added.
type held struct {
	there  bool
	counts [4]uint64
}

// answer returns what the act answers in a state, and the state after it: what the
// server would do if it did one thing at a time.
func (a act) answer(s held) (string, held) {
	const missing = "-CMS: key does not exist"
	add := func(k int) string {
		s.there = true
		s.counts[k]++
		if s.counts[k] > 1 {
			return ":0"
		}
		return ":1"
	}
	has := func(k int) string {
		if s.counts[k] > 0 {
			return ":1"
		}
		return ":0"
	}
	switch a.verb {
	case "BF.ADD":
		return add(a.keys[0]), s
	case "BF.MADD":
		return "[" + add(a.keys[0]) + ", " + add(a.keys[1]) + "]", s
	case "BF.EXISTS":
		return has(a.keys[0]), s
	case "BF.MEXISTS":
		return "[" + has(a.keys[0]) + ", " + has(a.keys[1]) + "]", s
	case "BF.CARD":
		n := 0
		for _, c := range s.counts {
			if c > 0 {
				n++
			}
		}
		return ":" + strconv.Itoa(n), s
	case "DEL":
		if !s.there {
			return ":0", s
		}
		return ":1", held{}
	case "CMS.INITBYDIM":
		if s.there {
			return "-CMS: key already exists", s
		}
		return "+OK", held{there: true}
	case "CMS.INCRBY":
		if !s.there {
			return missing, s
		}
		s.counts[a.keys[0]] += a.n
		return fmt.Sprintf("[:%d]", s.counts[a.keys[0]]), s
	case "CMS.QUERY":
		if !s.there {
			return missing, s
		}
		return fmt.Sprintf("[:%d]", s.counts[a.keys[0]]), s
	}
	return "?", s
}

// oneAtATime is the model that histories are held against: values are apart from
// each other, and each does one thing at a time.
var oneAtATime = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byName := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(act).name
			byName[name] = append(byName[name], o)
		}
		var all [][]porcupine.Operation
		for _, part := range byName {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		want, next := input.(act).answer(state.(held))
		return want == output.(string), next
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input.(act).command(), " ", output) },
}

// randomAct returns an act of one of two filters and a sketch of a round.
func randomAct(r *rand.Rand, round int) act {
	key := func() int { return r.IntN(4) }
	if r.IntN(3) == 0 {
		a := act{name: fmt.Sprintf("counts%d", round), n: 1 + r.Uint64N(3)}
		switch n := r.IntN(20); {
		case n == 0:
			a.verb = "DEL"
		case n < 4:
			a.verb = "CMS.INITBYDIM"
		case n < 13:
			a.verb, a.keys = "CMS.INCRBY", []int{key()}
		default:
			a.verb, a.keys = "CMS.QUERY", []int{key()}
		}
		return a
	}
	a := act{name: fmt.Sprintf("bloom%d-%d", round, r.IntN(2))}
	switch n := r.IntN(20); {
	case n < 3:
		a.verb = "DEL"
	case n < 4:
		a.verb = "BF.CARD"
	case n < 10:
		a.verb, a.keys = "BF.ADD", []int{key()}
	case n < 13:
		a.verb, a.keys = "BF.MADD", []int{key(), key()}
	case n < 18:
		a.verb, a.keys = "BF.EXISTS", []int{key()}
	default:
		a.verb, a.keys = "BF.MEXISTS", []int{key(), key()}
	}
	return a
}

// TestHistoriesAreLinearizable records what clients ask at the same time and what
// they are answered, and looks for an order, one after another, that explains it.
func TestHistoriesAreLinearizable(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const rounds, clients, acts = 20, 6, 150
	s := startServed(t, t.TempDir()+"/data", "--checkpoint", "50KiB")
	defer s.Stop()
	start := time.Now()
	for round := range rounds {
		var (
			group   sync.WaitGroup
			mutex   sync.Mutex
			history []porcupine.Operation
		)
		for client := range clients {
			r := rand.New(rand.NewPCG(uint64(round), uint64(client)))
			group.Go(func() {
				c, err := crashtest.Dial(s.Addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for range acts {
					// Several at once, so that pipelines are part of it. Each begins when
					// all are sent and ends when its answer is here.
					pipeline := make([]act, 1+r.IntN(3))
					var request []byte
					for i := range pipeline {
						pipeline[i] = randomAct(r, round)
						request = resp.AppendCommand(request, pipeline[i].command()...)
					}
					call := time.Since(start).Nanoseconds()
					if _, err := c.Write(request); err != nil {
						t.Error(err)
						return
					}
					for _, a := range pipeline {
						v, err := c.Receive()
						if err != nil {
							t.Error(err)
							return
						}
						o := porcupine.Operation{ClientId: client, Input: a, Call: call, Output: v.String(), Return: time.Since(start).Nanoseconds()}
						mutex.Lock()
						history = append(history, o)
						mutex.Unlock()
					}
				}
			})
		}
		group.Wait()
		if result := porcupine.CheckOperationsTimeout(oneAtATime, history, time.Minute); result != porcupine.Ok {
			t.Fatalf("round %d: %d operations: %v", round, len(history), result)
		}
	}
}

// TestHistoryJudge makes sure that the judge of the test above judges.
func TestHistoryJudge(t *testing.T) {
	at := func(client int, call, end int64, output, verb string, keys ...int) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: call, Return: end, Input: act{name: "x", verb: verb, keys: keys, n: 2}, Output: output}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		right   bool
	}{
		"one is told new, at the same time": {[]porcupine.Operation{at(1, 0, 10, ":1", "BF.ADD", 1), at(2, 0, 10, ":0", "BF.ADD", 1)}, true},
		"both are told new":                 {[]porcupine.Operation{at(1, 0, 10, ":1", "BF.ADD", 1), at(2, 0, 10, ":1", "BF.ADD", 1)}, false},
		"no client is told new":             {[]porcupine.Operation{at(1, 0, 10, ":0", "BF.ADD", 1), at(2, 0, 10, ":0", "BF.ADD", 1)}, false},
		"forgotten":                         {[]porcupine.Operation{at(1, 0, 10, ":1", "BF.ADD", 1), at(2, 11, 20, ":0", "BF.EXISTS", 1)}, false},
		"deleted meanwhile":                 {[]porcupine.Operation{at(1, 0, 10, ":1", "BF.ADD", 1), at(1, 11, 30, ":1", "DEL"), at(2, 12, 20, ":0", "BF.EXISTS", 1)}, true},
		"seen and then not":                 {[]porcupine.Operation{at(1, 0, 30, ":1", "BF.ADD", 1), at(2, 5, 10, ":1", "BF.EXISTS", 1), at(2, 11, 20, ":0", "BF.EXISTS", 1)}, false},
		"an increment is lost": {[]porcupine.Operation{
			at(1, 0, 1, "+OK", "CMS.INITBYDIM"), at(1, 2, 10, "[:2]", "CMS.INCRBY", 0), at(2, 2, 10, "[:2]", "CMS.INCRBY", 0)}, false},
		"increments one after another": {[]porcupine.Operation{
			at(1, 0, 1, "+OK", "CMS.INITBYDIM"), at(1, 2, 10, "[:4]", "CMS.INCRBY", 0), at(2, 2, 10, "[:2]", "CMS.INCRBY", 0)}, true},
	} {
		if got := porcupine.CheckOperations(oneAtATime, c.history); got != c.right {
			t.Errorf("%s: %v", name, got)
		}
	}
}
