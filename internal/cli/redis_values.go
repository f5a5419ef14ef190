package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"seen/bloomfile"
	"seen/internal/figure"
	"seen/interop"
)

// withRedisValues calls use with the values of RedisBloom in a file, which it may read until
// it returns. done is false, and use is not called, for a file of another kind.
func withRedisValues(name string, use func(all []interop.RedisValue, file []byte) (done bool, err error)) (done bool, err error) {
	mapped, err := bloomfile.Map(name)
	if err != nil {
		return false, nil // another reader says what is wrong, if anything is
	}
	defer mapped.Close() // it is only read
	err = mapped.Guard(func() error {
		all, err := interop.RedisValues(mapped.Bytes())
		if err == nil && len(all) > 0 {
			done, err = use(all, mapped.Bytes())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	return done, err
}

// otherThanBloom returns the value that a format names, or the only one of a payload, if it
// is not a Bloom filter; nil otherwise.
func otherThanBloom(all []interop.RedisValue, spec interop.Spec) (*interop.RedisValue, error) {
	v := &all[0]
	if v.Key != "" || spec.Name == "rdb" || len(all) > 1 {
		if spec.Name != "rdb" {
			return nil, nil
		}
		var ok bool
		var err error
		if v, ok, err = interop.FindRedisValue(all, spec); err != nil || !ok {
			return nil, err
		}
	}
	if v.Bloom() {
		return nil, nil
	}
	return v, nil
}

// importOther imports a cuckoo filter, a sketch or a top-k of RedisBloom, and reports
// whether name is one.
func (a *app) importOther(cmd *cobra.Command, flags *importFlags, name, as string) (done bool, err error) {
	return withRedisValues(name, func(all []interop.RedisValue, _ []byte) (bool, error) {
		v, err := otherThanBloom(all, flags.foreign.format.spec)
		if v == nil || err != nil {
			return false, err
		}
		if len(flags.foreign.must) > 0 {
			return false, fmt.Errorf("--must-contain asks filters, and the value is a %s; leave it out", v.Type)
		}
		payload := v.Payload()
		if int64(len(payload)) > mostAtOnce {
			return false, errTooLong(len(payload))
		}
		if err := a.sendRestore(flags, as, payload, v.Expires); err != nil {
			return false, err
		}
		if !flags.records.quiet {
			a.say(cmd, "%s is %q in the server: %s, a value of the server's own", name, as, v.Type)
		}
		return true, nil
	})
}

func errTooLong(n int) error {
	return fmt.Errorf("the value has %s, more than the limit of %s for a command", figure.Bytes(uint64(n)), figure.Bytes(uint64(mostAtOnce)))
}

// importAll imports all values of RedisBloom in an RDB file, each under its key. It goes on
// after a value that the server refuses.
func (a *app) importAll(cmd *cobra.Command, flags *importFlags, name string) error {
	switch {
	case flags.name != "":
		return errors.New("--name is for one value; with --all each has the key of the file")
	case len(flags.foreign.must) > 0:
		return errors.New("--must-contain is for one filter; leave it out with --all")
	case flags.foreign.format.isSet() && flags.foreign.format.spec.Name != "rdb":
		return fmt.Errorf("--all is for RDB files, and not for the format %s", flags.foreign.format.spec)
	}
	done, err := withRedisValues(name, func(all []interop.RedisValue, file []byte) (bool, error) {
		if err := checkKeys(all); err != nil {
			return false, err
		}
		var failed []error
		for i := range all {
			v := &all[i]
			state, err := a.importValue(flags, v, file)
			switch {
			case a.ctx.Err() != nil:
				return false, err
			case err != nil:
				failed = append(failed, fmt.Errorf("key %q: %w", v.Key, err))
			case !flags.records.quiet:
				a.say(cmd, "%q: %s, %s", v.Key, v.Type, state)
			}
		}
		if len(failed) > 0 {
			return false, fmt.Errorf("%d of %d values are not imported: %w", len(failed), len(all), errors.Join(failed...))
		}
		return true, nil
	})
	if err == nil && !done {
		return fmt.Errorf("%s is not an RDB file with values of RedisBloom", name)
	}
	return err
}

// checkKeys returns an error if values cannot all have their keys in one server.
func checkKeys(all []interop.RedisValue) error {
	seen := map[string]bool{}
	for _, v := range all {
		switch {
		case v.Key == "":
			return errors.New("a payload has no key; import it without --all, with --name")
		case seen[v.Key]:
			return fmt.Errorf("key %q is in several databases, and the server has one; import each with --format rdb:key=%s,db=N and --name", v.Key, v.Key)
		}
		seen[v.Key] = true
	}
	return nil
}

// importValue imports a value of an RDB file under its key, and says what became of it.
func (a *app) importValue(flags *importFlags, v *interop.RedisValue, file []byte) (state string, err error) {
	if !v.Expires.IsZero() && !v.Expires.After(time.Now()) {
		return "expired " + v.Expires.UTC().Format(time.DateTime) + " UTC; not imported", nil
	}
	payload := v.Payload()
	switch {
	case int64(len(payload)) <= mostAtOnce:
		err = a.sendRestore(flags, v.Key, payload, v.Expires)
	case v.Bloom():
		err = a.importLong(flags, v, file)
	default:
		err = errTooLong(len(payload))
	}
	return "a value of the server's own", err
}

// importLong imports a Bloom filter that is too long for a command.
func (a *app) importLong(flags *importFlags, v *interop.RedisValue, file []byte) error {
	spec := interop.Spec{Name: "rdb", Params: map[string]string{"key": v.Key, "db": strconv.FormatUint(v.DB, 10)}}
	f, err := interop.Open(file, spec)
	if err != nil {
		return err
	}
	w, err := interop.Rewrap(f, interop.Spec{Name: "redisbloom"})
	if err != nil {
		return err
	}
	chunker, ok := w.(interop.Chunker)
	if !ok {
		return errTooLong(len(v.Payload()))
	}
	if err := a.sendChunked(flags, chunker, v.Key); err != nil || v.Expires.IsZero() {
		return err
	}
	return a.order(&flags.server, []byte("PEXPIREAT"), []byte(v.Key), strconv.AppendInt(nil, v.Expires.UnixMilli(), 10))
}

// convertOther converts a cuckoo filter, a sketch or a top-k of RedisBloom, and reports
// whether in is one.
func (a *app) convertOther(c *convertFlags, in, out string) (written int64, done bool, err error) {
	done, err = withRedisValues(in, func(all []interop.RedisValue, _ []byte) (bool, error) {
		v, err := otherThanBloom(all, c.foreign.format.spec)
		if v == nil || err != nil {
			return false, err
		}
		w, err := v.Convert(c.to.spec)
		if err != nil {
			return false, err
		}
		written, err = a.writeConverted(c, out, w)
		return true, err
	})
	return written, done, err
}

// writeConverted writes the result of a conversion to a file.
func (a *app) writeConverted(c *convertFlags, out string, w io.WriterTo) (int64, error) {
	if err := a.checkReplaceable(out, &foreignFlags{format: c.to}); err != nil {
		return 0, err
	}
	counted := &countedWriter{w: w}
	err := bloomfile.Write(out, counted)
	return counted.n, err
}
