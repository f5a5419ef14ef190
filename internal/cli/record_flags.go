package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/internal/keyhash"
	"seen/internal/setfile"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
	"seen/keys"
)

// recordFlags are the flags that define a record and its key. They are the same in
// every command that reads lines.
type recordFlags struct {
	zero      bool
	delimiter string
	crlf      bool
	missing   flagvalue.Choice
	key       keyspec.Options
	email     emailFlags
	url       urlFlags
	encoding  flagvalue.Choice
	jobs      int
	quiet     bool
	plain     bool
	anyBytes  bool // of --format lines: a text in any encoding
	again     bool // inputs that are files may be read a second time
}

func (r *recordFlags) register(cmd *cobra.Command) {
	r.missing = flagvalue.OneOf("fail", "fail", "keep", "drop", "empty")
	r.encoding = flagvalue.OneOf("", encodingText, encodingHex, encodingDecimal)
	share(cmd, func(f *pflag.FlagSet) {
		f.StringArrayVarP(&r.key.Keys, "key", "k", nil, "the key is a part of the line, `SPEC`: F[.C][,F[.C]] much as in sort, csv:NAME, tsv:NAME, json:a.b, re:REGEX; may be repeated")
		f.StringVarP(&r.key.Separator, "field-separator", "t", "", "fields have `SEP` between them (default: blanks, or a comma for csv)")
		f.BoolVar(&r.key.KeepBlanks, "keep-blanks", false, "without -t, the blanks before a field are a part of it, as in sort")
		f.IntVarP(&r.key.SkipFields, "skip-fields", "f", 0, "skip the first `N` fields, as in uniq")
		f.IntVar(&r.key.SkipChars, "skip-chars", 0, "skip the first `N` bytes, after -f")
		f.IntVarP(&r.key.Width, "check-chars", "w", 0, "use at most `N` bytes as the key")
		f.BoolVarP(&r.key.FoldCase, "ignore-case", "i", false, "treat letters A to Z alike in either case")
		f.BoolVar(&r.key.Lower, "lower", false, "convert the key to lower case (Unicode); the output stays as it was")
		f.BoolVar(&r.key.Trim, "trim", false, "remove white space from both ends of the key")
		r.email.register(f)
		r.url.register(f)
		f.Var(&r.encoding, "key-encoding", "how keys are written: utf8 (as they are), hex (two digits a byte), decimal (whole numbers); the output stays as it was")
		f.Var(&r.missing, "missing", "what to do with a line without a key: fail, keep (print it), drop, or empty (use the empty key)")
		f.BoolVarP(&r.zero, "zero-terminated", "z", false, "records end in NUL, not in a newline")
		f.StringVar(&r.delimiter, "delimiter", "", "records end in `C`, which may have several bytes; write \\t, \\0 or \\xHH for special ones")
		f.BoolVar(&r.crlf, "crlf", false, "a CR before the newline is not part of the key; the output keeps it")
		f.IntVarP(&r.jobs, "jobs", "j", 0, "use `N` cores (default: all); the output is the same for every N")
		f.BoolVar(&r.plain, "no-decompress", false, "read compressed files as they are")
		f.BoolVarP(&r.quiet, "quiet", "q", false, "print no progress and no notes")
	})
}

// open checks the flags and opens the inputs.
func (r *recordFlags) open(a *app, files []string) (*input.Files, stream.Config, error) {
	var c stream.Config
	switch {
	case r.zero && r.delimiter != "":
		return nil, c, usagef("give either -z or --delimiter")
	case r.zero:
		c.Delimiter = []byte{0}
	case r.delimiter != "":
		d, err := keyspec.ParseBytes(r.delimiter)
		if err != nil {
			return nil, c, usagef("--delimiter: %v", err)
		}
		c.Delimiter = d
	}
	if r.crlf && c.Delimiter != nil {
		return nil, c, usagef("--crlf is for lines; it cannot be combined with -z or --delimiter")
	}
	c.CRLF = r.crlf
	if r.jobs < 0 {
		return nil, c, usagef("-j %d: give at least 1", r.jobs)
	}
	if c.Jobs = r.jobs; c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	o := r.key
	o.Missing = r.missingMode()
	o.Encoding = r.keyEncoding()
	var err error
	if o.Email, err = r.email.config(); err != nil {
		return nil, c, err
	}
	if o.URL, err = r.url.config(); err != nil {
		return nil, c, err
	}
	key, err := keyspec.Compile(o)
	if err != nil {
		return nil, c, usageError{err}
	}
	c.Key = key
	c.Counters = new(stream.Counters)
	in, err := input.Open(files, input.Options{Stdin: a.env.Stdin, StdinName: a.stdinName, Plain: r.plain, Jobs: c.Jobs, Again: r.again})
	if err == nil && c.Delimiter == nil {
		c.Start = r.checkStart
		err = a.checkStarts(files, r)
	}
	return in, c, err
}

