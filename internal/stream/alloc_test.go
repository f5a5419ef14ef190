package stream

import (
	"strings"
	"testing"

	"seen/internal/stream/keyspec"
)

// Once its buffers have grown, the work on a block allocates nothing: memory
// does not depend on the number of records.
func TestNoAllocationPerRecord(t *testing.T) {
	const line = "one\ttwo, three\tfour\n"
	const few, many = 5_000, 50_000
	for name, o := range map[string]keyspec.Options{
		"lines":  {},
		"fields": {Keys: []string{"2,2"}, Separator: `\t`},
		"csv":    {Keys: []string{"csv:2"}, Separator: `\t`},
		"lower":  {Lower: true},
	} {
		c := Config{Jobs: 1, BlockSize: 10_000, Key: key(t, o)}
		w := NewWriter(new(discard), WriterOptions{})
		keep := make([]bool, c.BlockSize)
		for i := range keep {
			keep[i] = i%3 > 0
		}
		run := func(records int) float64 {
			names := files(t, t.TempDir(), strings.Repeat(line, records))
			return testing.AllocsPerRun(3, func() {
				err := Run(t.Context(), open(t, names, nil), c, func(b *Block) error {
					return w.Write(b, keep[:b.Len()])
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
		if a, b := run(few), run(many); b > a+2 {
			t.Errorf("%s: %v allocations for %d records, %v for %d", name, a, few, b, many)
		}
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
