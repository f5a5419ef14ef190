package store

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

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
