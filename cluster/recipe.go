package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"seen/internal/recipe"
)

// The recipes of crawlers that OpenRecipe knows.
const (
	// RecipeMD5 is seven polynomial hashes over the MD5 of a key, in the strings
	// NAME0, NAME1 and so on.
	RecipeMD5 = "md5"
	// RecipeScrapy is polynomial hashes over the key itself, in the string NAME.
	RecipeScrapy = "scrapy"
)

// RecipeConfig says how the other programs that use a filter set its bits. The engine does
// not know it, so a wrong value makes wrong answers. The zero value of a number means
// the published recipe.
type RecipeConfig struct {
	// Recipe is RecipeMD5, also if empty, or RecipeScrapy.
	Recipe string
	// Bits is the width of an offset: 31 as published, or 30 of RecipeScrapy.
	Bits int
	// Blocks is the number of strings of RecipeMD5: 1 as published.
	Blocks int
	// Hashes is the number of hashes of RecipeScrapy: 6 as published.
	Hashes int
	// MustExist makes OpenRecipe fail with [ErrNotFound] if the filter has no string, so
	// that a misspelt name does not silently begin a new crawl.
	MustExist bool
	// Wait is for this client only.
	Wait Wait
}

// RecipeFilter is a filter that crawlers keep in Redis strings by a recipe of their own.
// It sets the same bits, so their programs can go on using it. It is safe for concurrent
// use by any number of goroutines and processes.
//
// It has the limits of the recipe, which [Filter] does not have. The engine has no
// parameters and no capacity. A string that was evicted or deleted reads as an empty
// filter. A string takes the memory up to its highest bit at once, 256 MiB with offsets of
// 31 bits.
//
// Published versions always answer for the empty key that it was never seen. Here it is a
// key like any other, with the bits that they set for it.
type RecipeFilter struct {
	client    rueidis.Client
	wait      *core // waits for replicas; nil if the caller does not wait
	positions func(dst []uint64, key []byte) (block int, offsets []uint64)
	strings   []string
}

// OpenRecipe opens the filter of the given name, which was made as c says. It creates
// nothing: the first key that is added makes the string. A key that is not a string is a
// [NotFilterError], a string longer than Bits allows a [ParameterError]. Reading needs
// Redis 6 or Valkey. The caller closes client.
func OpenRecipe(ctx context.Context, client rueidis.Client, name string, c RecipeConfig) (*RecipeFilter, error) {
	f := &RecipeFilter{client: client}
	switch {
	case c.Wait.Replicas < 0 || c.Wait.Timeout < 0:
		return nil, fmt.Errorf("waiting for %d replicas and %v; neither may be below 0", c.Wait.Replicas, c.Wait.Timeout)
	case c.Wait.Replicas > 0:
		f.wait = &core{client: client, wait: c.Wait, touch: touchString}
	}
	var bits int
	switch c.Recipe {
	case RecipeMD5, "":
		r := recipe.MD5{Blocks: c.Blocks, Bits: c.Bits}
		if err := r.Check(); err != nil {
			return nil, err
		}
		if c.Hashes != 0 {
			return nil, fmt.Errorf("%d hashes in the recipe %s, which always has seven", c.Hashes, RecipeMD5)
		}
		f.positions = r.Positions
		for i := range max(c.Blocks, 1) {
			f.strings = append(f.strings, name+strconv.Itoa(i))
		}
		bits = cmp.Or(c.Bits, recipe.MD5Bits)
	case RecipeScrapy:
		r := recipe.Scrapy{Bits: c.Bits, Hashes: c.Hashes}
		if err := r.Check(); err != nil {
			return nil, err
		}
		if c.Blocks != 0 {
			return nil, fmt.Errorf("%d blocks in the recipe %s, which has one string", c.Blocks, RecipeScrapy)
		}
		f.positions = r.Positions
		f.strings = []string{name}
		bits = cmp.Or(c.Bits, recipe.ScrapyBits)
	default:
		return nil, fmt.Errorf("there is no recipe %q; %s and %s are known", c.Recipe, RecipeMD5, RecipeScrapy)
	}
	if name == "" {
		return nil, errors.New("a filter needs a name")
	}
	return f, f.check(ctx, bits, c.MustExist)
}

// check looks at the strings.
func (f *RecipeFilter) check(ctx context.Context, bits int, mustExist bool) error {
	var lengths []rueidis.Completed
	for _, s := range f.strings {
		lengths = append(lengths, f.client.B().Strlen().Key(s).Build())
	}
	limit, there := max(1, int64(1)<<bits/8), false
	for i, r := range f.client.DoMulti(ctx, lengths...) {
		n, err := r.AsInt64()
		if err != nil {
			return explain(f.strings[i], err)
		}
		if n > limit {
			return &ParameterError{
				Filter: f.strings[i], Parameter: "Bits",
				Have: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("the at most %d bytes that offsets of %d bits reach", limit, bits),
			}
		}
		there = there || n > 0
	}
	if mustExist && !there {
		return fmt.Errorf("key %q: %w", f.strings[0], ErrNotFound)
	}
	return nil
}

