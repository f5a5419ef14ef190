package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/stream"
)

// filterFlags are the flags of "seen filter".
type filterFlags struct {
	records  recordFlags
	hashing  hashFlags
	fleet    fleetFlags
	foreign  foreignFlags
	sets     []string
	keep     []string
	drop     []string
	invert   bool
	any, all bool
	tag      bool
	confirm  []string
	memory   flagvalue.Size
	buffered bool
}

func (a *app) filterCommand() *cobra.Command {
	var f filterFlags
	cmd := &cobra.Command{
		Use:         "filter --set SET... [FILE...]",
		Short:       "print the lines that are in sets, or are not",
		Annotations: common("set keep drop invert-match tag confirm line-buffered redis server name key field-separator ignore-case email url"),
		Long: `Print the lines whose key is in the sets, or with -v the lines whose key is not.

A SET is a filter file, a filter of another system (see "seen formats"), or a text
file with one key per line, which is exact. The content decides which one it is, also
in compressed files. The name - is standard input. A file that looks like a filter but
cannot be opened is an error (docs/INTEROP.md has the rule); --format lines reads it as
lines. A UTF-8 byte order mark at the start of a file is not part of its first key.

Keys are made as "seen build" made those of the filters: with --email, say, if it had
--email. Other options about keys are an error.

A filter may say yes to a key that is not in it. With --confirm, each yes is looked up
in the full text of the set, and the result is exact.`,
		Example: `  seen filter --set members.txt -k 2,2 -t , log.csv   lines whose 2nd field is a member
  seen filter -v --set blocked.seen mail.txt          drop the blocked lines
  seen filter --keep eu.seen --drop seen.seen urls    in one set and not in the other
  seen filter --set a.seen --set b.seen --tag urls    with the name of the set before each line
  seen filter -v --set bad.seen --confirm bad.txt urls     exact, in spite of the filter
  seen filter -v --redis redis://db1 --name crawl urls     the lines that the fleet has not seen`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.filter(cmd, &f, files) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.sets, "set", nil, "a `SET` to ask; may be repeated")
	fl.StringArrayVar(&f.keep, "keep", nil, "short for --set `SET`: print the lines that are in it")
	fl.StringArrayVar(&f.drop, "drop", nil, "short for -v --set `SET`: print the lines that are not in it; can be combined with --keep")
	fl.BoolVarP(&f.invert, "invert-match", "v", false, "print the lines that are not in the sets")
	fl.BoolVar(&f.any, "any", false, "a line has to be in one of the sets (the default)")
	fl.BoolVar(&f.all, "all", false, "a line has to be in every set")
	fl.BoolVar(&f.tag, "tag", false, "print the names of the matching sets and a tab before each line")
	fl.StringArrayVar(&f.confirm, "confirm", nil, "look matches up in `FILE`, the full text of the sets; may be repeated")
	f.memory = defaultMemory
	fl.VarP(&f.memory, "memory", "m", "with --confirm: memory for lines that wait to be looked up")
	fl.BoolVar(&f.buffered, "line-buffered", false, "write every line at once, not only when the input pauses for 0.1 s")
	f.records.register(cmd)
	f.hashing.registerPrivate(cmd)
	f.fleet.register(cmd, &f.hashing, false)
	f.foreign.registerTexts(cmd)
	f.foreign.login = &f.fleet
	return cmd
}

func (f *filterFlags) check(cmd *cobra.Command) error {
	if err := f.checkFleet(cmd); err != nil || f.fleet.isSet() {
		return err
	}
	switch {
	case len(f.sets)+len(f.keep)+len(f.drop) == 0:
		return usagef("no set is given; name one with --set SET")
	case len(f.sets) > 0 && len(f.keep)+len(f.drop) > 0:
		return usagef("--set cannot be combined with --keep or --drop, which are short forms of it")
	case f.invert && len(f.keep)+len(f.drop) > 0:
		return usagef("-v is for --set; --drop SET is short for -v --set SET")
	case f.any && f.all:
		return usagef("give either --any or --all")
	case f.tag && (f.invert || len(f.sets)+len(f.keep) == 0):
		return usagef("--tag names the sets that a line is in; the lines of -v and --drop are in no set")
	case len(f.confirm) > 0 && f.buffered:
		return usagef("--line-buffered cannot be combined with --confirm, which holds lines back")
	case len(f.confirm) > 0 && len(f.sets)+len(f.keep)+len(f.drop) > 1:
		return usagef("--confirm is the full text of one set; give one SET")
	}
	return nil
}

