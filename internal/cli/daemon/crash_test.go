//go:build unix

package daemon

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seen/internal/crashtest"
)

// prepareServed makes the filters of a crash model.
func prepareServed(t *testing.T, s *crashtest.Server) {
	t.Helper()
	c, err := crashtest.Dial(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := crashtest.Prepare(c); err != nil {
		t.Fatal(err)
	}
}

// TestKilledServerLosesNothing kills a server under the load of several clients at
// random moments and looks, after each restart, for everything that it has
// acknowledged.
func TestKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	killServer(t, 20, 1)
}

// TestKilledServerThatDoesNotWait is the same with answers that do not wait for the
// log: the test above must notice what is lost then.
func TestKilledServerThatDoesNotWait(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	dir := t.TempDir() + "/data"
	m := crashtest.NewModel(nil)
	s := startServed(t, dir, "--fsync", "no")
	prepareServed(t, s)
	s.Stop()
	for range 20 {
		s = startServed(t, dir, "--fsync", "no")
		done := make(chan error, 1)
		go func() {
			_, err := m.Work(s.Addr, rand.New(rand.NewPCG(3, 0)))
			done <- err
		}()
		before, _ := m.Acknowledged()
		for keys := before; keys < before+100; keys, _ = m.Acknowledged() {
			select {
			case err := <-done:
				t.Fatalf("the client ended at %d keys: %v", keys, err)
			case <-time.After(time.Millisecond):
			}
		}
		s.Kill()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s = startServed(t, dir, "--fsync", "no")
		c, err := crashtest.Dial(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := m.Check(c)
		_ = c.Close()
		s.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			return
		}
	}
	t.Error("answers did not wait for the log, and nothing that is lost was noticed")
}

// killServer kills a server for a number of rounds.
func killServer(t *testing.T, rounds int, seed uint64) {
	const clients = 6
	dir := t.TempDir() + "/data"
	// Small, so that many are cut off in the middle.
	args := []string{"--checkpoint", "100KiB"}
	r := rand.New(rand.NewPCG(seed, 0))
	m := crashtest.NewModel(nil)
	s := startServed(t, dir, args...)
	prepareServed(t, s)
	acked := 0
	for round := range rounds {
		var group sync.WaitGroup
		var answered atomic.Int64
		for i := range clients {
			own := rand.New(rand.NewPCG(seed, uint64(round*clients+i+1)))
			group.Go(func() {
				n, err := m.Work(s.Addr, own)
				answered.Add(int64(n))
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		time.Sleep(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		s.Kill()
		group.Wait()
		acked += int(answered.Load())

		s = startServed(t, dir, args...)
		c, err := crashtest.Dial(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := m.Check(c)
		if err == nil {
			err = m.Settle(c)
		}
		if err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, &s.Log)
		}
		_ = c.Close()
		for i, p := range problems {
			if i < 10 {
				t.Errorf("round %d: %s", round, p)
			}
		}
		if t.Failed() {
			t.Fatalf("%d problems after round %d", len(problems), round)
		}
	}
	s.Stop()
	if acked < 100*rounds {
		t.Errorf("only %d commands were answered in %d rounds; the test shows nothing", acked, rounds)
	}
	keys, transactions := m.Acknowledged()
	t.Logf("%d rounds, %d commands answered, %d keys, %d transactions", rounds, acked, keys, transactions)
}
