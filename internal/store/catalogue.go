package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// state is what the catalogue says about the store as a whole.
type state struct {
	keyID    uint64 // of the secret that the hashes are made with
	trimmed  LSN    // operations up to it are in the images, not in the log
	lastID   uint64 // of values
	lastFile uint64
}

// dirVersion is the version of the format of the data directory: of the operations, the
// images and the state. If you change one of them, raise it, and keep reading all earlier
// versions. Version 2 has references to files with checksums.
const dirVersion = 2

func (st state) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, dirVersion)
	b = binary.LittleEndian.AppendUint64(b, st.keyID)
	b = binary.AppendUvarint(b, uint64(st.trimmed))
	b = binary.AppendUvarint(b, st.lastID)
	return binary.AppendUvarint(b, st.lastFile)
}

func parseState(b []byte) (st state, err error) {
	if len(b) < 4 {
		return st, fmt.Errorf("the state of %d bytes is cut off", len(b))
	}
	if v := binary.LittleEndian.Uint32(b); v < 1 || v > dirVersion {
		return st, fmt.Errorf("the format has version %d; this program reads up to version %d, use a newer one", v, dirVersion)
	}
	r := reader{b: b[4:]}
	st = state{keyID: r.uint64(), trimmed: LSN(r.uvarint()), lastID: r.uvarint(), lastFile: r.uvarint()}
	return st, r.end()
}

const (
	// loadImages and loadBytes bound the images that a core makes values of at a time: a
	// million small ones are too many to pass on one by one.
	loadImages = 256
	loadBytes  = 256 << 10
)

// catalogueLoader makes values of images, on all cores.
type catalogueLoader struct {
	store *Store
	work  chan []*image
	wg    sync.WaitGroup

	mu  sync.Mutex // guards the values of the store, and:
	err error
}

// loadCatalogue makes the values of all images and adds their files to keep.
func (s *Store) loadCatalogue(keep map[uint64]bool) error {
	l := &catalogueLoader{store: s, work: make(chan []*image)}
	for range runtime.GOMAXPROCS(0) {
		l.wg.Go(l.run)
	}
	var some []*image
	bytes := 0
	pass := func() {
		if len(some) > 0 {
			l.work <- some
			some, bytes = nil, 0
		}
	}
	err := s.db.Load().each(prefixCatalogue, func(id uint64, b []byte) error {
		im, err := parseCatalogued(id, append([]byte(nil), b...))
		if err != nil {
			return fmt.Errorf("value %d: %w", id, err)
		}
		if s.only != nil && !s.only[id] {
			return nil
		}
		some, bytes = append(some, im), bytes+len(b)
		// One with files takes long enough to go alone.
		if len(im.keepFiles(keep)) > 0 || len(some) == loadImages || bytes >= loadBytes {
			pass()
		}
		return nil
	})
	pass()
	close(l.work)
	l.wg.Wait()
	return errors.Join(err, l.err)
}

// run makes values until there are no more images.
func (l *catalogueLoader) run() {
	for images := range l.work {
		values, err := l.make(images)
		l.mu.Lock()
		if err != nil {
			l.err = err
		}
		for _, v := range values {
			l.store.values[v.head().id] = v
		}
		l.mu.Unlock()
	}
}

func (l *catalogueLoader) make(images []*image) (values []value, err error) {
	for _, im := range images {
		v, err := l.store.materialise(im)
		if err != nil {
			return values, fmt.Errorf("%q: %w", im.name, err)
		}
		v.head().stored.at = im.at
		values = append(values, v)
	}
	return values, nil
}
