package store

import (
	"encoding/binary"
	"fmt"
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
