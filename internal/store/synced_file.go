package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The file syncedName says how far the log was durable some time ago. A damaged log looks
// like one whose end was never written, so that without this file a lost part would go
// unnoticed. The file is written now and then and never synced; if it is missing or torn,
// nothing is known.
const syncedName = "synced"

// mark writes how far the log is durable.
func (s *Store) mark() error {
	if s.groundLost() != nil {
		return nil // it would be written into another folder
	}
	last := s.durable.Load()
	if last == s.marked.Swap(last) {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(nil, last)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return replaceSmall(s.opts.FS, s.dir, syncedName, b, func(vfs.File) error { return nil })
}

// checkMark returns an error if the log, which ends with the given operation, has
// lost some that were durable.
func checkMark(fsys vfs.FS, dir string, last LSN) error {
	name := fsys.PathJoin(dir, syncedName)
	b, err := readSmall(fsys, name)
	if err != nil || len(b) != 12 || crc32.ChecksumIEEE(b[:8]) != binary.LittleEndian.Uint32(b[8:]) {
		return nil // it says nothing
	}
	if synced := LSN(binary.LittleEndian.Uint64(b)); synced > last {
		return fmt.Errorf("the log ends with operation %d, but %d were synced: a part of it is damaged; restore a backup, or remove %s to go on with what is left", last, synced, name)
	}
	return nil
}
