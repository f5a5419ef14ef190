package store

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// database is the Pebble database of the log and the catalogue. If Pebble cannot go on,
// it ends the process through its Logger, and it panics on some failed writes. Here both
// close the fence instead: that database no longer touches the directory, and another one
// may be opened in its place.
type database struct {
	db     *pebble.DB
	fence  *fence
	cache  *pebble.Cache
	events *Events
	failed func(*database, error)

	unref sync.Once
	once  sync.Once
	cause error         // why it is dead
	dead  chan struct{} // closed when it is
}

const (
	// formatVersion is that of Pebble's files. It is raised only together with
	// the format of the data directory.
	formatVersion = pebble.FormatValueSeparation
	memTableSize  = 32 << 20
	cacheSize     = 8 << 20 // the log is read once, the catalogue at the start
)

// openDatabase opens the database in a directory, which it creates if necessary. failed is
// called if the database ends by an error. On a readOnly file system it is only read.
func openDatabase(fsys vfs.FS, dir string, events *Events, failed func(*database, error)) (*database, error) {
	_, only := fsys.(readOnly)
	d := &database{fence: &fence{FS: fsys}, cache: pebble.NewCache(cacheSize), failed: failed, events: events}
	d.dead = make(chan struct{})
	if ofSystem(fsys) && !only {
		d.fence.watch = dir
	}
	o := &pebble.Options{
		FS: d.fence, Logger: d, Cache: d.cache, MemTableSize: memTableSize,
		FormatMajorVersion: formatVersion, ReadOnly: only,
		EventListener: &pebble.EventListener{
			BackgroundError: events.Error,
			// The reader gets the error, too; the log goes on.
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				events.Error(fmt.Errorf("the database is damaged; restore it from a backup: %s", i))
			},
			WriteStallBegin: func(i pebble.WriteStallBeginInfo) { events.Log(i.String()) },
		},
	}
	err := d.guarded(func() (err error) {
		d.db, err = pebble.Open(dir, o)
		return err
	})
	if err != nil {
		d.cache.Unref()
		return nil, err
	}
	return d, nil
}

// close closes the database, or returns why that is impossible.
func (d *database) close() error {
	err := d.guarded(d.db.Close)
	d.unref.Do(d.cache.Unref)
	return err
}

// apply makes the changes that fill puts into a batch, all or nothing.
func (d *database) apply(fill func(*pebble.Batch) error, sync bool) error {
	b := d.db.NewBatch()
	if err := fill(b); err != nil {
		b.Close() // nothing of it was applied
		return err
	}
	o := pebble.NoSync
	if sync {
		o = pebble.Sync
	}
	return d.guarded(func() error {
		if err := d.db.Apply(b, o); err != nil {
			return err
		}
		return b.Close()
	})
}

// guarded calls do in a goroutine of its own and returns how that went: if Pebble fails,
// do may hang forever, panic or end the goroutine.
func (d *database) guarded(do func() error) error {
	result := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				d.die(fmt.Errorf("the database panicked: %v", r))
			}
		}()
		result <- do()
	}()
	select {
	case err := <-result:
		return err
	case <-d.dead:
		return d.cause
	}
}

// die ends the use of the database. Its goroutines can no longer touch the directory.
func (d *database) die(cause error) {
	d.once.Do(func() {
		d.fence.close()
		d.cause = cause
		close(d.dead)
		d.failed(d, cause)
	})
}

// Infof drops what does not help an operator.
func (d *database) Infof(string, ...any) {}

// Errorf passes on what may explain later trouble.
func (d *database) Errorf(format string, args ...any) { d.events.Log(fmt.Sprintf(format, args...)) }

// Fatalf is called where Pebble cannot go on, and must not return. It blocks the goroutine
// forever, with the locks that it holds; ending it would run deferred calls, which panic
// because they do not expect that.
func (d *database) Fatalf(format string, args ...any) {
	d.die(fatalError(format, args))
	select {}
}

// fatalError keeps the error that is among the arguments, to tell what went wrong.
func fatalError(format string, args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return fmt.Errorf("the database gave up: %w", err)
		}
	}
	return errors.New("the database gave up: " + fmt.Sprintf(format, args...))
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, ErrDiskFull)
}
