package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The view fits on its screen, whatever the keys are, and sends nothing to the terminal
// but text.
func TestTopView(t *testing.T) {
	one := uint64(1)
	report := &topReport{Distinct: &one, Lines: 3, Exact: true}
	for _, key := range []string{"plain", "\x1b]0;title\a", "a\r\nb", strings.Repeat("äö", 200), "\xff\xfe", ""} {
		report.Keys = append(report.Keys, topEntry{Count: 7, printed: []byte(key)})
	}
	for _, size := range [][2]int{{80, 24}, {20, 4}, {5, 1}, {0, 0}} {
		width, height := size[0], size[1]
		view, ok := strings.CutPrefix(report.view(width, height), eraseScreen)
		if !ok {
			t.Fatalf("the view does not begin with an erased screen: %q", view)
		}
		lines := strings.Split(view, "\r\n")
		if len(lines) > max(1, height) {
			t.Errorf("%d lines on a screen of %d", len(lines), height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width || strings.ContainsAny(line, "\x1b\a\r\n") {
				t.Errorf("line %q of %d columns on a screen of %d", line, n, width)
			}
		}
	}
	if view := report.view(80, 24); !strings.Contains(view, "1 distinct of 3 lines, exact\r\n      7 plain\r\n") {
		t.Errorf("the view is %q", view)
	}
}
