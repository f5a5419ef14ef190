package cli

import (
	"strings"
	"testing"
)

// TestInfoOfSketch: a sketch has registers or buckets, not bits, and its file does not say
// how many keys were added, which is not 0.
func TestInfoOfSketch(t *testing.T) {
	for name, m := range map[string]string{
		"hyperloglog":     "256 registers",
		"hyperloglog-few": "500 fingerprints of 64 bits",
		"flajolet-martin": "64 registers",
		"top-k":           "90 buckets",
		"count-min-32":    "903 counters of 32 bits",
		"count-min-plain": "1,200 counters of 64 bits",
	} {
		code, stdout, stderr := run("", "info", "../../bloomfile/testdata/v1/"+name+".seen")
		if code != ExitOK || !strings.Contains(stdout, " "+m+", ") || !strings.Contains(stdout, "added  the file does not say\n") {
			t.Errorf("%s: exit code %d, %s\n%s, want %s and that the file does not say how many were added", name, code, stderr, stdout, m)
		}
	}
}
