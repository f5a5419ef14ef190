package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A sample is planned for with room for the error of its estimate.
func TestSample(t *testing.T) {
	const n = 100_000
	name := filepath.Join(t.TempDir(), "lines")
	var lines strings.Builder
	for i := range n {
		fmt.Fprintln(&lines, i)
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	var r planReport
	if err := json.Unmarshal([]byte(output(t, "plan", "--json", "--sample", name, "--type", "classic")), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Sample
	if s == nil || s.Lines != n || math.Abs(s.Distinct-n) > sigmas*s.StdErr || r.N != s.N || r.Rows[0].N != s.N {
		t.Fatalf("%+v, %+v", r, s)
	}
	if over := float64(s.N) - s.Distinct; math.Abs(over-2*s.StdErr) > 2 {
		t.Errorf("planned for %d keys, for %v with a standard error of %v", s.N, s.Distinct, s.StdErr)
	}
}
