package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"seen/internal/setfile"
)

// A note says of a large set in memory that it is there.
func TestNoteOfUnpackedSets(t *testing.T) {
	var said bytes.Buffer
	a := &app{env: Env{Stderr: &said}}
	cmd := &cobra.Command{Use: "filter"}
	for unpacked, want := range map[uint64]string{
		0: "", unpackedSaid - 1: "",
		unpackedSaid: "filter: note: x.gz needs 64.0 MiB of memory, because it is compressed or comes through a pipe; an uncompressed file is mapped instead\n",
	} {
		for _, quiet := range []bool{false, true} {
			said.Reset()
			a.sayOfSets(cmd, []*lookupSet{{Lookup: &setfile.Lookup{Name: "x.gz", Unpacked: unpacked}}}, &recordFlags{quiet: quiet}, &foreignFlags{})
			if got := said.String(); got != want && !quiet || quiet && got != "" {
				t.Errorf("%d bytes, quiet %t: said %q, want %q", unpacked, quiet, got, want)
			}
		}
	}
}