// filterRun is one run of "seen filter".
type filterRun struct {
	*filterFlags
	app        *app
	cmd        *cobra.Command
	keep, drop []*lookupSet
	config     stream.Config
	hash       bloom.Hash // of the keys in blocks
	out        *stream.Writer
	selected   []bool
	member     []bool
	found      []bool
	hits       [][]bool // for --tag: which set each record is in
	scratch    []uint64
	prefix     []byte
	confirm    *confirmer
	header     csvHeader
	first      []byte // the first key of the input, nil before it
}

func (a *app) filter(cmd *cobra.Command, flags *filterFlags, files []string) error {
	if err := flags.check(cmd); err != nil {
		return err
	}
	if flags.fleet.isSet() {
		return a.filterFleet(cmd, flags, files)
	}
	f := &filterRun{filterFlags: flags, app: a, cmd: cmd}
	decimal := flags.records.encoding.Value == encodingDecimal
	keep, drop := flags.keep, flags.drop
	if flags.invert {
		drop = flags.sets
	} else {
		keep = append(keep, flags.sets...)
	}
	names := slices.Concat(keep, drop)
	if slices.ContainsFunc(names, isStdin) && (len(files) == 0 || slices.ContainsFunc(files, isStdin)) {
		return usagef("standard input cannot be both a SET and the input; name a FILE to filter")
	}
	all, err := a.openLookups(names, &flags.records, &flags.hashing, &flags.foreign)
	defer closeSets(all)
	if err != nil {
		return err
	}
	f.keep, f.drop = all[:len(keep)], all[len(keep):]
	a.sayOfSets(cmd, all, &flags.records, &flags.foreign)
	if err := sameKeys(all, decimal); err != nil {
		return err
	}
	if err := a.checkMembers(all, &flags.records, &flags.foreign); err != nil {
		return err
	}
	texts, err := a.confirmTexts(flags)
	if err != nil {
		return err
	}
	in, config, err := flags.records.open(a, files)
	if err != nil {
		return err
	}
	if err := a.refuseOwnOutput(in); err != nil {
		return err
	}
	a.sayOfOtherEnds(cmd, all, &flags.records, &config)
	f.config = config
	f.hash, f.config.Hash = all[0].Hash, streamHash(all[0].Hash)
	f.out = stream.NewWriter(a.env.Stdout, stream.WriterOptions{LineBuffered: flags.buffered, Counters: config.Counters})
	f.config.Pause = f.out.Flush
	f.hits = make([][]bool, len(f.keep))
	if len(flags.confirm) > 0 {
		f.confirm = newConfirmer(f, texts, uint64(flags.memory))
	}
	err = flags.records.run(a.ctx, a, in, f.config, nil, f.block)
	if f.confirm != nil && a.ctx.Err() == nil && !stream.IsBrokenPipe(err) {
		// Also after bad input, for the lines before it.
		if settleErr := f.confirm.settle(); err == nil {
			err = settleErr
		}
	}
	if flushErr := f.out.Flush(); err == nil {
		err = flushErr
	}
	if err == nil {
		f.sayOfNoMatches(all)
		if config.Counters.Kept.Load() == 0 {
			err = errNo
		}
	}
	return orPast(err, func() error {
		var first error
		for _, s := range all {
			switch pastErr := s.past(); {
			case first == nil:
				first = pastErr
			case pastErr != nil:
				a.say(cmd, "%v", pastErr)
			}
		}
		return first
	})
}

