package powerloss

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

const (
	blockSize  = 4096
	sectorSize = 512 // a disk writes a sector completely or not at all
)

// blocks are the contents of a disk, by number. A missing block is zero. A block is never
// changed, only replaced, so that copies can share it.
type blocks map[int64]*[blockSize]byte

// write puts data at an offset.
func (b blocks) write(data []byte, off int64) {
	for len(data) > 0 {
		number, from := off/blockSize, off%blockSize
		fresh := new([blockSize]byte)
		if old := b[number]; old != nil {
			*fresh = *old
		}
		n := copy(fresh[from:], data)
		b[number] = fresh
		data, off = data[n:], off+int64(n)
	}
}

// read fills data from an offset.
func (b blocks) read(data []byte, off int64) {
	for len(data) > 0 {
		number, from := off/blockSize, off%blockSize
		part := data[:min(int64(len(data)), blockSize-from)]
		if block := b[number]; block != nil {
			copy(part, block[from:])
		} else {
			clear(part)
		}
		data, off = data[len(part):], off+int64(len(part))
	}
}

// event is a write, or a flush, whose data is nil. A write of zeros has data.
type event struct {
	off  int64
	data []byte
}

// Disk is a disk with a cache that loses power on request. It records every write and
// flush. It is safe for concurrent use.
type Disk struct {
	size   int64
	mutex  sync.Mutex
	start  blocks // before the first event
	now    blocks
	events []event
}

// NewDisk returns a disk of zeros.
func NewDisk(size int64) *Disk { return &Disk{size: size, start: blocks{}, now: blocks{}} }

// Position returns the number of writes and flushes so far, the clock of a crash.
func (d *Disk) Position() int64 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return int64(len(d.events))
}

func (d *Disk) write(data []byte, off int64) {
	data = slices.Clone(data)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.now.write(data, off)
	d.events = append(d.events, event{off, data})
}

func (d *Disk) read(data []byte, off int64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.now.read(data, off)
}

func (d *Disk) flush() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.events = append(d.events, event{})
}

// Crash returns the disk as a power failure after position events could leave it, and a
// description of what happened to the writes after the last flush. The disk has all
// writes before the last flush, and some sectors of the later ones. If two later writes
// changed a sector, it has either.
func (d *Disk) Crash(position int64, r *rand.Rand) (*Disk, string) {
	d.mutex.Lock()
	events := d.events[:position]
	d.mutex.Unlock()

	flushed := len(events)
	for flushed > 0 && events[flushed-1].data != nil {
		flushed--
	}
	image := maps.Clone(d.start)
	for _, e := range events[:flushed] {
		image.write(e.data, e.off)
	}
	pending := events[flushed:]
	fate := ""
	switch r.IntN(4) {
	case 0:
		fate, pending = "dropped", nil
	case 1:
		// The disk has the first writes, and a part of the next.
		n := r.IntN(len(pending) + 1)
		kept := slices.Clone(pending[:n])
		if n < len(pending) {
			kept = append(kept, torn(pending[n:n+1], r)...)
		}
		fate, pending = fmt.Sprintf("cut after %d", n), kept
	case 2:
		kept := some(pending, r)
		fate, pending = fmt.Sprintf("%d kept, in another order", len(kept)), kept
	default:
		kept := torn(pending, r)
		fate, pending = fmt.Sprintf("torn, %d sectors kept, in another order", len(kept)), kept
	}
	for _, e := range pending {
		image.write(e.data, e.off)
	}
	return &Disk{size: d.size, start: image, now: maps.Clone(image)}, fmt.Sprintf("%d writes since the last flush: %s", len(events)-flushed, fate)
}

// some returns no, some or all events, in any order.
func some(events []event, r *rand.Rand) []event {
	share := r.Float64() * 1.2
	var kept []event
	for _, i := range r.Perm(len(events)) {
		if r.Float64() < share {
			kept = append(kept, events[i])
		}
	}
	return kept
}

// torn returns some sectors of the events. It does not divide the first block: ext4 has
// its superblock there, two sectors with a checksum, and cannot mount if one is old.
func torn(events []event, r *rand.Rand) []event {
	var sectors []event
	for _, e := range events {
		for i := 0; i < len(e.data); {
			n := sectorSize
			if off := e.off + int64(i); off < blockSize {
				n = int(blockSize - off)
			}
			n = min(n, len(e.data)-i)
			sectors = append(sectors, event{e.off + int64(i), e.data[i : i+n]})
			i += n
		}
	}
	return some(sectors, r)
}
