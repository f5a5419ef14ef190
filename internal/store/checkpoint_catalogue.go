package store

import (
	"cmp"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// roundBytes is about the length of the images of one batch.
const roundBytes = 4 << 20

// round puts new images into the catalogue during a checkpoint, some at a time, so that a
// million of them do not have to be in memory at once. An image may be in the catalogue
// before the log is cut: operations that it shows are not repeated. The last images and
// the cut of the log are one batch.
type round struct {
	store       *Store
	flush       bool // what an image shows must be in the log before it is in the catalogue
	any         bool // there have been images
	images      []catalogued
	bytes       int      // of images
	written     []uint64 // files of images that are not in the catalogue
	superfluous []uint64 // files that nothing refers to once the log is cut
	size        uint64   // of all files that were written
}

// add takes an image, of which it writes the files.
func (r *round) add(im catalogued) error {
	r.any = true
	files, n, err := r.store.writeParts(im.capture, r.store.life.Err)
	r.written = append(r.written, files...)
	if err != nil {
		return err
	}
	r.size += n
	r.images = append(r.images, im)
	r.bytes += len(im.name) + len(im.meta) + 64
	for _, p := range im.parts {
		r.bytes += len(p.inline)
	}
	// If the log is lost, all images must be one batch.
	if r.bytes < cmp.Or(r.store.opts.hooks.roundBytes, roundBytes) || !r.flush {
		return nil
	}
	return r.put(r.store.trimmed, func(*pebble.Batch) error { return nil })
}

// put puts the images into the catalogue, durably, and a state in which the log is cut
// up to a position, and does the rest of the same batch.
func (r *round) put(upTo LSN, rest func(b *pebble.Batch) error) error {
	s := r.store
	if len(r.written) > 0 {
		if err := s.files.sync(); err != nil {
			return err
		}
	}
	if r.flush { // or an EXEC would be there by half
		if err := s.flush(s.life, s.Last()); err != nil {
			return err
		}
	}
	s.space.Lock()
	st := state{keyID: s.hash.KeyID(), trimmed: upTo, lastID: s.lastID, lastFile: s.files.last.Load()}
	s.space.Unlock()
	err := s.db.Load().apply(func(b *pebble.Batch) error {
		for _, im := range r.images {
			if err := b.Set(catalogueKey(im.id), im.encode(), nil); err != nil {
				return err
			}
		}
		return errors.Join(rest(b), b.Set(stateKey, st.encode(), nil))
	}, !s.opts.hooks.noCatalogueSync)
	if err != nil {
		// The disk may have the catalogue that names them nevertheless.
		s.doubtful, r.written = append(s.doubtful, r.written...), nil
		return err
	}
	for _, im := range r.images {
		r.superfluous = append(r.superfluous, im.in.replace(im.files(), im.at)...)
		if im.saved != nil {
			im.mu.Lock()
			im.saved(im.image, im.at)
			im.mu.Unlock()
		}
	}
	clear(r.images)
	r.images, r.bytes, r.written = r.images[:0], 0, nil
	return nil
}

// end puts the last images into the catalogue, and drops what all of them replace:
// images of values that are gone, the log up to a position, and then files.
func (r *round) end(gone []uint64, upTo LSN) error {
	s := r.store
	doubtful := s.doubtful
	err := r.put(upTo, func(b *pebble.Batch) error {
		// Also of values whose deletion stays in the log: a part of their earlier changes
		// may have been dropped.
		for _, id := range gone {
			if err := b.Delete(catalogueKey(id), nil); err != nil {
				return err
			}
		}
		return errors.Join(s.forgetHistories(b, gone), b.DeleteRange(logKey(0), logKey(upTo+1), nil))
	})
	if err != nil {
		return err
	}
	s.trimmed = upTo
	r.superfluous = append(r.superfluous, doubtful...) // this catalogue does not name them
	s.doubtful = nil
	s.space.Lock()
	kept := s.dead[:0]
	for _, d := range s.dead {
		if d.at <= upTo {
			r.superfluous = append(r.superfluous, d.numbers()...)
		} else {
			kept = append(kept, d)
		}
	}
	clear(s.dead[len(kept):])
	s.dead = kept
	s.space.Unlock()
	s.files.remove(r.superfluous)
	return nil
}
