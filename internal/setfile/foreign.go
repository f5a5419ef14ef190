package setfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"seen/bloomfile"
	"seen/interop"
)

// Foreign is an open filter of another system. Its content may lie in a file that
// is mapped into memory, so that all calls go through a guard.
type Foreign struct {
	Name   string
	Size   int64
	Filter interop.Foreign
	Bytes  []byte
	mapped *bloomfile.Mapped // nil: the bytes are in memory
}

// Read calls work, which may read the filter.
func (f *Foreign) Read(work func() error) error {
	if f.mapped == nil {
		return work()
	}
	if err := f.mapped.Guard(work); err != nil {
		return err
	}
	return nil
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

// mayBeFilter keeps texts out that fit a format by chance: content that is not sure to
// be of a format is a filter only if it is named.
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
		if err := appendFile(&all, name); err != nil {
			return nil, err
		}
	}
	f := &Foreign{Name: name, Size: int64(all.Len())}
	return f, f.open(all.Bytes(), spec, inspect)
}

// ChunksIn returns the names of the chunks of a dump in a folder.
func ChunksIn(folder string) ([]string, error) {
	return filepath.Glob(filepath.Join(escapeGlob(folder), "chunk-*.bin"))
}

func appendFile(to *bytes.Buffer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	_, err = io.Copy(to, file)
	return err
}

// escapeGlob takes their meaning away from the letters of a name that Glob would
// interpret.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// Merger returns a copy of the filter that can take up others.
func (f *Foreign) Merger() (m interop.Merger, err error) {
	err = f.Read(func() error {
		c, err := interop.Clone(f.Filter)
		if err != nil {
			return fmt.Errorf("%s cannot be merged: %w", f.Name, err)
		}
		var ok bool
		if m, ok = c.(interop.Merger); !ok {
			return fmt.Errorf("%s cannot be merged: the OR of such filters is not the filter of all their keys; build one from the keys of all", f.Name)
		}
		return nil
	})
	return m, err
}
