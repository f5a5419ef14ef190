package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// recover brings the values into memory: their images first, then the operations of the
// log that came after each image.
func (s *Store) recover() error {
	st, err := s.db.Load().readState()
	if err != nil {
		return s.damaged(err)
	}
	if st.keyID != s.hash.KeyID() {
		return fmt.Errorf("the secret in %s is not the one that the filters of this directory were made with (key ids %016x and %016x); restore the right one", s.dir, s.hash.KeyID(), st.keyID)
	}
	s.lastID = st.lastID
	s.files.last.Store(st.lastFile)
	s.trimmed = st.trimmed
	keep := map[uint64]bool{}
	if err := s.loadCatalogue(keep); err != nil {
		return s.damaged(err)
	}
	last, err := s.replay(keep)
	if err != nil {
		return s.damaged(err)
	}
	if err := checkMark(s.opts.FS, s.dir, last); err != nil {
		return s.damaged(err)
	}
	if err := s.enterNames(); err != nil {
		return s.damaged(err)
	}
	s.log.init(last)
	s.commits.init(last)
	s.removed.Store(uint64(last))
	s.recovered = last
	s.tombs.flush(last)
	s.considerSpace()
	return s.files.removeOthers(keep)
}

func (s *Store) damaged(err error) error {
	return fmt.Errorf("the data directory %s cannot be read: %w", s.dir, err)
}

func (d *database) readState() (state, error) {
	b, closer, err := d.db.Get(stateKey)
	if err != nil {
		return state{}, fmt.Errorf("the state in the database: %w", err)
	}
	defer closer.Close() // it was only read
	return parseState(b)
}

// each calls do for each key of the database with a prefix, in order.
func (d *database) each(prefix byte, do func(n uint64, v []byte) error) error {
	return d.scan([]byte{prefix}, []byte{prefix + 1}, func(key, v []byte) error {
		if len(key) != 9 {
			return fmt.Errorf("a key %x in the database", key)
		}
		return do(binary.BigEndian.Uint64(key[1:]), v)
	})
}

// scan calls do, in order, for the keys from one up to, and without, another; nil is the
// first, or after the last.
func (d *database) scan(from, to []byte, do func(key, v []byte) error) error {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			err = do(it.Key(), v)
		}
	}
	return errors.Join(err, it.Close())
}

// keepFiles adds the files of an image to keep, and returns them.
func (im *image) keepFiles(keep map[uint64]bool) []storedFile {
	files := im.files()
	for _, f := range files {
		keep[f.number] = true
	}
	return files
}

// materialise makes the value that an image of the catalogue or the log describes.
func (s *Store) materialise(im *image) (value, error) {
	v, err := s.build(im)
	if err != nil {
		return nil, err
	}
	h := v.head()
	h.id, h.name, h.created = im.id, im.name, im.created
	h.expire.Store(im.expire)
	h.changedAll(im.at)
	h.stored.set(im.files())
	s.memory.force(0, h.Bytes())
	return v, nil
}

// wholeLoads make a value of its contents, nil if there are none. They do not keep them.
var wholeLoads = [...]func(s *Store, im *image, contents []byte) (value, error){
	kindRedisBloom: (*Store).loadRedisBloom,
	kindCuckoo:     (*Store).loadCuckoo,
	kindCountMin:   (*Store).loadCountMin,
	kindTopK:       (*Store).loadTopK,
	kindForeign:    (*Store).loadForeign,

	kindRedisCountMin: (*Store).loadCountMin,
	kindRedisTopK:     (*Store).loadTopK,
}

// build makes the contents of a value.
func (s *Store) build(im *image) (value, error) {
	if err := im.kind.check(); err != nil {
		return nil, err
	}
	if im.kind == kindBloom {
		return s.loadBloom(im)
	}
	c, err := s.loadWhole(im)
	if err != nil {
		return nil, err
	}
	defer c.release()
	return wholeLoads[im.kind](s, im, c.bytes)
}

