package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
)

// recipeVector is a golden case: keys, the bits and the answers of the original.
type recipeVector struct {
	config  RecipeConfig
	name    string
	lengths map[string]int64 // of the strings
	keys    [][]byte         // added
	bits    [][2]string      // key of Redis and offset
	asked   [][]byte
	answers []bool
}

func readRecipe(t *testing.T, dir string, c RecipeConfig) *recipeVector {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "interop", "testdata", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	v := &recipeVector{config: c, lengths: map[string]int64{}}
	var params struct {
		Key     string `json:"redis_key"`
		Strings map[string]struct{ Strlen int64 }
	}
	if err := json.Unmarshal([]byte(read("params.json")), &params); err != nil {
		t.Fatal(err)
	}
	v.name = params.Key
	for key, s := range params.Strings {
		v.lengths[key] = s.Strlen
	}
	for line := range strings.Lines(read("keys.txt")) {
		v.keys = append(v.keys, []byte(strings.TrimSuffix(line, "\n")))
	}
	for line := range strings.Lines(read("setbits.tsv")) {
		key, offset, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		v.bits = append(v.bits, [2]string{key, offset})
	}
	for line := range strings.Lines(read("expected.tsv")) {
		key, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		v.asked, v.answers = append(v.asked, []byte(key)), append(v.answers, answer == "true")
	}
	if len(v.lengths) == 0 || len(v.keys) < 300 || len(v.bits) < 1000 || len(v.asked) < 2000 {
		t.Fatalf("%s has %d strings, %d keys, %d bits, %d answers", dir, len(v.lengths), len(v.keys), len(v.bits), len(v.asked))
	}
	return v
}

// prefixed puts the case under a name of its own.
func (v *recipeVector) prefixed(prefix string) *recipeVector {
	p := *v
	p.name, p.lengths, p.bits = prefix+v.name, map[string]int64{}, nil
	for key, n := range v.lengths {
		p.lengths[prefix+key] = n
	}
	for _, b := range v.bits {
		p.bits = append(p.bits, [2]string{prefix + b[0], b[1]})
	}
	return &p
}

