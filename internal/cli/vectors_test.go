package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestVectors asks the command, with keys in hexadecimal, every question of the golden
// cases of package interop, and expects the answers of the original implementations.
// The list of cases is in testdata/opened.tsv there: folder, file, format, and which
// digit of an answer of several is meant.
func TestVectors(t *testing.T) {
	read := func(names ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{vectorFolder}, names...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for line := range strings.Lines(read("opened.tsv")) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		dir, file, format := c[0], c[1], c[2]
		column, err := strconv.Atoi(c[3])
		if err != nil {
			t.Fatal(err)
		}
		var params struct {
			File     string `json:"filter_file"`
			Encoding string `json:"key_encoding"`
		}
		if err := json.Unmarshal([]byte(read(dir, "params.json")), &params); err != nil {
			t.Fatal(err)
		}
		if file == "" {
			file = params.File
		}
		if strings.HasPrefix(file, "chunk-") {
			file = "" // the folder is the set
		}
		encoding := "hex"
		if params.Encoding == encodingDecimal {
			encoding = encodingDecimal
		}
		var keys, want strings.Builder
		for line := range strings.Lines(read(dir, "expected.tsv")) {
			key, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if params.Encoding == "utf8" {
				key = hex.EncodeToString([]byte(key))
			}
			if key == "" {
				continue // an empty line is not a key
			}
			keys.WriteString(key + "\n")
			want.WriteString(key + "\t" + answerOf(answer, column) + "\n")
		}
		if dir == "pyprobables-cms" {
			format = "pyprobables" // a text could look like a sketch by chance
		}
		args := []string{"check", "--key-encoding", encoding, filepath.Join(vectorFolder, dir, file)}
		if format != "" {
			args = append(args, "--format", format)
		}
		var stdout, stderr bytes.Buffer
		Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(keys.String()), Stdout: &stdout, Stderr: &stderr})
		if stdout.String() != want.String() {
			t.Errorf("%s %s as %q: %d bytes of answers, want %d\n%s", dir, file, format, stdout.Len(), want.Len(), &stderr)
		}
	}
}

// answerOf returns what the command says for an answer of a case: true or false, how
// often a key was added, or a digit for each of several filters.
func answerOf(answer string, column int) string {
	yes := answer == "true"
	if n, err := strconv.Atoi(answer); err == nil {
		if yes = n != 0; len(answer) == 3 && strings.Trim(answer, "01") == "" {
			yes = answer[column] == '1'
		}
	}
	if yes {
		return "maybe"
	}
	return "no"
}