// replay repeats the operations of the log and returns the number of the last.
func (s *Store) replay(keep map[uint64]bool) (LSN, error) {
	last := s.trimmed
	s.orphans = map[uint64]LSN{}
	err := s.db.Load().each(prefixLog, func(first uint64, ops []byte) error {
		if s.only != nil && last >= s.upTo {
			return nil
		}
		if LSN(first) != last+1 {
			return fmt.Errorf("the log goes on with operation %d after %d: a part of it is missing", first, last)
		}
		s.log.bytes.Add(uint64(len(ops)))
		for len(ops) > 0 {
			op, rest, err := nextOp(ops)
			if err == nil {
				err = s.repeat(op, last+1, keep)
			}
			if err != nil {
				return fmt.Errorf("operation %d of the log: %w", last+1, err)
			}
			ops = rest
			last++
		}
		return nil
	})
	for id, at := range s.orphans {
		err = errors.Join(err, fmt.Errorf("operation %d of the log changes value %d, which does not exist", at, id))
	}
	s.orphans = nil
	return last, err
}

func (s *Store) repeat(op operation, at LSN, keep map[uint64]bool) error {
	if op.code == opFlush {
		for _, v := range s.values {
			if v.LSN() < at {
				s.bury(v, at)
			}
		}
		clear(s.orphans)
		return nil
	}
	if s.only != nil && !s.only[op.id] {
		return nil
	}
	v := s.values[op.id]
	if op.code == opCreate {
		return s.repeatCreate(v, op, at, keep)
	}
	if v == nil {
		// A change of a value that is deleted later in the log.
		if s.orphans[op.id] = at; op.code == opDelete {
			delete(s.orphans, op.id)
		}
		return nil
	}
	if op.code == opReplace {
		if err := s.keepReplaced(v, op, at, keep); err != nil {
			return err
		}
	}
	if at <= v.LSN() {
		return nil // the image has it
	}
	h := v.head()
	h.changed(at)
	switch op.code {
	case opDelete:
		s.bury(v, at)
	case opRename:
		s.memory.force(uint64(len(h.name)), uint64(len(op.body)))
		h.name = string(op.body)
	case opExpire:
		r := reader{b: op.body}
		h.expire.Store(r.varint())
		return r.end()
	default:
		return v.replay(op, at)
	}
	return nil
}

// keepReplaced keeps the files of new contents until the operation has left the log, even
// if the value has an image with later contents.
func (s *Store) keepReplaced(v value, op operation, at LSN, keep map[uint64]bool) error {
	im, err := s.parseLogged(op.body, at, keep)
	if err == nil {
		v.head().stored.add(im.files())
	}
	return err
}

// parseLogged takes an image of the log apart, and keeps its files. The image refers to b.
func (s *Store) parseLogged(b []byte, at LSN, keep map[uint64]bool) (*image, error) {
	im, err := parseImage(b)
	if err != nil {
		return nil, err
	}
	im.at = at
	for _, f := range im.keepFiles(keep) {
		s.files.atLeast(f.number)
	}
	return im, nil
}

// repeatCreate repeats a creation; v is the value that has the id already.
func (s *Store) repeatCreate(v value, op operation, at LSN, keep map[uint64]bool) error {
	im, err := s.parseLogged(bytes.Clone(op.body), at, keep)
	if err != nil {
		return err
	}
	im.id = op.id
	s.lastID = max(s.lastID, op.id)
	if v != nil {
		if v.LSN() < at {
			return fmt.Errorf("it creates value %d, which exists", op.id)
		}
		v.head().stored.add(im.files()) // they go with the operation
		return nil
	}
	if v, err = s.materialise(im); err != nil {
		return err
	}
	s.values[op.id] = v
	return nil
}

// bury removes a value, whose deletion has the given number.
func (s *Store) bury(v value, at LSN) {
	h := v.head()
	h.gone = true
	delete(s.values, h.id)
	s.memory.force(h.Bytes(), 0)
	s.dead = append(s.dead, dead{h.id, at, &h.stored})
}

// enterNames makes the table of names. Images are from different positions of the log, so
// that two may have the same name; after the log is repeated each has its own.
func (s *Store) enterNames() error {
	for _, v := range s.values {
		h := v.head()
		if other := s.names.get([]byte(h.name)); other != nil {
			return fmt.Errorf("values %d and %d both have the name %q", other.head().id, h.id, h.name)
		}
		s.insert(v)
	}
	return nil
}
