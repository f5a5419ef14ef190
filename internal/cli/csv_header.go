package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"seen/internal/stream"
)

// csvHeader is the header of the output: that of the first csv file. The zero value is for a
// run that has met none.
type csvHeader struct {
	text []byte
	file string
	said bool
}

// isFirst reports whether the header b is to be printed. A note says once that a later file
// has other columns: its lines follow under the first header, since -k finds the column of each
// file by its own.
func (h *csvHeader) isFirst(a *app, cmd *cobra.Command, r *recordFlags, b *stream.Block) bool {
	if h.text == nil {
		h.text, h.file = bytes.Clone(b.Data), b.File
		return true
	}
	if !h.said && !r.quiet && !sameColumns(h.text, b.Data) {
		h.said = true
		a.say(cmd, "note: the columns of %s are not those of %s, whose header is printed: %q, %q", b.File, h.file, headerText(b.Data), headerText(h.text))
	}
	return false
}

// sameColumns reports whether two headers have the same text.
func sameColumns(a, b []byte) bool { return bytes.Equal(headerText(a), headerText(b)) }

// headerText returns a header without its byte order mark and line end.
func headerText(b []byte) []byte {
	return bytes.TrimRight(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), "\r\n")
}
