package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"seen/internal/setfile"
	"seen/internal/spill"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/vfs"
)

// firstMode is the mode of --append: the first line of each key.
func firstMode() *groupMode {
	return &groupMode{
		option: "--append", streams: true, log: 1, keeps: isFirst, spools: isFirst,
		visitor: func(g *groupRun) spill.Visitor {
			return spill.Visitor{Record: func(before uint64, r spill.Record) error {
				if r.Logged && before == 0 && r.Position >= g.list.lines {
					return g.selectLine(r.Position, 0)
				}
				return nil
			}}
		},
	}
}

// growingList is the FILE of --append: a list to which lines are added that it does not have.
// It is replaced as a whole at the end, so that a crash leaves the former file.
type growingList struct {
	name      string
	delimiter []byte
	lock      io.Closer
	info      fs.FileInfo      // before it is read; nil if the file does not exist
	lines     uint64           // that the file has, without the header of a csv file
	keyless   uint64           // of these, those without a key
	past      bool             // its lines have been read
	headed    bool             // it has the header of a csv file
	header    []byte           // of the list, or of the first csv file if the list has none
	file      *vfs.Replacement // nil until there is a line to add
}

// openList locks the file of --append, checks that it is a list of lines, and that it is not
// one of the inputs.
func (a *app) openList(name string, files []string, r *recordFlags) (*growingList, error) {
	for _, file := range files {
		if sameFile(file, name) {
			return nil, usagef("--append %s is one of the inputs, too", name)
		}
	}
	lock, err := vfs.Lock(vfs.OS, name)
	if err != nil {
		return nil, err
	}
	l := &growingList{name: name, lock: lock}
	if err := l.look(a, files, r); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *growingList) look(a *app, files []string, r *recordFlags) (err error) {
	if l.info, err = os.Stat(l.name); errors.Is(err, fs.ErrNotExist) {
		l.info = nil
		return nil
	}
	if err != nil {
		return err
	}
	if !l.info.Mode().IsRegular() {
		return fmt.Errorf("--append %s is not a regular file; name a list of lines", l.name)
	}
	if stdin, ok := a.env.Stdin.(*os.File); ok && (len(files) == 0 || isStdinAmong(files)) {
		if info, err := stdin.Stat(); err == nil && os.SameFile(info, l.info) {
			return usagef("--append %s is the input, too", l.name)
		}
	}
	start, err := setfile.ReadStart(l.name)
	if err == nil && !r.plain && input.Compressed(start) {
		err = fmt.Errorf("--append %s is compressed, so that lines cannot be added to it; unpack it first", l.name)
	}
	return err
}

func isStdinAmong(files []string) bool {
	for _, file := range files {
		if isStdin(file) {
			return true
		}
	}
	return false
}

// inputs returns what a run reads: the list, and then the files.
func (l *growingList) inputs(files []string) []string {
	if len(files) == 0 {
		files = []string{"-"}
	}
	if l.info == nil {
		return files
	}
	return append([]string{l.name}, files...)
}

// has reports whether the lines of a block are those of the list.
func (l *growingList) has(b *stream.Block) bool {
	if l.past || l.info == nil || b.File != l.name {
		l.past = true
		return false
	}
	return true
}

// checkHeader refuses a csv file whose columns are not those of the list.
func (l *growingList) checkHeader(b *stream.Block) error {
	if l.header == nil {
		l.header = bytes.Clone(b.Data)
		return nil
	}
	if !sameColumns(b.Data, l.header) {
		return fmt.Errorf("%s: its header is %q, and that of the lines in %s is %q; the columns of both have to be the same",
			b.File, headerText(b.Data), l.name, headerText(l.header))
	}
	return nil
}

// sayOfOtherEnds makes a run print a note about each file if only one of it and the list has
// lines that end in CR LF: all its lines are new then.
func (l *growingList) sayOfOtherEnds(a *app, cmd *cobra.Command, r *recordFlags, c *stream.Config) {
	if r.quiet || l.info == nil {
		return
	}
	var list lineEnd
	atStart(c, func(file string, end lineEnd) {
		switch {
		case file == l.name:
			list = end
		case list == endCRLF && end == endLF:
			a.sayOfCR(cmd, l.name, file)
		case list == endLF && end == endCRLF:
			a.sayOfCR(cmd, file, l.name)
		}
	})
}

// Write adds whole lines. Errors name the list.
func (l *growingList) Write(p []byte) (int, error) {
	if err := l.begin(); err != nil {
		return 0, l.wrap(err)
	}
	n, err := l.file.Write(p)
	return n, l.wrap(err)
}

// wrap says of which file an error is, and that it is as it was.
func (l *growingList) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--append %s: %w; no line was added to it", l.name, err)
}

// begin copies the list for its replacement, if that has not been done.
func (l *growingList) begin() (err error) {
	if l.file != nil {
		return nil
	}
	file, err := vfs.Replace(vfs.OS, l.name, vfs.Shared)
	if err != nil {
		return err
	}
	if err := l.copyTo(file); err != nil {
		file.Abort()
		return err
	}
	l.file = file
	return nil
}

func (l *growingList) copyTo(w io.Writer) error {
	if l.info == nil || l.info.Size() == 0 {
		return nil
	}
	old, err := os.Open(l.name)
	if err != nil {
		return err
	}
	defer old.Close() // it is only read
	n, err := io.Copy(w, io.LimitReader(old, l.info.Size()))
	if err == nil && n < l.info.Size() {
		err = errListChanged
	}
	if err != nil {
		return err
	}
	// A last line without an end gets one.
	if len(l.delimiter) == 0 {
		l.delimiter = []byte{'\n'}
	}
	end := make([]byte, min(int64(len(l.delimiter)), n))
	if _, err = old.ReadAt(end, n-int64(len(end))); err == nil && !bytes.Equal(end, l.delimiter) {
		_, err = w.Write(l.delimiter)
	}
	return err
}

var errListChanged = errors.New("another program has changed the file meanwhile")

// commit replaces the file if lines were added, and makes it if there was none.
func (l *growingList) commit() error {
	if l.info != nil && l.file == nil {
		return nil
	}
	err := l.begin()
	if err == nil {
		err = l.checkUnchanged()
	}
	if err == nil {
		err = l.file.Commit()
	}
	return l.wrap(err)
}

// checkUnchanged reports whether the file is the one that was read.
func (l *growingList) checkUnchanged() error {
	info, err := os.Stat(l.name)
	switch {
	case l.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case l.info == nil || !os.SameFile(info, l.info) || info.Size() != l.info.Size() || !info.ModTime().Equal(l.info.ModTime()):
		return errListChanged
	}
	return nil
}

// close gives up a replacement that is not committed, and the lock.
func (l *growingList) close() {
	if l.file != nil {
		l.file.Abort()
	}
	_ = l.lock.Close() // a lock file that is left behind does no harm
}

// twice writes to both, first to out.
type twice struct{ out, list io.Writer }

func (t twice) Write(p []byte) (int, error) {
	if n, err := t.out.Write(p); err != nil {
		return n, err
	}
	return t.list.Write(p)
}
