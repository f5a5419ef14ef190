package corpus

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const samples = "../../examples"

func readSample(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCrawlSampleIsCurrent(t *testing.T) {
	r, err := NewReader(Config{Kind: URLs, Lines: 80_000, Distinct: 20_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readSample(t, "crawl.txt.gz"), want) {
		t.Error("examples/crawl.txt.gz is not what the generator makes; examples/README.md has the command")
	}
}

// TestSamplesAreDescribed counts the lines of the samples and looks the counts
// up in their README.
func TestSamplesAreDescribed(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(samples, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crawl.txt.gz", "debian-files.txt.gz"} {
		lines := strings.SplitAfter(string(readSample(t, name)), "\n")
		lines = lines[:len(lines)-1]
		distinct := map[string]bool{}
		for _, l := range lines {
			distinct[l] = true
		}
		if row := fmt.Sprintf("| `%s` | %d | %d |", name, len(lines), len(distinct)); !strings.Contains(string(readme), row) {
			t.Errorf("examples/README.md lacks %q", row)
		}
	}
}
