package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/redistest"
)

// TestLiveStrings asks filters in strings of a running engine, put there as
// their own programs do.
func TestLiveStrings(t *testing.T) {
	server := redistest.NewServer(t)
	set := func(args ...string) {
		t.Helper()
		if _, err := server.Do(args...); err != nil {
			t.Fatal(err)
		}
	}
	vectors := filepath.Join("..", "..", "interop", "testdata")
	filter, err := os.ReadFile(filepath.Join(vectors, "redisson-bloom-string", "filter.bin"))
	if err != nil {
		t.Fatal(err)
	}
	set("SET", "myfilter", string(filter))
	set("HSET", "{myfilter}:config", "size", "2189", "hashIterations", "5")
	set("SET", "my{tag}", string(filter))
	set("HSET", "my{tag}:config", "size", "2189", "hashIterations", "5")
	set("SET", "bare", string(filter))
	set("LPUSH", "list", "x")

	run := func(stdin string, args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr})
		return code, stdout.String(), stderr.String()
	}
	at := func(name string) string { return "redis://" + server.Addr() + "/" + url.PathEscape(name) }
	expected, err := os.ReadFile(filepath.Join(vectors, "redisson-bloom-string", "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var keys, want strings.Builder
	for line := range strings.Lines(string(expected)) {
		key, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if key == "" {
			continue // an empty line is not a key to the command
		}
		fmt.Fprintln(&keys, key)
		fmt.Fprintf(&want, "%s\t%s\n", key, map[string]string{"true": "maybe", "false": "no"}[answer])
	}
	for name, format := range map[string]string{"myfilter": "redisson", "my{tag}": "redisson", "bare": "redisson:m=2189,k=5"} {
		_, got, stderr := run(keys.String(), "check", "--format", format, at(name))
		if got != want.String() {
			t.Errorf("%s: %d bytes of answers, want %d\n%s", name, len(got), want.Len(), stderr)
		}
	}
	if code, out, stderr := run("", "info", "--format", "redisson", at("myfilter")); code != 0 || !strings.Contains(out, "2,189") && !strings.Contains(out, "2189") {
		t.Errorf("info: exit code %d\n%s%s", code, out, stderr)
	}
	set("SETBIT", "large", "40000000", "1") // read in two pieces
	if code, out, stderr := run("", "info", "--json", "--format", "java-bitset:bits=67108864", at("large")); code != 0 || !strings.Contains(out, "5000001") {
		t.Errorf("info: exit code %d\n%s%s", code, out, stderr)
	}
	for _, c := range []struct{ name, format, want string }{
		{"nosuch", "java-bitset:bits=4096", "string \"nosuch\""},
		{"nosuch", "redisson", "size and hashIterations"},
		{"bare", "redisson", "size and hashIterations"},
		{"list", "java-bitset:bits=4096", "WRONGTYPE"},
		{"myfilter", "redis-recipe:type=md5,bits=x", "bits=x"},
		{"", "redisson", "name of the filter is missing"},
	} {
		code, out, stderr := run("", "check", "--format", c.format, at(c.name), "key")
		if code != ExitError || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s as %s: exit code %d, %q, %q; want %q", c.name, c.format, code, out, stderr, c.want)
		}
	}
	if code, _, stderr := run("", "check", at("myfilter"), "key"); code != ExitError || !strings.Contains(stderr, "--format") {
		t.Errorf("without a format: exit code %d, %q", code, stderr)
	}
	for _, command := range [][]string{{"explain", at("myfilter"), "key"}, {"info", at("myfilter")}} {
		if code, out, stderr := run("", command...); code != ExitError || out != "" || !strings.Contains(stderr, "cannot be used as a filter") || !strings.Contains(stderr, "--format") {
			t.Errorf("%s: exit code %d, %q, %q", command[0], code, out, stderr)
		}
	}
	testLiveLogin(t, server, run, at("myfilter"))
}

// testLiveLogin asks the filter of Redisson at address when its engine wants a password.
func testLiveLogin(t *testing.T, server *redistest.Server, run func(stdin string, args ...string) (int, string, string), address string) {
	if _, err := server.Do("CONFIG", "SET", "requirepass", "x"); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"check", "--format", "redisson", address, "key"},
		{"filter", "-v", "--format", "redisson", "--set", address},
		{"info", "--format", "redisson", address},
		{"convert", "--format", "redisson", "--to", "redisson", address, filepath.Join(t.TempDir(), "out")},
	} {
		if code, _, stderr := run("key\n", command...); code != ExitError || !strings.Contains(stderr, "a password is required; give it with --password-file") {
			t.Errorf("%s without a password: exit code %d, %q", command[0], code, stderr)
		}
		if code, _, stderr := run("key\n", append(command, "--password-file", password)...); code > ExitNo || strings.Contains(stderr, "password") {
			t.Errorf("%s with a password: exit code %d, %q", command[0], code, stderr)
		}
	}
	for _, command := range [][]string{{"check", password, "key"}, {"filter", "--set", password}, {"convert", "--to", "redisson", password, "out"}} {
		if code, _, stderr := run("", append(command, "--password-file", password)...); code != ExitError || !strings.Contains(stderr, "--password-file needs --redis") {
			t.Errorf("%s of a file: exit code %d, %q", command[0], code, stderr)
		}
	}
}

// TestLiveRecipe asks a filter of the recipe md5 whose blocks are strings of their own,
// of which one is not there and one has one bit.
func TestLiveRecipe(t *testing.T) {
	server := redistest.NewServer(t)
	// All bits of block 0, none of block 1, and the highest bit of block 2.
	if _, err := server.Do("SET", "crawl0", strings.Repeat("\xff", 128)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Do("SETBIT", "crawl2", "1023", "1"); err != nil {
		t.Fatal(err)
	}
	args := []string{"check", "--format", "redis-recipe:type=md5,bits=10,blocks=3", "redis://" + server.Addr() + "/crawl"}
	const n = 300
	for i := range n {
		args = append(args, fmt.Sprint("https://example.org/", i))
	}
	var stdout, stderr bytes.Buffer
	if code := Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}); code > ExitNo {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	// A third of the keys belongs to the block whose bits are all set.
	if yes := strings.Count(stdout.String(), "\tmaybe\n"); yes < n/6 || yes > n/2 || strings.Count(stdout.String(), "\n") != n {
		t.Errorf("%d of %d keys are found", yes, n)
	}
}
