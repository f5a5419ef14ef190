package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"seen/internal/resp"
)

// Neighbours in a pipeline run together, with the same results as one after another, also
// if filters are full, missing or of another type, and if commands are wrong.
func TestPipelinesMeanWhatTheirCommandsMean(t *testing.T) {
	s := start(t)
	together, alone := s.dial(t), s.dial(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		// The same filters twice, under two names.
		name := func(of string, which int) string { return fmt.Sprintf("%s:%d:%d", of, round, which) }
		for _, of := range []string{"together", "alone"} {
			alone.do("BF.RESERVE", name(of, 0), "0.001", fmt.Sprint(1+round%20), "NONSCALING")
			alone.do("BF.RESERVE", name(of, 1), "0.001", "5")
		}
		var commands [][]string
		which := 0
		for range 100 {
			if rng.IntN(10) == 0 {
				which = rng.IntN(3) // number 2 is made by the first addition
			}
			word := []string{"BF.ADD", "BF.MADD", "BF.EXISTS", "BF.MEXISTS", "bf.add", "BF.CARD"}[rng.IntN(6)]
			args := []string{word, fmt.Sprint(which)}
			keys := 1
			if strings.HasPrefix(word, "BF.M") || rng.IntN(50) == 0 {
				keys = rng.IntN(6) // 0: an error
			}
			for range keys {
				args = append(args, fmt.Sprint("key:", rng.IntN(60)))
			}
			commands = append(commands, args)
		}
		var sent []byte
		for _, args := range commands {
			args = append([]string{}, args...)
			args[1] = name("together", int(args[1][0]-'0'))
			sent = resp.AppendCommand(sent, args...)
		}
		together.write(sent)
		for i, args := range commands {
			got := together.read().String()
			args[1] = name("alone", int(args[1][0]-'0'))
			if want := alone.do(args...).String(); got != want {
				t.Fatalf("round %d, command %d, %q: %s in a pipeline, %s alone", round, i, args, got, want)
			}
		}
	}
}

// A pipeline needs few calls of the store: a run writes one operation to the log, not one
// for each command.
func TestPipelinesAreAnsweredTogether(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.do("BF.RESERVE", "k", "0.001", "1000")
	before := s.store.Last()
	var sent []byte
	const commands = 100
	for i := range commands {
		sent = resp.AppendCommand(sent, "BF.ADD", "k", fmt.Sprint(i))
	}
	c.write(sent)
	for range commands {
		if v := c.read(); v.Int != 1 {
			t.Fatal(v)
		}
	}
	// The bytes may arrive in a few packets.
	if logged := s.store.Last() - before; logged == 0 || logged > commands/4 {
		t.Errorf("%d commands of one pipeline wrote %d operations to the log", commands, logged)
	}
}
