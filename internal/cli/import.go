package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/resp"
	"seen/internal/setfile"
	"seen/internal/store"
	"seen/interop"
)

// importFlags are the flags of "seen import".
type importFlags struct {
	server  serverFlags
	foreign foreignFlags
	records recordFlags
	name    string
	replace bool
	all     bool
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:         "import SET",
		Short:       "load a filter of another system into a server",
		Annotations: common("name all server format must-contain replace password-file"),
		Long: `Load a filter of another system into a running server. To write it to a file in another
format, use convert.

The server answers from it as
the other system does, keeps it over restarts, and refuses to change it: BF.EXISTS,
BF.MEXISTS, BF.INFO, DUMP and DEL work, BF.ADD is an error. Keys are sent as they are;
for a filter of numbers they are decimal digits. A filter of RedisBloom becomes one of
the server's own, which also accepts keys.

Cuckoo filters, count-min sketches and top-k of RedisBloom become values of the server's
own, too: name the key of an RDB file, or give the payload of DUMP. --all imports every
value of RedisBloom in an RDB file under its key, and keeps the times at which keys expire.

A filter of RedisBloom may have any size, and appears in the server when all of it is
there. Others may have at most 512 MiB, the limit of one command. Of a file with several
filters, such as a Parquet file, only one is sent. seen's own filter files cannot be
imported, because a server hashes keys with a secret of its own.`,
		Example: `  seen import dump.rdb --all
  seen import guava.bloom --format guava:funnel=string --name users
  seen import dump.rdb --format rdb:key=urls --server 10.0.0.7:6380`,
		Args:              arguments(1, 1, "SET"),
		ValidArgsFunction: filesUpTo(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.importFile(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the `NAME` of the filter in the server (default: the name of the file)")
	flags.BoolVar(&f.all, "all", false, "import all values of RedisBloom in an RDB file, each under its key")
	flags.BoolVar(&f.replace, "replace", false, "replace a value that has the name already")
	flags.BoolVarP(&f.records.quiet, "quiet", "q", false, "print no report")
	_ = cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions) // the flag is there
	f.server.register(cmd)
	f.foreign.register(cmd)
	return cmd
}

func (a *app) importFile(cmd *cobra.Command, flags *importFlags, name string) error {
	if flags.all {
		return a.importAll(cmd, flags, name)
	}
	as := flags.name
	if as == "" {
		as = filepath.Base(filepath.Clean(name))
	}
	if done, err := a.importOther(cmd, flags, name, as); done || err != nil {
		return err
	}
	opened, err := a.openFile(name, &flags.foreign, false)
	switch {
	case err != nil:
		return err
	case opened.Kind == setfile.KindOwn:
		return fmt.Errorf("%s is a filter file of seen, and a server hashes keys differently; send the keys to the server, with BF.MADD or over HTTP", name)
	case opened.Kind == setfile.KindText:
		return fmt.Errorf("%s is not a filter in a format that can be detected; name the format with --format", name)
	}
	f := opened.Foreign
	defer f.Close() // it is only read
	if err := flags.records.encodeFor(f); err != nil {
		return err
	}
	if err := a.checkMembers([]*lookupSet{{Lookup: f.Lookup()}}, &flags.records, &flags.foreign); err != nil {
		return err
	}
	state := "read-only"
	err = f.Read(func() error {
		if w, err := interop.Rewrap(f.Filter, interop.Spec{Name: "redisbloom"}); err == nil {
			if chunker, ok := w.(interop.Chunker); ok {
				state = "a filter of the server's own"
				return a.sendOwn(flags, w, chunker, as)
			}
		}
		payload, err := restorable(f)
		if err != nil {
			return err
		}
		return a.sendWhole(flags, name, as, payload)
	})
	if err != nil {
		return err
	}
	if !flags.records.quiet {
		a.say(cmd, "%s is %q in the server: %s, %s", name, as, f.Filter.Describe().Format, state)
	}
	return nil
}

// sendWhole sends a filter in one command.
func (a *app) sendWhole(flags *importFlags, name, as string, payload []byte) error {
	if limit := resp.DefaultLimits.Bulk; len(payload) > limit {
		return fmt.Errorf("%s has %s, more than the limit of %s for a command; use the file itself with seen check and seen filter, or send its keys to the server",
			name, figure.Bytes(uint64(len(payload))), figure.Bytes(uint64(limit)))
	}
	return a.sendRestore(flags, as, payload, time.Time{})
}

// sendRestore sends a value in one command. A zero time means that it does not expire.
func (a *app) sendRestore(flags *importFlags, as string, payload []byte, expires time.Time) error {
	ttl := []byte("0")
	if !expires.IsZero() {
		ttl = strconv.AppendInt(nil, expires.UnixMilli(), 10)
	}
	command := [][]byte{[]byte("RESTORE"), []byte(as), ttl, payload, []byte("ABSTTL")}
	if flags.replace {
		command = append(command, []byte("REPLACE"))
	}
	return a.order(&flags.server, command...)
}

// mostAtOnce is the longest payload that is sent in one command, in bytes.
var mostAtOnce = int64(resp.DefaultLimits.Bulk)

// errAtOnce says that a payload is longer than mostAtOnce.
var errAtOnce = errors.New("longer than a command")

// sendOwn sends a filter of RedisBloom: in one command if it can be, and otherwise in
// chunks.
func (a *app) sendOwn(flags *importFlags, whole io.WriterTo, chunker interop.Chunker, as string) error {
	var payload bytes.Buffer
	switch _, err := whole.WriteTo(&capped{to: &payload, room: mostAtOnce}); {
	case err == nil:
		return a.sendRestore(flags, as, payload.Bytes(), time.Time{})
	case !errors.Is(err, errAtOnce):
		return err
	}
	payload = bytes.Buffer{} // frees as much as a whole command
	return a.sendChunked(flags, chunker, as)
}

// capped passes on room bytes, and then fails.
type capped struct {
	to   io.Writer
	room int64
}

func (c *capped) Write(p []byte) (int, error) {
	if c.room -= int64(len(p)); c.room < 0 {
		return 0, errAtOnce
	}
	return c.to.Write(p)
}

// sendChunked sends a filter under another name until it is complete, because a part of
// it says no to keys of the whole.
func (a *app) sendChunked(flags *importFlags, chunker interop.Chunker, as string) error {
	name, part := []byte(as), []byte(as+":import-"+rand.Text())
	begun := false
	err := a.orders(&flags.server, func(send func(command ...[]byte) (resp.Value, error)) error {
		if !flags.replace {
			if v, err := send([]byte("EXISTS"), name); err != nil || v.Int != 0 {
				return cmp.Or(err, errBusy(as))
			}
		}
		begun = true
		if err := sendChunks(chunker, part, send); err != nil {
			return err
		}
		return takeName(flags.replace, part, name, send)
	})
	if err == nil || !begun {
		return err
	}
	// Over a new connection, because the other may have failed.
	again := *a
	var stop context.CancelFunc
	again.ctx, stop = context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer stop()
	if left := again.order(&flags.server, []byte("DEL"), part); left != nil {
		return fmt.Errorf("%w; a part of the filter may be left in the server as %q, which could not be deleted: %w", err, part, left)
	}
	return err
}

func errBusy(name string) error {
	return fmt.Errorf("the server already has a value %q; give --replace to replace it", name)
}

// sendChunks loads the chunks of a filter. The first, the header, has the number 1;
// each other chunk has the number of the byte behind it, counted from 1.
func sendChunks(chunker interop.Chunker, name []byte, send func(command ...[]byte) (resp.Value, error)) error {
	iterator := 1
	first := true
	for chunk, err := range chunker.Chunks() {
		if err != nil {
			return err
		}
		if !first {
			iterator += len(chunk)
		}
		first = false
		if _, err := send([]byte("BF.LOADCHUNK"), name, strconv.AppendInt(nil, int64(iterator), 10), chunk); err != nil {
			return err
		}
	}
	return nil
}

// takeName gives a filter its name. With replace, a value of that name is replaced.
func takeName(replace bool, from, to []byte, send func(command ...[]byte) (resp.Value, error)) error {
	if replace {
		_, err := send([]byte("RENAME"), from, to)
		return err
	}
	v, err := send([]byte("RENAMENX"), from, to)
	if err == nil && v.Int == 0 {
		err = errBusy(string(to))
	}
	return err
}

// restorable returns the payload for RESTORE: the bytes of the filter, without the file
// around them, and the format that opens them.
func restorable(f *setfile.Foreign) (payload []byte, err error) {
	contents := f.Bytes
	spec, w, in := interop.Extract(f.Filter)
	if in {
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			return nil, err
		}
		contents = b.Bytes()
	} else if spec, err = interop.ParseSpec(f.Filter.Describe().Format); err != nil {
		return nil, err
	}
	return store.AppendForeign(nil, spec, contents), nil
}
