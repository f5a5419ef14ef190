package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"seen/interop"
)

// TestBuildRepeats builds a filter of every type and format from keys of which one comes
// several times: once with -n, which adds the keys as they come, and once without, which
// counts them first. Both must be the same file.
func TestBuildRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many combinations")
	}
	options := [][]string{}
	for _, kind := range []string{"blocked", "classic", "partitioned", "counting"} {
		options = append(options, []string{"--type", kind})
	}
	options = append(options, []string{"--type", "counting", "--counter-bits", "8"}, []string{"--type", "counting", "--counter-bits", "16"})
	add := func(s interop.Spec) { options = append(options, []string{"--format", s.String()}) }
	for _, format := range interop.Formats() {
		if !format.Write {
			continue
		}
		s := interop.Spec{Name: format.Name, Params: map[string]string{}}
		for _, p := range format.Params {
			if p.Required {
				s.Params[p.Name] = p.Values[0]
			}
		}
		switch format.Name {
		case "parquet":
			s.Params["type"] = "int64"
		case "pyprobables":
			for _, class := range []string{"bloom", "counting", "expanding", "countmin"} {
				s.Params["type"] = class
				add(s)
			}
			continue
		case "redis-recipe":
			s.Params["bits"] = "12"
		}
		add(s)
	}
	for _, input := range []string{"1\n1\n1\n2\n", "7\n8\n7\n9\n8\n7\n", "5\n"} {
		for _, o := range options {
			dir := t.TempDir()
			counted, direct := filepath.Join(dir, "counted"), filepath.Join(dir, "direct")
			distinct := map[string]string{"1\n1\n1\n2\n": "2", "7\n8\n7\n9\n8\n7\n": "3", "5\n": "1"}[input]
			if !strings.Contains(strings.Join(o, " "), "--format") {
				distinct = strconv.Itoa(leastRoom)
			}
			for _, args := range [][]string{{"build", "-q", "-o", counted}, {"build", "-q", "-o", direct, "-n", distinct}} {
				if code, _, stderr := run(input, append(args, o...)...); code != ExitOK {
					t.Fatalf("%v: exit code %d, %s", o, code, stderr)
				}
			}
			a, err := os.ReadFile(counted)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(direct)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Errorf("%v of %q: without -n %x, with it %x", o, input, a, b)
			}
		}
	}
}
