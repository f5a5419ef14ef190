package vfs

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

func (osFS) BootID() (id [16]byte, err error) {
	const path = "/proc/sys/kernel/random/boot_id"
	text, err := os.ReadFile(path)
	if err != nil {
		return id, err
	}
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%s holds %q, which is not a boot id", path, text)
	}
	return [16]byte(b), nil
}
