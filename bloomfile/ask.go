package bloomfile

import (
	"seen/bloom"
)

// Has reports whether key may have been added. No is certain; yes is wrong with
// the filter's error rate. An error says that the answer is not known: the part of
// the file that the key needs is damaged (a *CorruptError, now and for every later
// key that needs it) or cannot be read, or the hash's secret is missing.
func (f *File) Has(key []byte) (bool, error) {
	h, err := f.Hash()
	if err != nil {
		return false, err
	}
	return f.HasHash(h.Sum(key))
}

// HasString is Has for a string.
func (f *File) HasString(key string) (bool, error) {
	h, err := f.Hash()
	if err != nil {
		return false, err
	}
	return f.HasHash(h.SumString(key))
}

// HasHash is Has for a key whose hash is h.
func (f *File) HasHash(h uint64) (found bool, err error) {
	if f.view == nil {
		return false, f.whyNot
	}
	defer f.guard(setPanicOnFault(), &err)
	return f.asked().HasHash(h), nil
}

// HasKeys does Has for each key, stores the answers in found, which must be nil
// or as long as keys, and returns the number of keys that may have been added.
// After an error, use no answer of the call.
func (f *File) HasKeys(found []bool, keys [][]byte) (n int, err error) {
	if err := f.checkKeys(); err != nil {
		return 0, err
	}
	defer f.guard(setPanicOnFault(), &err)
	return f.asked().HasKeys(found, keys), nil
}

// HasStrings is HasKeys for strings.
func (f *File) HasStrings(found []bool, keys []string) (n int, err error) {
	if err := f.checkKeys(); err != nil {
		return 0, err
	}
	defer f.guard(setPanicOnFault(), &err)
	return f.asked().HasStrings(found, keys), nil
}

// HasHashes is HasKeys for hashes.
func (f *File) HasHashes(found []bool, hs []uint64) (n int, err error) {
	if f.view == nil {
		return 0, f.whyNot
	}
	defer f.guard(setPanicOnFault(), &err)
	return f.asked().HasHashes(found, hs), nil
}

// Hash returns the hash of the filter's keys, for HasHash and HasHashes. Its error says
// why keys cannot be hashed, for example because the secret is missing.
func (f *File) Hash() (bloom.Hash, error) {
	if err := f.checkKeys(); err != nil {
		return bloom.Hash{}, err
	}
	return f.view.Hash(), nil
}

// checkKeys returns why keys cannot be hashed or asked for.
func (f *File) checkKeys() error {
	if f.view == nil {
		return f.whyNot
	}
	return f.keyErr
}

// Stats describes the filter. It reads, and so verifies, the whole file; its error is
// the first damage it finds.
func (f *File) Stats() (s bloom.Stats, err error) {
	if f.view == nil {
		return s, f.whyNot
	}
	defer f.guard(setPanicOnFault(), &err)
	return f.view.Stats(), nil
}

// Trace returns what HasHash reads for a hash; see [bloom.TraceOf].
func (f *File) Trace(h uint64) (all []bloom.Trace, err error) {
	if f.view == nil {
		return nil, f.whyNot
	}
	defer f.guard(setPanicOnFault(), &err)
	return bloom.TraceOf(f.view, h)
}
