package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// completeName is the file that a backup has once all else of it is durable. Below a
// title it names every other file after its size and its CRC-32; the last line is the
// CRC-32 of all before it. Backups of earlier versions have the sizes only, or an empty
// file.
const (
	completeName   = "COMPLETE"
	completeTitle  = "seen backup 2\n"
	completeTitle1 = "seen backup\n"
	completeEnd    = "checksum "
)

// backupList is what COMPLETE says.
type backupList struct{ entries []listed }

// listed is a file of a backup.
type listed struct {
	name string // its path in the folder
	checked
	summed bool // the sum is known
}

// compare returns an error unless is, a file as it was read, is the one that was
// listed.
func (l listed) compare(is checked) error {
	switch {
	case is.size != l.size:
		return fmt.Errorf("it has %d bytes, but had %d when the backup was written", is.size, l.size)
	case l.summed && is.sum != l.sum:
		return fmt.Errorf("its %d bytes have changed since the backup was written: their CRC-32 is %08x, and was %08x", is.size, is.sum, l.sum)
	}
	return nil
}

func (b *backupList) names() map[string]bool {
	names := map[string]bool{}
	for _, l := range b.entries {
		names[l.name] = true
	}
	return names
}

func (b *backupList) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, completeTitle...)
	for _, l := range b.entries {
		dst = fmt.Appendf(dst, "%d %08x %s\n", l.size, l.sum, l.name)
	}
	return fmt.Appendf(dst, "%s%08x\n", completeEnd, crc32.ChecksumIEEE(dst[start:]))
}

// readList reads COMPLETE of a backup. The list is nil if that names no files.
func readList(fsys vfs.FS, dir string) (*backupList, error) {
	text, err := readSmall(fsys, fsys.PathJoin(dir, completeName))
	if err != nil {
		return nil, err
	}
	return parseList(text)
}

func parseList(text []byte) (*backupList, error) {
	if len(text) == 0 {
		return nil, nil
	}
	fields, rest := 2, text
	switch {
	case bytes.HasPrefix(text, []byte(completeTitle)):
		fields = 3
		at := bytes.LastIndex(text, []byte("\n"+completeEnd)) + 1
		if want := fmt.Appendf(nil, "%s%08x\n", completeEnd, crc32.ChecksumIEEE(text[:at])); at == 0 || !bytes.Equal(text[at:], want) {
			return nil, fmt.Errorf("%s does not match its checksum", completeName)
		}
		rest = text[len(completeTitle):at]
	case bytes.HasPrefix(text, []byte(completeTitle1)):
		rest = text[len(completeTitle1):]
	default:
		return nil, fmt.Errorf("%s is of a version that this program does not know, or damaged; use a newer one", completeName)
	}
	b := &backupList{}
	for line := range strings.Lines(string(rest)) {
		l, ok := parseListed(strings.SplitN(strings.TrimSuffix(line, "\n"), " ", fields), fields)
		if !ok || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("%s is damaged at the line %q", completeName, line)
		}
		b.entries = append(b.entries, l)
	}
	return b, nil
}

// parseListed takes the fields of a line apart. A file outside the folder is refused.
func parseListed(words []string, fields int) (l listed, ok bool) {
	if len(words) != fields {
		return l, false
	}
	var err, sumErr error
	l.size, err = strconv.ParseUint(words[0], 10, 63)
	if l.summed = fields == 3; l.summed {
		var sum uint64
		sum, sumErr = strconv.ParseUint(words[1], 16, 32)
		l.sum = uint32(sum)
	}
	l.name = words[fields-1]
	inside := l.name == path.Clean(l.name) && !path.IsAbs(l.name) && l.name != ".." && !strings.HasPrefix(l.name, "../") && l.name != "."
	return l, errors.Join(err, sumErr) == nil && inside // a line that is wrong has no entry: the caller says which
}

// checkSizes returns an error unless all files that a backup names are there with their
// sizes: it may have been copied since, and not all of it.
func (b *backupList) checkSizes(fsys vfs.FS, backup string) error {
	for _, l := range b.entries {
		info, err := fsys.Stat(fsys.PathJoin(backup, l.name))
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return &os.PathError{Op: "read", Path: l.name, Err: errors.New("it is a folder")}
		}
		if is := (checked{size: uint64(info.Size())}); is.size != l.size {
			return fmt.Errorf("%s: %w", l.name, l.compare(is))
		}
	}
	return nil
}
