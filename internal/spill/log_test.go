package spill

import (
	"errors"
	"iter"
	"testing"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
}

// testFolder returns a Folder that holds at most room bytes; 0 is without a limit.
func testFolder(t tester, room uint64) (*Folder, func() (*Folder, error)) {
	t.Helper()
	f, err := Open(Config{Max: room})
	if err != nil {
		t.Fatal(err)
	}
	return f, func() (*Folder, error) { return f, nil }
}

// lazyFolder is testFolder for a test that does not look into it.
func lazyFolder(t tester, room uint64) func() (*Folder, error) {
	t.Helper()
	_, open := testFolder(t, room)
	return open
}

func isLimit(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

// steps yields about n numbers from 0 to below size.
func steps(size int64, n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for at := int64(0); at < size; at += 1 + size/n {
			if !yield(at) {
				return
			}
		}
	}
}

// damages damages a file at an offset in several ways, one after the other, and repairs it.
func damages(t *testing.T, f *File, at int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		whole := make([]byte, f.Size())
		if err := f.ReadAt(whole, 0); err != nil {
			t.Fatal(err)
		}
		write := func(p []byte, at int64) {
			if _, err := f.file.WriteAt(p, at); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte{whole[at] ^ 0x10}, at)
		more := yield("a bit differs")
		write(whole[at:at+1], at)
		if !more {
			return
		}
		if err := f.file.Truncate(at); err != nil {
			t.Fatal(err)
		}
		yield("the rest is missing")
		write(whole[at:], at)
	}
}
