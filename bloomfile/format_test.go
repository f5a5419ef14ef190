package bloomfile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/frame"
	"seen/sizing"
)

// The filters of the example in docs/FORMAT.md.
var (
	classicExample = sizing.Params{Shape: sizing.Classic, M: 1000, K: 4}
	blockedExample = sizing.Params{Shape: sizing.Blocked, M: 2 * 1000 * 512, Lines: 2, Lanes: 3, K: 6}
)

// exampleText returns the lines of docs/FORMAT.md that follow from the code.
func exampleText(t *testing.T) (want []string) {
	t.Helper()
	secret := bloom.Hash{Algorithm: bloom.SipHash, Secret: [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
	seed0, seed42 := bloom.Hash{}, bloom.Hash{Seed: 42}
	for _, key := range []string{"", "a", "seen", "https://example.com/"} {
		name := "`" + key + "`"
		if key == "" {
			name = "(empty)"
		}
		want = append(want, fmt.Sprintf("| %s | %016x | %016x | %016x |", name, seed0.SumString(key), seed42.SumString(key), secret.SumString(key)))
	}
	want = append(want, fmt.Sprintf("is %016x.", secret.KeyID()))

	classic, err := bloom.NewClassic(bloom.Config{Params: classicExample})
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, "bits "+bitsOf(t, classic))
	blocked, err := bloom.New(bloom.Config{Params: blockedExample})
	if err != nil {
		t.Fatal(err)
	}
	return append(want, "bits "+bitsOf(t, blocked))
}

// bitsOf adds the key "seen" and returns the numbers of the bits that are set.
func bitsOf(t *testing.T, s bloom.Set) string {
	t.Helper()
	h := s.Hash()
	s.AddHash(h.SumString("seen"))
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, parts, err := frame.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for i := range 8 * len(parts[0]) {
		if parts[0][i/8]>>(i%8)&1 != 0 {
			set = append(set, fmt.Sprint(i))
		}
	}
	return strings.Join(set, ", ")
}

// TestFormatDocument checks the examples of docs/FORMAT.md.
func TestFormatDocument(t *testing.T) {
	doc, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range exampleText(t) {
		if !strings.Contains(string(doc), want) {
			t.Errorf("missing in docs/FORMAT.md: %s", want)
		}
	}
}
