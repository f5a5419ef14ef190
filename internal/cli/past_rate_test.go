package cli

import (
	"strings"
	"testing"

	"seen/cluster"
)

// A filter in Redis that is past its error rate, for whatever reason, is told by every
// command that uses it, with the exit code for limits; one at its capacity is not.
func TestFleetPastItsRate(t *testing.T) {
	server := lab.Server(t)
	at, client := dial(t, server.Addr())
	in := []string{"--redis", at.String(), "--name", t.Name()}
	for _, capacity := range []uint64{20, 1000} {
		if err := cluster.Drop(t.Context(), client, t.Name()); err != nil {
			t.Fatal(err)
		}
		f, err := cluster.Open(t.Context(), client, t.Name(), cluster.Config{Capacity: capacity, ErrorRate: 0.01, Fixed: true})
		if err != nil {
			t.Fatal(err)
		}
		if code, _, said := run(numbers(int(capacity)), append([]string{"uniq"}, in...)...); code != ExitOK {
			t.Errorf("at its capacity of %d: exit code %d: %s", capacity, code, said)
		}
		st, err := f.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices, err := server.Do("KEYS", t.Name()+":*")
		if err != nil || uint64(len(slices.Elems)) != st.Slices {
			t.Fatalf("%v, %v", slices, err)
		}
		for _, key := range slices.Elems {
			ones := strings.Repeat("\xff", int(st.Bits/8/st.Slices)*9/10)
			if _, err := server.Do("SETRANGE", key.Text, "64", ones); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"uniq"}, {"add"}, {"add", "--json"}, {"count"}, {"count", "--json"}, {"filter"}, {"filter", "-v"}, {"check"}, {"info"}, {"info", "--json"}} {
			code, _, said := run("1\n2\n", append(args, in...)...)
			if code != ExitLimit || !strings.Contains(said, t.Name()+" is past its error rate: it says yes to a new key with probability 0.") {
				t.Errorf("%v: exit code %d: %s", args, code, said)
			}
		}
		code, _, said := run("", "info", at.String()+"/"+t.Name())
		if code != ExitLimit || !strings.Contains(said, "past its error rate") {
			t.Errorf("info: exit code %d: %s", code, said)
		}
	}
}
