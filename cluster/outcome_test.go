package cluster

import (
	"testing"

	"github.com/redis/rueidis"
)

// A creation that is slow, and a Drop that is between deleting slices and forgetting
// the record.
func TestRevDropLeak(t *testing.T) {
	client := dial(t, lab.Server(t).Addr())
	ctx := t.Context()
	c := Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 2048}
	f := open(t, client, c)
	// As if growth had begun and a client is in the middle of finish.
	raw, r, err := f.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := r.clone()
	s, err := next.shapeOf(1)
	if err != nil {
		t.Fatal(err)
	}
	next.last().Layers = append(next.last().Layers, s)
	if done, err := f.swap(ctx, raw, next); err != nil || !done {
		t.Fatal(done, err)
	}
	growing, r1, _ := f.get(ctx)
	// Drop: marks the record and deletes the slices, but has not deleted the record.
	dropped := r1.clone()
	dropped.Dropped = true
	if done, err := f.swap(ctx, growing, dropped); err != nil || !done {
		t.Fatal(done, err)
	}
	if err := f.unlink(ctx, &dropped.Live[0]); err != nil {
		t.Fatal(err)
	}
	// The slow client goes on with what it read.
	slow := &core{client: client, name: f.name}
	err = slow.finish(ctx, growing, r1)
	t.Log("finish:", err)
	// Drop ends.
	now, _, _ := f.get(ctx)
	if done, err := f.swap(ctx, now, nil); err != nil || !done {
		t.Fatal(done, err)
	}
	left, err := client.Do(ctx, client.B().Keys().Pattern("*"+f.name+"*").Build()).AsStrSlice()
	t.Log(len(left), "keys are left", err)
	if len(left) > 0 {
		t.Log(left[0])
	}
	for _, k := range left {
		client.Do(ctx, client.B().Del().Key(k).Build())
	}
	_ = rueidis.Nil
}

// The same for a filter that is being made.
func TestRevDropLeakCreate(t *testing.T) {
	client := dial(t, lab.Server(t).Addr())
	ctx := t.Context()
	f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 2048})
	raw, r, err := f.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Cleared: a new generation that is not ready.
	shape, _ := r.shapeOf(0)
	next := r.clone()
	next.Live = []generation{{Number: 9, Epoch: newEpoch(), Layers: []shapeT{shape}}}
	next.Gone = r.Live
	if done, err := f.swap(ctx, raw, next); err != nil || !done {
		t.Fatal(done, err)
	}
	making, r1, _ := f.get(ctx)
	dropped := r1.clone()
	dropped.Dropped = true
	if done, err := f.swap(ctx, making, dropped); err != nil || !done {
		t.Fatal(done, err)
	}
	f.unlink(ctx, &dropped.Gone[0])
	if err := f.unlink(ctx, &dropped.Live[0]); err != nil {
		t.Fatal(err)
	}
	slow := &core{client: client, name: f.name}
	t.Log("finish:", slow.finish(ctx, making, r1))
	now, _, _ := f.get(ctx)
	if done, err := f.swap(ctx, now, nil); err != nil || !done {
		t.Fatal(done, err)
	}
	left, err := client.Do(ctx, client.B().Keys().Pattern("*"+f.name+"*").Build()).AsStrSlice()
	t.Log(len(left), "keys are left", err)
	for _, k := range left {
		client.Do(ctx, client.B().Del().Key(k).Build())
	}
}

type shapeT = shape