// checkStarts is checkStart for files that can be read twice, compressed or not, so
// that a file is refused before others are read.
func (a *app) checkStarts(files []string, r *recordFlags) error {
	for _, name := range files {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.Mode().IsRegular() {
			continue // the error is reported when the file is read
		}
		start, err := setfile.ReadStart(name)
		if err == nil && !r.plain && input.Compressed(start) {
			start, err = setfile.UnpackedStart(a.ctx, name)
		}
		if err != nil {
			continue // the error is reported when the file is read
		}
		if err := r.checkStart(name, start); err != nil {
			return err
		}
	}
	return nil
}

// checkStart refuses to read filter files of seen, texts in UTF-16 and compressed files
// as lines: these would be a few meaningless keys.
func (r *recordFlags) checkStart(name string, start []byte) error {
	if bloomfile.Detect(start) {
		return fmt.Errorf("%s is a filter file, not a list of keys; use \"seen merge\" to merge filters, and \"seen filter --set\" to select lines", name)
	}
	if r.anyBytes {
		return nil
	}
	err := setfile.CheckEncoding(name, start)
	if !r.plain && input.Compressed(start) { // the outer compression has been removed
		err = fmt.Errorf("%s is compressed more than once; unpack it first", name)
	}
	if err != nil {
		return fmt.Errorf(`%w; with --delimiter '\n' its bytes are read as they are`, err)
	}
	return nil
}

// timeKey compiles the SPEC of --time-key. A record without a time is treated like one
// without a key, except that --missing empty is an error, because there is no empty
// time.
func (r *recordFlags) timeKey(spec string) (*keyspec.Time, error) {
	missing := r.missingMode()
	if missing == keyspec.MissingEmpty {
		missing = keyspec.MissingFail
	}
	t, err := keyspec.CompileTime(spec, r.key.Separator, missing)
	if err != nil {
		return nil, usagef("--time-key: %v", err)
	}
	return t, nil
}

func (r *recordFlags) missingMode() keyspec.Missing {
	switch r.missing.Value {
	case "fail":
		return keyspec.MissingFail
	case "empty":
		return keyspec.MissingEmpty
	}
	return keyspec.MissingMark
}

// tag identifies the options that define a key, so that a state can tell whether it was
// made with the same ones. It is never 0. Files contain it, so an option that is added
// later must not change it if it is not given. Two spellings of one key have one tag, and
// what a spelling meant in an earlier version has the tag of today's spelling of that.
func (r *recordFlags) tag() uint64 {
	k := &r.key
	h := bloom.Hash{}
	return h.SumString(fmt.Sprintf("%q %q %d %d %d %t %t %t %t %t %q %t", k.Spellings(), k.Separator, k.SkipFields, k.SkipChars,
		k.Width, k.FoldCase, k.Lower, k.Trim, r.email.isSet(), r.zero, r.delimiter, r.crlf)+r.email.tag()+r.url.tag()+r.encodingTag()) | 1
}

// otherTag explains that a state has another tag than these options. Options that restore
// rules of earlier versions are named if they are all that is missing, or too much, and
// otherwise the options about keys, if the rules of the state are others.
func (r *recordFlags) otherTag(state string, tag uint64, rules string) error {
	for _, blanks := range []bool{false, true} {
		for _, host := range []bool{false, true} {
			other := *r
			other.key.KeepBlanks, other.email = blanks, r.email.keepsHost(host)
			if other.tag() == tag {
				return r.explainOld(state, &other)
			}
		}
	}
	if asked, err := r.keptRules(); err == nil && rules != "" && asked != rules {
		return fmt.Errorf("%s was made with %s, not with %s; give the same, or use another state", state, optionsOfRules(rules), optionsOfRules(asked))
	}
	return fmt.Errorf("%s was made with other options about records and keys (-k, -i, --lower and the like); give the same, or use another state", state)
}

// explainOld says which options make r the same as other, with which a state was made.
func (r *recordFlags) explainOld(state string, other *recordFlags) error {
	var with, without []string
	differ := func(option string, given, wanted bool) {
		switch {
		case wanted && !given:
			with = append(with, option)
		case given && !wanted:
			without = append(without, option)
		}
	}
	differ("--keep-blanks", r.key.KeepBlanks, other.key.KeepBlanks)
	differ("--email-keep host", len(r.email.keep) > 0, len(other.email.keep) > 0)
	var text []string
	if len(with) > 0 {
		options := strings.Join(with, " ")
		text = append(text, fmt.Sprintf("with %s, or by a version that knew no other rule: add %s", options, options))
	}
	if len(without) > 0 {
		options := strings.Join(without, " ")
		text = append(text, fmt.Sprintf("without %s: leave it out", options))
	}
	return fmt.Errorf("%s was made %s; or use another state", state, strings.Join(text, ", and "))
}

