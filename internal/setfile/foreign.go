package setfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"seen/bloomfile"
	"seen/interop"
)

// Foreign is an open filter of another system. Its content may be a mapped file, which can
// become shorter, so all calls that read it must go through Read.
type Foreign struct {
	Name   string
	Size   int64
	Filter interop.Foreign
	Bytes  []byte
	mapped *bloomfile.Mapped // nil: the bytes are in memory
}

// Read calls work, which may read Filter and Bytes.
func (f *Foreign) Read(work func() error) error {
	if f.mapped == nil {
		return work()
	}
	return f.mapped.Guard(work)
}

// Close ends the use of the filter.
func (f *Foreign) Close() error {
	if f.mapped == nil {
		return nil
	}
	return f.mapped.Close()
}

// openForeign maps the file name and opens the filter of another system in it.
func openForeign(name string, spec interop.Spec, inspect bool) (*Foreign, error) {
	mapped, err := bloomfile.Map(name)
	if err != nil {
		return nil, err
	}
	f := &Foreign{Name: name, Size: int64(len(mapped.Bytes())), mapped: mapped}
	err = mapped.Guard(func() error {
		if spec.Name == "" && !mayBeFilter(mapped.Bytes()) {
			if err := checkResembles(name, mapped.Bytes()); err != nil {
				return err
			}
			return interop.ErrUnknown
		}
		return f.open(mapped.Bytes(), spec, inspect)
	})
	if err != nil {
		mapped.Close() // it is only read
		return nil, err
	}
	return f, nil
}

// mayBeFilter reports whether content is probably a filter. A text that matches a format by
// chance is not: content of an uncertain format is a filter only if the format is given.
func mayBeFilter(b []byte) bool {
	all := interop.Detect(b)
	return len(all) > 0 && all[0].Confidence > interop.Possible
}

func (f *Foreign) open(b []byte, spec interop.Spec, inspect bool) error {
	open := interop.Open
	if inspect {
		open = interop.Inspect
	}
	var err error
	f.Bytes = b
	if f.Filter, err = open(b, spec); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// openFolder opens the chunks of a dump: the files chunk-*.bin, in the order of their
// names.
func openFolder(name string, spec interop.Spec, inspect bool) (*Foreign, error) {
	names, err := ChunksIn(name)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s is a folder without files chunk-*.bin, not a set", name)
	}
	var all bytes.Buffer
	for _, name := range names {
		chunk, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all.Write(chunk)
	}
	f := &Foreign{Name: name, Size: int64(all.Len())}
	return f, f.open(all.Bytes(), spec, inspect)
}

// ChunksIn returns the names of the chunks of a dump in a folder.
func ChunksIn(folder string) ([]string, error) {
	return filepath.Glob(filepath.Join(escapeGlob(folder), "chunk-*.bin"))
}

// escapeGlob escapes the characters of a name that have a meaning to Glob.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// Merger returns a copy of the filter to which others can be added.
func (f *Foreign) Merger() (m interop.Merger, err error) {
	err = f.Read(func() error {
		c, err := interop.Clone(f.Filter)
		if err != nil {
			return fmt.Errorf("%s cannot be merged: %w", f.Name, err)
		}
		var ok bool
		if m, ok = c.(interop.Merger); !ok {
			return fmt.Errorf("%s cannot be merged: the OR of two such filters is not the filter of all their keys; build one filter from all keys", f.Name)
		}
		return nil
	})
	return m, err
}