// Add adds keys and reports for each whether it was certainly not there before: one of its
// bits was not set. If several clients add one new key at the same time with this method,
// exactly one is told true, and of equal keys in one call only one. The original programs
// ask and then set, and may miss keys that others add meanwhile.
//
// If the error is an [UndecidedError], it names the keys without an answer; the answers of
// the others are valid. A call costs one round trip to each node for each 1024 keys.
func (f *RecipeFilter) Add(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return f.ask(ctx, keys, true)
}

// Has reports for each key whether it may have been added. False is certain unless the
// engine has lost data; true is wrong with the error rate of the recipe. Errors are those
// of [RecipeFilter.Add]; nothing is changed.
func (f *RecipeFilter) Has(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return f.ask(ctx, keys, false)
}

// recipeKeys is the most keys of one command, so that none keeps an engine busy for
// long.
const recipeKeys = 64

func (f *RecipeFilter) ask(ctx context.Context, keys [][]byte, write bool) ([]bool, error) {
	answers := make([]bool, len(keys))
	var failures failures
	for from := 0; from < len(keys); from += batchKeys {
		parts := f.parts(keys, from, min(from+batchKeys, len(keys)), write, answers)
		exchange(ctx, f.client, slices.Clone(parts), write, explain, &failures)
		if write && f.wait != nil {
			f.confirm(ctx, parts, answers, &failures)
		}
	}
	return answers, failures.err()
}

// confirm waits until replicas have the new keys of parts, and makes undecided those
// that they do not confirm.
func (f *RecipeFilter) confirm(ctx context.Context, parts []*part, answers []bool, failed *failures) {
	isNew := func(i int) bool { return answers[i] }
	var written []*part
	var names []string
	for _, p := range parts {
		if slices.ContainsFunc(p.keys, isNew) {
			written, names = append(written, p), append(names, p.key)
		}
	}
	if len(written) == 0 {
		return
	}
	for at, err := range f.wait.replicated(ctx, names, f.wait.wait.Replicas) {
		if err == nil {
			continue
		}
		failed.maybe = true
		for _, i := range written[at].keys {
			if answers[i] {
				failed.undecided([]int{i}, err)
				answers[i] = false
			}
		}
	}
}

// touchString is a write that changes nothing of a string that is there.
func touchString(b rueidis.Builder, key string) rueidis.Completed {
	return b.Append().Key(key).Value("").Build()
}

// recipePart is a part whose keys have their bits in the same string.
type recipePart struct {
	part
	bits []uint64 // offsets, as many for each key
}

// parts cuts keys[from:to] into what one command each asks for.
func (f *RecipeFilter) parts(keys [][]byte, from, to int, write bool, answers []bool) []*part {
	var all []*part
	open := make([]*recipePart, len(f.strings))
	for i := from; i < to; i++ {
		var room [32]uint64
		block, offsets := f.positions(room[:0], keys[i])
		p := open[block]
		if p == nil {
			p = &recipePart{part: part{key: f.strings[block]}}
			p.commands = func() []rueidis.Completed { return []rueidis.Completed{f.command(p, write)} }
			p.decide = func(results []rueidis.RedisResult) error { return p.answer(results[0], write, answers) }
			open[block], all = p, append(all, &p.part)
		}
		p.keys, p.bits = append(p.keys, i), append(p.bits, offsets...)
		if len(p.keys) == recipeKeys {
			open[block] = nil
		}
	}
	return all
}

// command sets the bits of a part and returns the old ones, or only returns them.
func (f *RecipeFilter) command(p *recipePart, write bool) rueidis.Completed {
	if !write {
		cmd := f.client.B().Arbitrary("BITFIELD_RO").Keys(p.key)
		for _, bit := range p.bits {
			cmd = cmd.Args("GET", "u1", strconv.FormatUint(bit, 10))
		}
		return cmd.ReadOnly()
	}
	cmd := f.client.B().Arbitrary("BITFIELD").Keys(p.key)
	for _, bit := range p.bits {
		cmd = cmd.Args("SET", "u1", strconv.FormatUint(bit, 10), "1")
	}
	return cmd.Build()
}

// answer says of each key whether all its bits were set, or whether one was not.
func (p *recipePart) answer(r rueidis.RedisResult, write bool, answers []bool) error {
	old, err := r.AsIntSlice()
	if err != nil {
		return err
	}
	if len(old) != len(p.bits) {
		return fmt.Errorf("%d answers for %d bits", len(old), len(p.bits))
	}
	each := len(p.bits) / len(p.keys)
	for k, i := range p.keys {
		hasAll := !slices.Contains(old[k*each:(k+1)*each], 0)
		answers[i] = hasAll != write
	}
	return nil
}
