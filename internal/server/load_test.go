package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"seen/internal/resp"
)

// After ten thousand hostile inputs the server still runs and uses no more memory.
func TestHostileInputs(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Buffers = 64 << 20 })
	good := s.dial(t)
	good.want(":1", "BF.ADD", "k", "a")
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	const inputs, workers = 10_000, 8
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(worker)))
			for range inputs / workers {
				socket, err := net.Dial("tcp", s.address)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = socket.Write(hostile(rng)) // the server may hang up in the middle
				if rng.IntN(2) == 0 {
					var b [512]byte
					_ = socket.(*net.TCPConn).CloseWrite()
					_, _ = socket.Read(b[:])
				}
				_ = socket.Close()
			}
		})
	}
	all.Wait()
	good.want(":1", "BF.EXISTS", "k", "a")
	eventually(t, "the end of all other connections", func() bool { return s.clients.count() == 1 })
	if used := s.buffers.Used(); used != 0 {
		t.Errorf("%d bytes of buffers are accounted for", used)
	}
	// Filters created by chance do not count: the budget of the store has them.
	if after := memory(); after > before+32<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
}

// hostile creates an input: bytes that look like commands, commands with absurd words, or
// parts of both.
func hostile(rng *rand.Rand) []byte {
	numbers := []string{"0", "-1", "1", "2", "3", "9223372036854775807", "-9223372036854775808", "536870912", "1048576", "00", "1e9", "x", ""}
	number := func() string { return numbers[rng.IntN(len(numbers))] }
	var b bytes.Buffer
	for range 1 + rng.IntN(5) {
		switch rng.IntN(6) {
		case 0: // announcements
			fmt.Fprintf(&b, "*%s\r\n$%s\r\n", number(), number())
		case 1: // bytes
			junk := make([]byte, rng.IntN(300))
			for i := range junk {
				junk[i] = byte(rng.Uint32())
			}
			b.Write(junk)
		case 2: // a long line
			b.WriteString(strings.Repeat("a \"b' ", rng.IntN(20_000)))
		case 3: // deep or endless nesting
			b.WriteString(strings.Repeat("*1\r\n", rng.IntN(1000)))
		default: // commands with absurd words; those that would stop everybody, or forget, left out
			names := []string{
				"BF.RESERVE", "BF.INSERT", "BF.ADD", "BF.MEXISTS", "BF.LOADCHUNK", "BF.SCANDUMP", "BF.INFO", "EXPIRE", "SCAN", "KEYS", "SELECT",
				"HELLO", "AUTH", "CLIENT", "CONFIG", "COMMAND", "ACL", "MULTI", "EXEC", "WATCH", "MEMORY", "OBJECT", "SLOWLOG", "INFO", "RENAME", "nosuch", "",
			}
			words := []string{"h", "GET", "LIST", "NX", "ITEMS", "CAPACITY", "ERROR", "EXPANSION", "MATCH", "COUNT", "~*", "*", "[", "\x00", strings.Repeat("z", 3000)}
			args := []string{names[rng.IntN(len(names))]}
			for range rng.IntN(8) {
				if rng.IntN(2) == 0 {
					args = append(args, number())
				} else {
					args = append(args, words[rng.IntN(len(words))])
				}
			}
			command := resp.AppendCommand(nil, args...)
			b.Write(command[:len(command)-rng.IntN(2)*rng.IntN(len(command))])
		}
	}
	return b.Bytes()
}

// Many connections use everything that connections share, for the race detector, and each
// client must see its own changes.
func TestManyConnections(t *testing.T) {
	s := start(t)
	const connections, rounds = 32, 60
	var all sync.WaitGroup
	for id := range connections {
		c := s.dial(t)
		all.Go(func() {
			name := fmt.Sprint("own:", id)
			rng := rand.New(rand.NewPCG(3, uint64(id)))
			for round := range rounds {
				key := fmt.Sprint(round)
				c.send("BF.ADD", name, key)
				c.send("BF.EXISTS", name, key)
				c.send("BF.MADD", "shared", key, name)
				c.send("BF.MEXISTS", "shared", key, name)
				c.send("MULTI")
				c.send("BF.EXISTS", name, key)
				c.send("EXEC")
				for i, want := range []string{"", ":1", "", "[:1, :1]", "+OK", "+QUEUED", "[:1]"} {
					v, err := c.next()
					if err != nil {
						t.Error(err)
						return
					}
					if want != "" && v.String() != want {
						t.Errorf("connection %d, round %d, reply %d: %s, want %s", id, round, i, v, want)
					}
				}
				other := [][]string{
					{"CLIENT", "LIST"}, {"INFO", "everything"}, {"CONFIG", "SET", "timeout", "0"}, {"ACL", "SETUSER", "u", "on", ">x", "~*"}, {"ACL", "LIST"},
					{"CLIENT", "SETNAME", name}, {"SCAN", "0"}, {"SLOWLOG", "GET"}, {"COMMAND", "COUNT"}, {"WATCH", "nothing"}, {"ACL", "LOG"}, {"AUTH", "u", "wrong"},
					{"CONFIG", "RESETSTAT"}, {"LATENCY", "HISTOGRAM"}, {"EXPIRE", "shared", "1000"}, {"TTL", "shared"}, {"BGSAVE"}, {"nosuch"}, {"RESET"},
				}
				c.send(other[rng.IntN(len(other))]...)
				if _, err := c.next(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// The most common commands allocate no memory.
func TestHotPathDoesNotAllocate(t *testing.T) {
	s := start(t)
	s.dial(t).want("+OK", "BF.RESERVE", "k", "0.001", "100000")
	end, socket := net.Pipe()
	defer end.Close()
	c := s.newConn(socket)
	defer c.cut()
	c.in = make([]byte, 0, bufferSize)
	for name, pipeline := range map[string][][]string{
		"BF.EXISTS":          {{"BF.EXISTS", "k", "some key"}},
		"BF.ADD":             {{"BF.ADD", "k", "some key"}},
		"PING":               {{"PING"}},
		"EXISTS":             {{"EXISTS", "k"}},
		"a run of BF.EXISTS": {{"BF.EXISTS", "k", "a"}, {"BF.EXISTS", "k", "b"}, {"BF.MEXISTS", "k", "c", "d"}},
		"a run of BF.ADD":    {{"BF.ADD", "k", "a"}, {"BF.ADD", "k", "b"}, {"BF.MADD", "k", "c", "d"}},
		"a mixture":          {{"BF.ADD", "k", "a"}, {"BF.EXISTS", "k", "b"}, {"PING"}, {"BF.MEXISTS", "k", "c", "d"}},
	} {
		var input []byte
		for _, args := range pipeline {
			input = resp.AppendCommand(input, args...)
		}
		if got := testing.AllocsPerRun(200, func() {
			c.in, c.from = append(c.in[:0], input...), 0
			if _, err := c.parse(); err != nil {
				t.Fatal(err)
			}
			c.run()
			c.tell()
			if c.settle(); c.replies != len(pipeline) {
				t.Fatalf("%d replies", c.replies)
			}
			c.replies = 0
			c.out.Reset(keepBuffer)
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