// Values of --key-encoding. Without it, keys are numbers for filters of numbers, and
// otherwise text.
const (
	encodingText    = "utf8"
	encodingHex     = string(keys.Hex)
	encodingDecimal = string(keys.Decimal)
)

// keyEncoding returns how keys are written by the flags.
func (r *recordFlags) keyEncoding() keys.Encoding {
	if r.encoding.Value == encodingText {
		return keys.Text
	}
	return keys.Encoding(r.encoding.Value)
}

// encodingTag is what tag adds for keys that are not text.
func (r *recordFlags) encodingTag() string {
	if r.keyEncoding() == keys.Text {
		return ""
	}
	return " " + r.encoding.Value
}

// keepMissing reports whether records without a key are kept.
func (r *recordFlags) keepMissing() bool { return r.missing.Value == "keep" }

// run runs the pipeline, with a progress line if stderr is a terminal.
func (r *recordFlags) run(ctx context.Context, a *app, in *input.Files, c stream.Config, extra func() string, consume func(*stream.Block) error) error {
	p := a.startProgress(r.quiet, in, c.Counters, extra)
	defer p.stop()
	return stream.Run(ctx, in, c, consume)
}

// hashFlags choose the key hash of a new filter, and give the secret of an old one.
type hashFlags struct {
	seed   uint64
	secret string
	seeded func() bool // whether --seed was given; nil where there is no such flag
	random bloom.Hash  // of private
}

// register adds the flags to a command whose filters may be merged with others.
func (h *hashFlags) register(cmd *cobra.Command) {
	h.registerSeed(cmd, "use the key hash with seed `S`; filters of different seeds cannot be merged")
	h.registerSecret(cmd)
}

// registerPrivate adds the flags to a command that keeps its sets to itself; see
// private.
func (h *hashFlags) registerPrivate(cmd *cobra.Command) {
	h.registerSeed(cmd, "hash keys with the public seed `S`, as \"seen build\" does, instead of with a random key; 0 is build's default")
	h.registerSecret(cmd)
}

func (h *hashFlags) registerSeed(cmd *cobra.Command, usage string) {
	cmd.Flags().Uint64Var(&h.seed, "seed", 0, usage)
	h.seeded = func() bool { return cmd.Flags().Changed("seed") }
}

func (h *hashFlags) registerSecret(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.secret, "secret", "", "hash keys with the secret in `FILE`; use it if others choose the keys")
}

// private returns the hash for a set of this run only: the one of the flags, or one
// with a random key, which is the same at every call. Authors of the input do not know
// the random key, so they cannot construct keys that collide.
func (h *hashFlags) private() (bloom.Hash, error) {
	if h.secret != "" || h.seeded != nil && h.seeded() {
		return h.hash()
	}
	if h.random == (bloom.Hash{}) {
		h.random = bloom.RandomHash()
	}
	return h.random, nil
}

// hash returns the hash of the flags.
func (h *hashFlags) hash() (bloom.Hash, error) {
	if h.secret == "" {
		return bloom.Hash{Seed: h.seed}, nil
	}
	if h.seeded != nil && h.seeded() || h.seed != 0 {
		return bloom.Hash{}, usagef("give either --seed or --secret")
	}
	text, err := os.ReadFile(h.secret)
	if os.IsNotExist(err) {
		return newSecret(h.secret)
	}
	if err != nil {
		return bloom.Hash{}, err
	}
	return parseSecret(h.secret, string(text))
}

// streamHash returns a hash in the form that package stream uses.
func streamHash(h bloom.Hash) keyhash.Hash { return keyhash.Of(h.Algorithm, h.Seed, h.Secret) }

// load returns the options for reading existing filters. The secret file has to exist,
// because a new secret fits no existing filter.
func (h *hashFlags) load() (bloom.LoadOptions, error) {
	var o bloom.LoadOptions
	if h.secret == "" {
		return o, nil
	}
	text, err := os.ReadFile(h.secret)
	if err != nil {
		return o, err
	}
	hash, err := parseSecret(h.secret, string(text))
	o.Secret = hash.Secret
	return o, err
}

func parseSecret(name, text string) (bloom.Hash, error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	var secret [16]byte
	if err != nil || len(b) != len(secret) {
		return bloom.Hash{}, fmt.Errorf("%s does not contain a secret of 32 hex digits", name)
	}
	copy(secret[:], b)
	hash := bloom.SecretHash(secret)
	return hash, hash.Validate()
}

// newSecret creates a random secret and stores it in a file that only its owner can
// read.
func newSecret(name string) (bloom.Hash, error) {
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return bloom.Hash{}, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return bloom.Hash{}, err
	}
	_, err = fmt.Fprintf(f, "%x\n", secret)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return bloom.SecretHash(secret), err
}
