package cli

import (
	"bytes"
	"context"
	stdflag "flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// output runs the command and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, messages bytes.Buffer
	if code := Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages}); code != ExitOK {
		t.Fatalf("seen %s: exit code %d: %s", strings.Join(args, " "), code, &messages)
	}
	return out.String()
}

var updateManual = stdflag.Bool("update", false, "write the manual pages in docs/man anew")

// The pages in the tree, which the command has in itself, say what its help says.
func TestManualIsCurrent(t *testing.T) {
	const kept = "../../docs/man"
	made, err := manPages()
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob(filepath.Join(kept, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	if *updateManual {
		for name, page := range made {
			if err := os.WriteFile(filepath.Join(kept, name), page, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range there {
		if made[filepath.Base(path)] != nil {
			continue
		}
		if !*updateManual {
			t.Errorf("%s is a page too many; run: go generate ./internal/cli", path)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range made {
		if is, err := os.ReadFile(filepath.Join(kept, name)); err != nil || !bytes.Equal(is, want) {
			t.Errorf("docs/man/%s is not what the help says (%v); run: go generate ./internal/cli", name, err)
		}
	}
	if *updateManual {
		return // the command of this test was built with the pages as they were
	}
	dir := t.TempDir()
	output(t, "man", dir)
	for name, want := range made {
		if is, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(is, want) {
			t.Errorf("seen man does not write %s as it is (%v)", name, err)
		}
	}
	if page := output(t, "man"); page != string(made["seen.1"]) {
		t.Errorf("seen man prints %q", page)
	}
}

// No page has a date or is without a part that readers look for.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	output(t, "man", dir)
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if len(pages) < 10 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, p := range pages {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		page, name := string(b), filepath.Base(p)
		for _, want := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLE", ".SH SEE ALSO"} {
			if strings.Count(page, want+"\n") != 1 {
				t.Errorf("%s has %d times %q", name, strings.Count(page, want+"\n"), want)
			}
		}
		for _, unwanted := range []string{"2000", "Auto generated", `\fP=`, `\fP[=false]`, "`"} {
			if strings.Contains(page, unwanted) {
				t.Errorf("%s has %q", name, unwanted)
			}
		}
	}
	uniq, err := os.ReadFile(filepath.Join(dir, "seen-uniq.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".TP\n" + `\fB-m\fP, \fB--memory\fP \fISIZE\fP` + "\n",
		".TP\n" + `\fB--exact\fP` + "\n",
		".TP\n" + `\fB-o\fP, \fB--output\fP \fIFILE\fP` + "\n",
		".TP\n" + `\fB--stats\fP[=\fItext|json\fP]` + "\n",
		" (default 512MiB)\n",
	} {
		if !strings.Contains(string(uniq), want) {
			t.Errorf("seen-uniq.1 has no %q", want)
		}
	}
}

// helpFlag matches a flag that takes a value in the help: its name, what its
// value is called, and whether that may be left out.
var helpFlag = regexp.MustCompile(`(?m)^ +(?:-., )?--([a-z-]+) ([A-Z]+)(\[=)?`)

// Shells complete file names where a file is meant, the words of fixed choices,
// and nothing after other flags.
func TestCompletion(t *testing.T) {
	files := []string{"FILE", "SET", "OUT", "SOCKET"}
	complete := func(args ...string) (words []string, directive string) {
		lines := strings.Split(strings.TrimSpace(output(t, append([]string{"__complete"}, args...)...)), "\n")
		return lines[:len(lines)-1], lines[len(lines)-1]
	}
	seen := 0
	for _, cmd := range (&app{ctx: context.Background()}).command().Commands() {
		command := cmd.Name()
		for _, f := range helpFlag.FindAllStringSubmatch(output(t, command, "--help"), -1) {
			seen++
			flag, value := f[1], f[2]
			args := []string{command, "--" + flag, ""}
			if f[3] != "" { // the value is optional
				args = []string{command, "--" + flag + "="}
			}
			words, directive := complete(args...)
			want := ":4" // nothing
			switch {
			case flag == "plot":
				want = ":8" // files with an extension
			case slices.Contains(files, value):
				want = ":0" // files
			case value == "DIR":
				want = ":16" // folders
			}
			if directive != want {
				t.Errorf("seen %s --%s %s: completion ends with %s, want %s", command, flag, value, directive, want)
			}
			if (value == "WORD" || value == "TYPES") && len(words) < 2 {
				t.Errorf("seen %s --%s %s: completion has the words %q", command, flag, value, words)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d flags with a value were found in the help", seen)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"uniq", ""}, ":0"}, {[]string{"plan", ""}, ":4"}, {[]string{"man", ""}, ":16"},
		{[]string{"compare", "a", ""}, ":0"}, {[]string{"compare", "a", "b", ""}, ":4"},
	} {
		if _, directive := complete(c.args...); directive != c.want {
			t.Errorf("seen %q: completion ends with %s, want %s", c.args, directive, c.want)
		}
	}
	if words, _ := complete("uniq", "--on-full", ""); !slices.Equal(words, []string{"spill", "grow", "stop", "warn", "rotate"}) {
		t.Errorf("--on-full is completed with %q", words)
	}
	if words, _ := complete("co"); len(words) != 4 || !strings.HasPrefix(words[0], "count\t") {
		t.Errorf("co is completed with %q", words)
	}
}
