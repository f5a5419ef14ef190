package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"seen/internal/corpus"
)

// input is a corpus in a file.
type input struct {
	corpus.Config
	path  string
	bytes int64
}

// prepareInput returns the corpus c in a file of dir. It writes the file if it does not
// exist.
func prepareInput(ctx context.Context, c corpus.Config, dir string, progress io.Writer) (input, error) {
	in := input{Config: c, path: filepath.Join(dir, fmt.Sprintf("%s-%d-%d-%d.txt", c.Kind, c.Lines, c.Distinct, c.Seed))}
	r, err := corpus.NewReader(c)
	if err != nil {
		return in, err
	}
	if !isCurrent(in.path, c) {
		fmt.Fprintf(progress, "making %s\n", in.path)
		if err := writeFile(in.path, func(w *bufio.Writer) error {
			_, err := w.ReadFrom(contextReader{ctx, r})
			return err
		}); err != nil {
			return in, err
		}
	}
	info, err := os.Stat(in.path)
	if err != nil {
		return in, err
	}
	in.bytes = info.Size()
	return in, nil
}

// isCurrent reports whether the file begins as c does. The beginning is enough: files are
// renamed into place when they are complete, and a changed generator changes the first
// lines.
func isCurrent(path string, c corpus.Config) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := corpus.NewReader(c)
	if err != nil {
		return false
	}
	const head = 1 << 16
	want, err := io.ReadAll(io.LimitReader(r, head))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(io.LimitReader(f, head))
	return err == nil && bytes.Equal(got, want)
}

// prepareSet writes the distinct lines of in that inSet accepts to a file in the same
// folder.
func prepareSet(ctx context.Context, in input, progress io.Writer) (string, error) {
	path := in.path + ".set"
	fmt.Fprintf(progress, "making %s\n", path)
	return path, writeFile(path, func(w *bufio.Writer) error {
		var line []byte
		for ordinal := range in.Distinct {
			if ordinal%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !inSet(ordinal) {
				continue
			}
			line = append(in.AppendLine(line[:0], ordinal), '\n')
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// inSet chooses one distinct line in five for the set of the filter work.
func inSet(ordinal uint64) bool { return ordinal%5 == 0 }

// writeFile creates path with what write writes. It leaves no incomplete file.
func writeFile(path string, write func(*bufio.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// contextReader is a reader that fails when its context ends.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
