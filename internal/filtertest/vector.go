package filtertest

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Vector is a folder of files that another program has written: a filter, the keys that
// were added to it, and the program's answers, false positives included.
type Vector struct {
	Dir     string
	Keys    [][]byte // added
	Asked   [][]byte
	Answers []string // to Asked

	encoding string // of keys in the files
}

// ReadVector reads the folder dir. params.json says how the program was called and how
// keys are encoded, expected.tsv has the answers.
func ReadVector(t testing.TB, dir string) *Vector {
	t.Helper()
	v := &Vector{Dir: dir}
	var params struct {
		KeyEncoding string `json:"key_encoding"`
	}
	v.JSON(t, &params)
	v.encoding = params.KeyEncoding
	for line := range strings.Lines(string(v.File(t, "keys.txt"))) {
		v.Keys = append(v.Keys, v.Key(t, strings.TrimSuffix(line, "\n")))
	}
	for line := range strings.Lines(string(v.File(t, "expected.tsv"))) {
		key, answer, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: %q", dir, line)
		}
		v.Asked = append(v.Asked, v.Key(t, key))
		v.Answers = append(v.Answers, answer)
	}
	if len(v.Keys) < 200 || len(v.Asked) < 2000 {
		t.Fatalf("%s: %d keys and %d answers", dir, len(v.Keys), len(v.Asked))
	}
	return v
}

// JSON decodes params.json.
func (v *Vector) JSON(t testing.TB, params any) {
	t.Helper()
	if err := json.Unmarshal(v.File(t, "params.json"), params); err != nil {
		t.Fatal(err)
	}
}

// File returns a file of the folder.
func (v *Vector) File(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(v.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Key returns a key as it was added, of its text in a file.
func (v *Vector) Key(t testing.TB, text string) []byte {
	switch v.encoding {
	case "decimal":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(n))
	case "hex":
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return []byte(text)
}
