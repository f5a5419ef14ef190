package cli

import (
	"bufio"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"seen/internal/stream"
)

// checkFlags are the flags of "seen check".
type checkFlags struct {
	records recordFlags
	hashing hashFlags
	fleet   fleetFlags
	foreign foreignFlags
	json    bool
}

func (a *app) checkCommand() *cobra.Command {
	var c checkFlags
	cmd := &cobra.Command{
		Use:         "check {SET | --redis URL --name NAME} [KEY...]",
		Short:       "check whether keys are in a set",
		Annotations: common("redis server name format json key ignore-case email url"),
		Long: `Print each key, a tab, and "maybe" or "no". Keys are the arguments, or the lines of
standard input if there are no arguments.

"no" is certain. The answer is "yes" instead of "maybe" if SET holds its keys exactly: a
text with one key per line, or a state of "seen uniq" without a filter. The exit code is 0 if all keys may be in the set, and 1 if one is
certainly not. With -q, nothing is printed.

Keys are made as "seen build" made those of SET: with --email, say, if it had --email.
Other options about keys are an error.

SET may be a filter of another system, see "seen formats". Its content tells which one;
--format adds what the content does not tell. In a filter of numbers, keys are decimal
numbers.`,
		Example: `  seen check known.seen https://example.org/
  seen check -q known.seen "$url" || fetch "$url"
  seen check known.seen < candidates.txt | grep -v 'maybe$'
  seen check --format guava:funnel=long --must-contain 42 ids.bloom 7 8
  seen check --key-encoding hex hashes.bloom 00ff
  seen check --redis redis://db1 --name crawl "$url"      in a filter that many machines share`,
		Args: c.fleet.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.fleet.isSet() {
				return a.checkFleet(cmd, &c, args)
			}
			return a.check(cmd, &c, args[0], args[1:])
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, `one JSON object a line: {"key": ..., "seen": true or false}, and "exact": true where yes is certain`)
	c.records.register(cmd)
	c.hashing.registerSecret(cmd)
	c.fleet.register(cmd, &c.hashing, false)
	c.foreign.registerTexts(cmd)
	c.foreign.login = &c.fleet
	cmd.Flags().Lookup("quiet").Usage = "print nothing; the exit code is the answer"
	return cmd
}

// checkAnswer is one line of "check --json".
type checkAnswer struct {
	Key    string `json:"key"`
	Base64 []byte `json:"key_base64,omitempty"` // where the key is not UTF-8, which JSON cannot hold
	Seen   bool   `json:"seen"`
	Exact  bool   `json:"exact,omitempty"` // "seen" is certain if it is true, too
}

func (a *app) check(cmd *cobra.Command, c *checkFlags, name string, keys []string) error {
	if isStdin(name) && len(keys) == 0 {
		return usagef("standard input cannot be both the SET and the keys; give the keys as arguments")
	}
	sets, err := a.openLookups([]string{name}, &c.records, &c.hashing, &c.foreign)
	defer closeSets(sets)
	if err != nil {
		return err
	}
	set := sets[0]
	a.sayOfSets(cmd, sets, &c.records, &c.foreign)
	if err := a.checkMembers(sets, &c.records, &c.foreign); err != nil {
		return err
	}
	err = a.answer(c, set.Exact, keys, func(a *app, r *recordFlags, each func(b *stream.Block, i int, found bool) error, flush func() error) error {
		return a.ask(cmd, r, set, each, flush)
	})
	if err == errNo {
		return err // "no" is certain, however full the filter is
	}
	return orPast(err, set.past)
}

// answer prints the answers of ask for the keys, or for the keys of standard input if there
// are none. In an exact set, a yes is certain.
func (a *app) answer(c *checkFlags, exact bool, keys []string, ask asker) error {
	w := bufio.NewWriterSize(a.env.Stdout, 64<<10)
	absent := false
	answer := func(record, end []byte, found bool) error {
		absent = absent || !found
		if c.records.quiet {
			return nil
		}
		if c.json {
			a := checkAnswer{Key: string(record), Seen: found, Exact: exact}
			if !utf8.Valid(record) {
				a.Base64 = record
			}
			b, err := json.Marshal(a)
			if err != nil {
				return err
			}
			_, err = w.Write(append(b, '\n'))
			return err
		}
		text := "\tno"
		switch {
		case found && exact:
			text = "\tyes"
		case found:
			text = "\tmaybe"
		}
		w.Write(record)
		w.WriteString(text)
		_, err := w.Write(end)
		return err
	}
	var err error
	if len(keys) > 0 {
		// They are processed like records of the input, so that the options about keys
		// have the same meaning.
		records := argumentRecords(&c.records)
		err = ask(a.withArguments(keys), &records, func(b *stream.Block, i int, found bool) error {
			return answer(b.Record(i), []byte{'\n'}, found)
		}, w.Flush)
	} else {
		err = ask(a, &c.records, func(b *stream.Block, i int, found bool) error {
			line := b.Line(i)
			return answer(b.Record(i), line[len(b.Record(i)):], found)
		}, w.Flush)
	}
	if flushErr := w.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && absent {
		err = errNo
	}
	return err
}

// argumentRecords returns r for records that are arguments. An argument cannot contain
// a NUL, so NUL can end each.
func argumentRecords(r *recordFlags) recordFlags {
	records := *r
	records.zero, records.delimiter, records.crlf, records.plain = true, "", false, true
	return records
}

// withArguments returns a run whose standard input has the arguments as records.
func (a *app) withArguments(args []string) *app {
	env := a.env
	env.Stdin = strings.NewReader(strings.Join(args, "\x00") + "\x00")
	return &app{env: env, ctx: a.ctx, stdinName: argumentsName}
}

// asker passes every record of standard input with its answer to each, and calls flush
// when the input pauses.
type asker func(a *app, r *recordFlags, each func(b *stream.Block, i int, found bool) error, flush func() error) error

// ask is an asker for a set. Notes of cmd go to standard error.
func (a *app) ask(cmd *cobra.Command, r *recordFlags, set *lookupSet, each func(b *stream.Block, i int, found bool) error, flush func() error) error {
	in, config, err := r.open(a, nil)
	if err != nil {
		return err
	}
	if err := a.refuseOwnOutput(in); err != nil {
		return err
	}
	a.sayOfOtherEnds(cmd, []*lookupSet{set}, r, &config)
	config.Hash, config.Pause = streamHash(set.Hash), flush
	var found []bool
	return r.run(a.ctx, a, in, config, nil, func(b *stream.Block) error {
		if b.Header {
			return nil
		}
		found = resize(found, b.Len())
		clear(found)
		for lo, hi := range b.Keyed() {
			if _, err := set.AskBlock(b, lo, hi, set.Hash, found[lo:hi], nil); err != nil {
				return err
			}
		}
		for i, is := range found {
			if err := each(b, i, is); err != nil {
				return err
			}
		}
		return nil
	})
}

// argumentsName is the name of keys that are arguments, in messages.
const argumentsName = "the arguments"