func (v *recipeVector) remove(t *testing.T, client rueidis.Client) {
	t.Helper()
	for key := range v.lengths {
		if err := client.Do(t.Context(), client.B().Del().Key(key).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// demand compares the strings with those of the original, and the answers.
func (v *recipeVector) demand(t *testing.T, client rueidis.Client, f *RecipeFilter) {
	t.Helper()
	ones := int64(0)
	for key, want := range v.lengths {
		for i, r := range client.DoMulti(t.Context(), client.B().Strlen().Key(key).Build(), client.B().Bitcount().Key(key).Build()) {
			n, err := r.AsInt64()
			switch {
			case err != nil:
				t.Fatal(err)
			case i == 0 && n != want:
				t.Errorf("%s has %d bytes; want %d", key, n, want)
			case i == 1:
				ones += n
			}
		}
	}
	if ones != int64(len(v.bits)) {
		t.Errorf("%d bits are set; want %d", ones, len(v.bits))
	}
	var commands []rueidis.Completed
	for _, b := range v.bits {
		offset, err := strconv.ParseInt(b[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, client.B().Getbit().Key(b[0]).Offset(offset).Build())
	}
	for i, r := range client.DoMulti(t.Context(), commands...) {
		if n, err := r.AsInt64(); err != nil || n != 1 {
			t.Fatalf("bit %v: %d, %v", v.bits[i], n, err)
		}
	}
	got, err := f.Has(t.Context(), v.asked...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range v.answers {
		if got[i] != want {
			t.Errorf("key %q: %v; want %v", v.asked[i], got[i], want)
		}
	}
}

// Filters of the recipes are made bit for bit as the originals were, and those that
// the originals made are gone on with.
func TestRecipeVectors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dir     string
		config  RecipeConfig
		engines int // those with half a gigabyte only on the first
	}{
		{"recipe-py-redis-md5-2p10", RecipeConfig{Blocks: 2, Bits: 10}, 2},
		{"recipe-py-redis-md5-2p31", RecipeConfig{Recipe: RecipeMD5, Blocks: 2}, 1},
		{"recipe-py-scrapy-2p13", RecipeConfig{Recipe: RecipeScrapy, Bits: 13}, 2},
	} {
		vector := readRecipe(t, test.dir, test.config)
		for _, e := range engines[:test.engines] {
			t.Run(test.dir+" "+e.name, func(t *testing.T) {
				client := e.dial(t)
				c := test.config
				c.MustExist = true
				v := vector.prefixed("ours:")
				if _, err := OpenRecipe(t.Context(), client, v.name, c); !errors.Is(err, ErrNotFound) {
					t.Errorf("what must exist and does not: %v", err)
				}
				defer v.remove(t, client)
				f, err := OpenRecipe(t.Context(), client, v.name, test.config)
				if err != nil {
					t.Fatal(err)
				}
				set := map[string]bool{}
				for from := 0; from < len(v.keys); from += 100 {
					batch := v.keys[from:min(from+100, len(v.keys))]
					added, err := f.Add(t.Context(), batch...)
					if err != nil {
						t.Fatal(err)
					}
					for i, key := range batch {
						want := false
						block, offsets := f.positions(nil, key)
						for _, o := range offsets {
							bit := fmt.Sprint(block, " ", o)
							want = want || !set[bit]
							set[bit] = true
						}
						if added[i] != want {
							t.Errorf("key %q: new %v, want %v", key, added[i], want)
						}
					}
				}
				v.demand(t, client, f)
				v.remove(t, client) // half a gigabyte

				v = vector.prefixed("theirs:")
				defer v.remove(t, client)
				for _, b := range v.bits {
					cmd := client.B().Arbitrary("SETBIT").Keys(b[0]).Args(b[1], "1").Build()
					if err := client.Do(t.Context(), cmd).Error(); err != nil {
						t.Fatal(err)
					}
				}
				f, err = OpenRecipe(t.Context(), client, v.name, c)
				if err != nil {
					t.Fatal(err)
				}
				v.demand(t, client, f)
				if added, err := f.Add(t.Context(), v.keys...); err != nil || trues(added) != 0 {
					t.Errorf("%d of the original's keys are new, %v", trues(added), err)
				}
			})
		}
	}
}

// Of clients that add the same keys at the same time exactly one is told of each
// that it is new.
func TestRecipeConcurrent(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		n := name(t)
		const total = 2000
		var told [total]atomic.Int32
		var group sync.WaitGroup
		ks := keys(0, total)
		for range 8 {
			group.Go(func() {
				f, err := OpenRecipe(t.Context(), client, n, RecipeConfig{Bits: 20, Blocks: 3})
				if err != nil {
					t.Error(err)
					return
				}
				for from := 0; from < total; from += 250 {
					added, err := f.Add(t.Context(), ks[from:from+250]...)
					if err != nil {
						t.Error(err)
						return
					}
					for i, isNew := range added {
						if isNew {
							told[from+i].Add(1)
						}
					}
				}
			})
		}
		group.Wait()
		missed := 0
		for i := range told {
			switch told[i].Load() {
			case 0:
				missed++
			case 1:
			default:
				t.Errorf("key %d was new %d times", i, told[i].Load())
			}
		}
		// 7 of 2^20 bits each, in three strings: a false positive is far away.
		if missed > 0 {
			t.Errorf("%d keys were new for no client", missed)
		}
	})
}

// What is in the way or was made otherwise is an error.
func TestRecipeRefused(t *testing.T) {
	client := engines[0].dial(t)
	ctx, n := t.Context(), name(t)
	for _, bad := range []RecipeConfig{{Recipe: "sha1"}, {Bits: 40}, {Blocks: -1}, {Hashes: 3}, {Recipe: RecipeScrapy, Blocks: 2}, {Recipe: RecipeScrapy, Hashes: -2}} {
		if _, err := OpenRecipe(ctx, client, n, bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := OpenRecipe(ctx, client, "", RecipeConfig{}); err == nil {
		t.Error("an empty name is accepted")
	}
	f, err := OpenRecipe(ctx, client, n, RecipeConfig{Bits: 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add(ctx, keys(0, 100)...); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecipe(ctx, client, n, RecipeConfig{Bits: 16}); !isA[*ParameterError](err) {
		t.Errorf("a string longer than its offsets: %v", err)
	}
	set := client.B().Arbitrary("SADD").Keys(n + "1").Args("x").Build()
	if err := client.Do(ctx, set).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecipe(ctx, client, n, RecipeConfig{Bits: 20, Blocks: 2}); !isA[*NotFilterError](err) {
		t.Errorf("a set in the way of opening: %v", err)
	}
	for _, cmd := range []rueidis.Completed{client.B().Del().Key(n + "0").Build(), client.B().Arbitrary("SADD").Keys(n + "0").Args("x").Build()} {
		if err := client.Do(ctx, cmd).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for what, ask := range map[string]func() ([]bool, error){
		"Add": func() ([]bool, error) { return f.Add(ctx, keys(0, 3)...) },
		"Has": func() ([]bool, error) { return f.Has(ctx, keys(0, 3)...) },
	} {
		var u *UndecidedError
		if _, err := ask(); !errors.As(err, &u) || len(u.Keys) != 3 || !isA[*NotFilterError](err) {
			t.Errorf("%s with a set in the way: %v", what, err)
		}
	}
}
