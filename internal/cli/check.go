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
	json    bool
}

func (a *app) checkCommand() *cobra.Command {
	var c checkFlags
	cmd := &cobra.Command{
		Use:   "check SET [KEY...]",
		Short: "tell for each key whether it may be in a set: maybe or no",
		Long: `Print each key, a tab, and "maybe" or "no". Keys are the arguments, or the lines
of standard input if there are none. "no" is certain. The exit code is 0 if all
keys may be there and 1 if one is certainly not; with -q nothing is printed.`,
		Example: `  seen check known.seen https://example.org/
  seen check -q known.seen "$url" || fetch "$url"
  seen check known.seen < candidates.txt | grep -v 'maybe$'`,
		Args: arguments(1, anyMore, "SET"),
		RunE: func(_ *cobra.Command, args []string) error { return a.check(&c, args[0], args[1:]) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, `one JSON object a line: {"key": ..., "seen": true or false}`)
	c.records.register(cmd)
	c.hashing.registerSecret(cmd)
	cmd.Flags().Lookup("quiet").Usage = "print nothing; the exit code is the answer"
	return cmd
}

// checkAnswer is one line of "check --json".
type checkAnswer struct {
	Key    string `json:"key"`
	Base64 []byte `json:"key_base64,omitempty"` // where the key is not UTF-8, which JSON cannot hold
	Seen   bool   `json:"seen"`
}

func (a *app) check(c *checkFlags, name string, keys []string) error {
	set, err := a.openLookup(name, &c.records, &c.hashing)
	if err != nil {
		return err
	}
	defer set.done()
	w := bufio.NewWriterSize(a.env.Stdout, 64<<10)
	absent := false
	answer := func(record, end []byte, found bool) error {
		absent = absent || !found
		if c.records.quiet {
			return nil
		}
		if c.json {
			a := checkAnswer{Key: string(record), Seen: found}
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
		if found {
			text = "\tmaybe"
		}
		w.Write(record)
		w.WriteString(text)
		_, err := w.Write(end)
		return err
	}
	if len(keys) > 0 {
		err = a.checkArguments(c, set, keys, answer)
	} else {
		err = a.checkInput(c, set, answer)
	}
	if flushErr := w.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && absent {
		err = errNo
	}
	return err
}

// checkArguments answers for keys given as arguments. They go the way of input
// records, so that the options about keys mean the same.
func (a *app) checkArguments(c *checkFlags, set *lookupSet, keys []string, answer func(record, end []byte, found bool) error) error {
	// An argument cannot contain a NUL, so NUL can end each.
	records := c.records
	records.zero, records.delimiter, records.crlf, records.plain = true, "", false, true
	env := a.env
	env.Stdin = strings.NewReader(strings.Join(keys, "\x00") + "\x00")
	args := &app{env: env, ctx: a.ctx}
	return args.ask(&records, set, func(b *stream.Block, i int, found bool) error {
		return answer(b.Record(i), []byte{'\n'}, found)
	})
}

// checkInput answers for the records of standard input.
func (a *app) checkInput(c *checkFlags, set *lookupSet, answer func(record, end []byte, found bool) error) error {
	return a.ask(&c.records, set, func(b *stream.Block, i int, found bool) error {
		line := b.Line(i)
		return answer(b.Record(i), line[len(b.Record(i)):], found)
	})
}

// ask passes every record of standard input with its answer to each.
func (a *app) ask(r *recordFlags, set *lookupSet, each func(b *stream.Block, i int, found bool) error) error {
	in, config, err := r.open(a, nil)
	if err != nil {
		return err
	}
	config.Hash = set.hash
	var found []bool
	return r.run(a.ctx, a, in, config, nil, func(b *stream.Block) error {
		if b.Header {
			return nil
		}
		found = resize(found, b.Len())
		clear(found)
		for lo, hi := range b.Keyed() {
			if err := set.ask(found[lo:hi], b.Hashes[lo:hi]); err != nil {
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