// block selects among the records of one block and writes those selected.
func (f *filterRun) block(b *stream.Block) error {
	if b.Header {
		if !f.header.isFirst(f.app, f.cmd, &f.records, b) {
			return nil
		}
		if f.confirm != nil {
			return f.confirm.hold(b, []bool{true}, nil)
		}
		return f.out.Write(b, nil)
	}
	n := b.Len()
	f.noteFirst(b)
	f.selected, f.member = resize(f.selected, n), resize(f.member, n)
	if err := f.decide(b); err != nil {
		return err
	}
	for _, i := range b.Missing {
		f.selected[i] = f.records.keepMissing()
	}
	switch {
	case f.confirm != nil:
		// Only the answers "maybe" are in doubt: with --set the selected records,
		// with -v the others.
		return f.confirm.hold(b, f.selected, f.inDoubt(b))
	case f.tag:
		return f.out.WritePrefixed(b, f.selected, func(i int) []byte { return f.tagOf(i) })
	}
	return f.out.Write(b, f.selected)
}

// manyLines is the number of lines from which on it is strange that a text has none.
const manyLines = 1000

// sayOfNoMatches prints a note about each text that had no line of many. Most often the
// keys of one of the two are cut out or written otherwise, which their first keys show.
func (f *filterRun) sayOfNoMatches(sets []*lookupSet) {
	n := f.config.Counters.Records.Load()
	if f.records.quiet || n <= manyLines {
		return
	}
	for _, s := range sets {
		if !s.matched && s.First != nil && f.first != nil {
			f.app.say(f.cmd, "note: no line of %s is in %s; its first key is %.80q, and that of the input %.80q",
				figure.Comma(n), s.Name, s.First, f.first)
		}
	}
}

// noteFirst notes the first key of the input.
func (f *filterRun) noteFirst(b *stream.Block) {
	if f.first != nil {
		return
	}
	for lo := range b.Keyed() {
		f.first = append([]byte{}, b.Key(lo)...)
		return
	}
}

// decide fills selected, and member with the answers of the last sets that it asked.
func (f *filterRun) decide(b *stream.Block) error {
	if len(f.keep) == 0 {
		if err := f.askAll(b, f.drop, nil); err != nil {
			return err
		}
		copy(f.selected, f.member)
		invert(f.selected)
		return nil
	}
	if err := f.askAll(b, f.keep, f.hits); err != nil {
		return err
	}
	copy(f.selected, f.member)
	if len(f.drop) == 0 {
		return nil
	}
	if err := f.askAll(b, f.drop, nil); err != nil {
		return err
	}
	for i, is := range f.member {
		f.selected[i] = f.selected[i] && !is
	}
	return nil
}

// askAll fills member: whether each record is in any of the sets, or with --all in
// every set.
func (f *filterRun) askAll(b *stream.Block, sets []*lookupSet, hits [][]bool) (err error) {
	f.found = resize(f.found, b.Len())
	for si, s := range sets {
		clear(f.found)
		for lo, hi := range b.Keyed() {
			if f.scratch, err = s.AskBlock(b, lo, hi, f.hash, f.found[lo:hi], f.scratch); err != nil {
				return err
			}
		}
		s.matched = s.matched || slices.Contains(f.found, true)
		switch {
		case si == 0:
			copy(f.member, f.found)
		case f.all:
			for i, is := range f.found {
				f.member[i] = f.member[i] && is
			}
		default:
			for i, is := range f.found {
				f.member[i] = f.member[i] || is
			}
		}
		if f.tag && hits != nil {
			hits[si] = append(hits[si][:0], f.found...)
		}
	}
	return nil
}

// tagOf returns the names of the sets that record i is in.
func (f *filterRun) tagOf(i int) []byte {
	p := f.prefix[:0]
	for si, s := range f.keep {
		if f.hits[si][i] {
			if len(p) > 0 {
				p = append(p, ',')
			}
			p = append(p, s.Label()...)
		}
	}
	f.prefix = append(p, '\t')
	return f.prefix
}

// inDoubt returns which records a set may have said yes to by error.
func (f *filterRun) inDoubt(b *stream.Block) []bool {
	doubt := slices.Clone(f.member)
	for _, i := range b.Missing {
		doubt[i] = false
	}
	return doubt
}
