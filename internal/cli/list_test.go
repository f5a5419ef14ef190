package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/redistest"
)

// A client that is sent to the port of HTTP says so.
func TestListOverHTTP(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	text, code := seenOutput(t, "list", "--server", strings.TrimPrefix(web.URL, "http://"))
	if code != ExitError || !strings.Contains(text, "the server answers in HTTP; --server is the address of the Redis protocol") {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// The list has what the server says about each filter that the user may read, and the
// names of the others.
func TestList(t *testing.T) {
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	list := func(args ...string) string {
		t.Helper()
		text, code := seenOutput(t, append([]string{"list", "--server", s.Addr}, args...)...)
		if code != ExitOK {
			t.Fatalf("list %q: exit code %d\n%s", args, code, text)
		}
		return text
	}
	if text := list(); text != "seen list: there are no filters\n" {
		t.Errorf("an empty server: %q", text)
	}
	s.Expect("+OK", "BF.RESERVE", "full", "0.01", "2", "NONSCALING")
	s.Expect("[:1, :1]", "BF.MADD", "full", "a", "b")
	s.Expect("+OK", "BF.RESERVE", "crawl:urls", "0.001", "1000")
	s.Expect(":1", "BF.ADD", "crawl:urls", "x")
	s.Expect("+OK", "BF.WINDOW", "a\nb", "0.01", "1000", "1h")
	s.Expect("+OK", "CMS.INITBYDIM", "counts", "100", "5")
	lines := strings.Split(strings.TrimSpace(list()), "\n")
	for i, want := range []string{
		"name type keys used fill error rate asked for memory full in", `"a\nb" bloom window 0 `, "counts countmin 0 - - - - ", "crawl:urls bloom 1 0.1 % ", "full bloom 2 100 % ",
	} {
		if i >= len(lines) || !strings.HasPrefix(strings.Join(strings.Fields(lines[i]), " "), want) {
			t.Errorf("line %d of %q, want %q", i, lines, want)
		}
	}
	if !strings.HasSuffix(lines[4], " full") {
		t.Errorf("%q does not say that the filter is full", lines[4])
	}
	if text := list("crawl:*"); strings.Count(text, "\n") != 2 || !strings.Contains(text, "crawl:urls") {
		t.Errorf("a pattern: %q", text)
	}
	if text := list("none*"); text != `seen list: there are no filters whose names match "none*"`+"\n" {
		t.Errorf("a pattern that nothing matches: %q", text)
	}
	for line := range strings.Lines(list("--json", "full")) {
		var f struct {
			Name, Type string
			Keys       int
			Rate       float64 `json:"error_rate"`
			Asked      float64 `json:"asked_error_rate"`
			Fill       float64
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Name != "full" || f.Type != "bloom" || f.Keys != 2 || f.Asked != 0.01 || f.Rate <= 0 || f.Fill <= 0 {
			t.Errorf("%s: %+v, %v", line, f, err)
		}
	}
	// More names than fit into one page, some of which the user may not read.
	for i := range 250 {
		s.Expect(":1", "BF.ADD", fmt.Sprint("many:", i), "x")
	}
	if n := strings.Count(list("many:*"), "\n"); n != 251 {
		t.Errorf("%d lines for 250 filters", n)
	}
	s.Expect("+OK", "ACL", "SETUSER", "ann", "on", ">one", "%R~crawl:*", "+@read")
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(list("--user", "ann", "--password-file", password)), " ")
	if !strings.Contains(text, "crawl:urls bloom 1 ") || !strings.Contains(text, "counts - - - - ") {
		t.Errorf("what ann may see: %q", text)
	}
}

// An address without a server is an error that names it; a host needs no port.
func TestListWithoutAServer(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:1":      "no server can be reached at 127.0.0.1:1: connect: connection refused; give the address of a seen serve with --server",
		"unix:/none/there": "no server can be reached at unix:/none/there: ",
		"none.invalid":     "no server can be reached at none.invalid: ",
	} {
		if text, code := seenOutput(t, "list", "--server", address); code != ExitError || !strings.Contains(text, want) || strings.Contains(text, "missing port") {
			t.Errorf("%s: exit code %d\n%s", address, code, text)
		}
	}
}

// Another server than seen's is named as the reason.
func TestListOfAnotherServer(t *testing.T) {
	s := redistest.NewServer(t)
	if _, err := s.Do("SET", "a", "b"); err != nil {
		t.Fatal(err)
	}
	if text, code := seenOutput(t, "list", "--server", s.Addr()); code != ExitError || !strings.Contains(text, "it is not a seen serve of this version") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
