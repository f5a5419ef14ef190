package powerloss

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"seen/internal/crashtest"
)

// diskSize is larger than the space that the server keeps free.
const diskSize = 640 << 20

// story is one recorded load. The tests can cut the power at any of its moments.
type story struct {
	disk    *Disk
	options string // mount options
	args    []string
	model   *crashtest.Model
	files   *fileModel
	began   int64 // position at which the load began
	ended   int64
}

// enough reports whether the story has enough changes for a useful test.
func (s *story) enough() bool {
	keys, transactions := s.model.Acknowledged()
	return keys >= 300 && transactions >= 30 && s.files.finished() >= 3
}

// load runs a server and subcommands on a new disk under the load of several
// clients.
func load(t *testing.T, seed uint64, span time.Duration, options string, args ...string) *story {
	t.Helper()
	const clients = 6
	disk := NewDisk(diskSize)
	s := &story{disk: disk, options: options, args: append([]string{"--checkpoint", "100KiB"}, args...), files: &fileModel{disk: disk}}
	s.model = crashtest.NewModel(disk.Position)
	m := powerUp(t, disk, true, options)
	defer m.powerDown()
	server, err := m.serve(s.args...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := crashtest.Dial(server.address)
	if err != nil {
		t.Fatal(err)
	}
	err = crashtest.Prepare(c)
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
	s.began = disk.Position()
	var group sync.WaitGroup
	end := make(chan struct{})
	for i := range clients {
		group.Go(func() {
			if _, err := s.model.Work(server.address, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Go(func() {
		if err := s.files.work(m, end); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(span)
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit) && !s.enough(); time.Sleep(span / 10) {
	}
	s.ended = disk.Position()
	close(end)
	server.kill()
	group.Wait()
	return s
}

// lose cuts the power at a position and returns what contradicts the knowledge at that
// position. Sometimes the power fails again while the server starts.
func (s *story) lose(t *testing.T, position int64, r *rand.Rand) (problems []string) {
	t.Helper()
	disk, fate := s.disk.Crash(position, r)
	if r.IntN(4) == 0 {
		m := powerUp(t, disk, false, s.options)
		server, err := m.serve(s.args...)
		if err != nil {
			m.powerDown()
			return []string{fmt.Sprintf("%s: %v", fate, err)}
		}
		server.kill()
		m.powerDown()
		var second string
		disk, second = disk.Crash(r.Int64N(disk.Position()+1), r)
		fate += "; then, at the start, " + second
	}
	m := powerUp(t, disk, false, s.options)
	defer m.powerDown()
	server, err := m.serve(s.args...)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", fate, err)}
	}
	defer server.kill()
	c, err := crashtest.Dial(server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	problems, err = s.model.At(position).Check(c)
	more, filesErr := s.files.check(m, position)
	problems = append(problems, more...)
	if err := errors.Join(err, filesErr); err != nil {
		problems = append(problems, err.Error())
	}
	for i := range problems {
		problems[i] = fate + ": " + problems[i]
	}
	return problems
}

// powerLoss cuts the power at many moments of a few stories.
func powerLoss(t *testing.T, stories, points int, span time.Duration, seed uint64) {
	if err := canLosePower(); err != nil {
		t.Skip("this machine cannot simulate a loss of power:", err)
	}
	for i := range stories {
		options := []string{"data=ordered", "data=writeback"}[i%2]
		s := load(t, seed+uint64(i), span, options)
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for range points {
			position := s.began + r.Int64N(s.ended-s.began+1)
			for _, p := range s.lose(t, position, r) {
				t.Errorf("story %d (%s), power lost after %d of %d writes and flushes: %s", i, options, position, s.ended, p)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		keys, transactions := s.model.Acknowledged()
		t.Logf("story %d (%s): %d writes and flushes, %d keys, %d transactions, %d runs of subcommands; power lost at %d moments",
			i, options, s.ended-s.began, keys, transactions, len(s.files.runs), points)
		if !s.enough() {
			t.Errorf("story %d has too few changes", i)
		}
	}
}

// TestPowerLoss checks that everything that was acknowledged survives a power failure.
func TestPowerLoss(t *testing.T) { powerLoss(t, 2, 6, time.Second, 1) }

// TestPowerLossOfServerThatDoesNotWait checks the test above: the answers of this server
// do not wait for the disk, and the losses must be found.
func TestPowerLossOfServerThatDoesNotWait(t *testing.T) {
	if err := canLosePower(); err != nil {
		t.Skip("this machine cannot simulate a loss of power:", err)
	}
	s := load(t, 1, time.Second, "data=ordered", "--fsync", "no")
	r := rand.New(rand.NewPCG(1, 0))
	for i := range 50 {
		if problems := s.lose(t, s.began+r.Int64N(s.ended-s.began+1), r); len(problems) > 0 {
			t.Logf("noticed at moment %d: %s", i+1, problems[0])
			return
		}
	}
	t.Error("answers did not wait for the disk, and no loss was noticed")
}
