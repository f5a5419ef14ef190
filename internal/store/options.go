package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// LSN is a position in the log: the number of the last operation that an answer depends
// on. 0 means that it depends on no operation.
type LSN uint64

// Fsync says when a change counts as durable.
type Fsync uint8

const (
	// Always syncs the log before Wait returns. Changes that wait at the same time
	// share a sync.
	Always Fsync = iota
	// EverySecond syncs the log once a second: that much may be lost.
	EverySecond
	// Never leaves it to the system when the log reaches the disk.
	Never
)

var fsyncNames = [...]string{Always: "always", EverySecond: "everysec", Never: "no"}

// String returns the name that ParseFsync takes.
func (f Fsync) String() string {
	if int(f) < len(fsyncNames) {
		return fsyncNames[f]
	}
	return fmt.Sprintf("fsync(%d)", uint8(f))
}

// ParseFsync returns the Fsync of a name: always, everysec or no.
func ParseFsync(name string) (Fsync, error) {
	if i := slices.Index(fsyncNames[:], name); i >= 0 {
		return Fsync(i), nil
	}
	return 0, fmt.Errorf("fsync %q; it is one of always, everysec and no", name)
}

// Layout says how a Bloom filter arranges its bits and hashes its keys.
type Layout uint8

const (
	// DefaultLayout stands, in a BloomConfig, for the layout of the store.
	DefaultLayout Layout = iota
	// LayoutSeen is the layout of package bloom: fast, with the secret hash of the
	// data directory.
	LayoutSeen
	// LayoutRedisBloom is the layout of Redis, with its public hash, so that a filter can be
	// moved there and back.
	LayoutRedisBloom
	// LayoutForeign is that of a Foreign. No filter is made so.
	LayoutForeign
)

var layoutNames = [...]string{DefaultLayout: "default", LayoutSeen: "seen", LayoutRedisBloom: "redisbloom", LayoutForeign: "foreign"}

// String returns the name that ParseLayout takes.
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// ParseLayout returns the Layout of a name: seen or redisbloom.
func ParseLayout(name string) (Layout, error) {
	for _, l := range []Layout{LayoutSeen, LayoutRedisBloom} {
		if layoutNames[l] == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("layout %q; it is seen or redisbloom", name)
}

// Options says how a store works. The zero value is usable.
type Options struct {
	// FS is the file system of the data directory; nil: the system's. The database and the
	// files of the values use it, so that a simulated crash affects both.
	FS vfs.FS
	// Fsync says when a change counts as durable.
	Fsync Fsync
	// MaxMemory bounds the bytes of all values; 0 means no limit. Values that are
	// in the data directory are loaded even if they exceed it.
	MaxMemory uint64
	// CheckpointBytes is the length of the log that starts a checkpoint; 0 stands
	// for 64 MiB.
	CheckpointBytes uint64
	// CheckpointEvery starts a checkpoint when the last one is that old and there
	// have been changes since; 0 means never.
	CheckpointEvery time.Duration
	// ScrubEvery is the time in which all files of values are read once, to verify them; 0
	// means never.
	ScrubEvery time.Duration
	// Layout is that of new Bloom filters which ask for none; DefaultLayout stands
	// for LayoutSeen.
	Layout Layout
	// Reserve is the number of bytes of free space on the disk below which changes
	// are refused with ErrDiskFull; 0 means 256 MiB.
	Reserve uint64
	// Now replaces time.Now, for expiry and windows.
	Now func() time.Time
	// Events is told what happens in the background.
	Events Events

	hooks hooks
}

// hooks are for tests: they leave out steps of a write to the disk, which a test must
// notice, or make writes smaller.
type hooks struct {
	noLogSync, noFileSync, noFolderSync, noCatalogueSync bool
	// roundBytes replaces the length of the images that go into the catalogue together.
	roundBytes int
}

// Events are called by the goroutines of the store, possibly several at a time;
// they must be quick and must not call the store. Each may be nil.
type Events struct {
	// Checkpoint is called after a checkpoint with the time it took and the bytes
	// that it wrote to files.
	Checkpoint func(took time.Duration, bytes uint64)
	// Fsync is called after each sync of the log with the time it took.
	Fsync func(took time.Duration)
	// Error is called when something in the background has gone wrong.
	Error func(error)
	// Recovered is called when changes are accepted again after they were refused.
	Recovered func()
	// Log is called with the messages of the database, for people who look for the cause of
	// a problem.
	Log func(text string)
}

const (
	defaultCheckpointBytes = 64 << 20
	defaultReserve         = 256 << 20
)

func (o *Options) complete() {
	o.FS = cmp.Or(o.FS, systemFS)
	o.CheckpointBytes = cmp.Or(o.CheckpointBytes, defaultCheckpointBytes)
	o.Layout = cmp.Or(o.Layout, LayoutSeen)
	o.Reserve = cmp.Or(o.Reserve, defaultReserve)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Events.Checkpoint == nil {
		o.Events.Checkpoint = func(time.Duration, uint64) {}
	}
	if o.Events.Fsync == nil {
		o.Events.Fsync = func(time.Duration) {}
	}
	if o.Events.Error == nil {
		o.Events.Error = func(error) {}
	}
	if o.Events.Recovered == nil {
		o.Events.Recovered = func() {}
	}
	if o.Events.Log == nil {
		o.Events.Log = func(string) {}
	}
}
