package stream

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// A run without keys has the records of the run with keys, and no hashes.
func TestKeylessHasTheSameRecords(t *testing.T) {
	keys := map[string]keyspec.Options{
		"whole lines": {},
		"fields":      {Keys: []string{"2,2"}, Missing: keyspec.MissingMark},
		"csv":         {Keys: []string{"csv:2"}, Missing: keyspec.MissingMark},
		"csv header":  {Keys: []string{"csv:a"}, Missing: keyspec.MissingMark},
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"whole lines", "fields", "csv", "csv header"}).Draw(t, "key")
		key, err := keyspec.Compile(keys[name])
		if err != nil {
			t.Fatal(err)
		}
		c := Config{
			Key: key, Jobs: rapid.IntRange(1, 3).Draw(t, "jobs"), BlockSize: rapid.IntRange(1, 50).Draw(t, "block"),
			CRLF: rapid.Bool().Draw(t, "crlf"),
		}
		content := []byte(rapid.StringOfN(rapid.SampledFrom([]rune("ab\",\n\n \r")), 0, 100, -1).Draw(t, "content"))
		if name == "csv header" {
			content = append([]byte("a,b\n"), content...)
		}
		if rapid.Bool().Draw(t, "mark") {
			content = append(bytes.Clone(utf8Mark), content...)
		}
		records := func() (all []string, err error) {
			in, err := input.Open(nil, input.Options{Stdin: bytes.NewReader(content)})
			if err != nil {
				t.Fatal(err)
			}
			c.Counters = new(Counters)
			err = Run(context.Background(), in, c, func(b *Block) error {
				if c.Keyless && (b.Hashes != nil || b.Times != nil || len(b.Missing) > 0) {
					t.Fatalf("a block has hashes %v, times %v, missing %v", b.Hashes, b.Times, b.Missing)
				}
				for i := range b.Len() {
					line := string(b.Line(i))
					if b.Header {
						line = "header " + line
					}
					all = append(all, line)
				}
				return nil
			})
			return all, err
		}
		want, wantErr := records()
		c.Keyless = true
		got, err := records()
		if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%q, %v; with keys %q, %v", got, err, want, wantErr)
		}
		if c.Counters.Missing.Load() != 0 {
			t.Fatal("records without a key were counted")
		}
	})
}
