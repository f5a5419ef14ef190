package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/setfile"
	"seen/interop"
)

// convertFlags are the flags of "seen convert".
type convertFlags struct {
	foreign foreignFlags
	login   fleetFlags
	to      formatValue
	quiet   bool
}

func (a *app) convertCommand() *cobra.Command {
	var c convertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT --to FORMAT",
		Short: "convert a filter to another format of its system",
		Long: `Write the bits of a filter of another system, unchanged, in another format that maps a
key to the same bits. That is nearly always another format of the same system. To load
it into a server, use import; to make a filter from keys, use build.

Cuckoo filters, count-min sketches and top-k of RedisBloom are converted between the
payload of DUMP (redisbloom) and an RDB file (rdb:key=KEY).

A filter stores bits, not keys, so no other conversion is possible. A conversion that
is refused prints the reason and the command that builds the filter from its keys.

With --to redisbloom:form=chunks, an OUT that ends in a slash is a folder for the files
chunk-NNN.bin that BF.LOADCHUNK loads.`,
		Example: `  seen convert dump.rdb --format rdb:key=urls urls.dump --to redisbloom
  seen convert urls.dump urls.chunks/ --to redisbloom:form=chunks
  seen convert a.bin a.rdb --format redisson:m=9585058,k=7 --to rdb:key=a`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("to") {
				return usagef("name the format to write: --to FORMAT, see \"seen formats\"")
			}
			return arguments(2, 2, "IN OUT")(cmd, args)
		},
		ValidArgsFunction: filesUpTo(2),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.convert(cmd, &c, args[0], args[1]) },
	}
	c.foreign.registerFormat(cmd)
	c.login.registerPassword(cmd)
	c.foreign.login = &c.login
	cmd.Flags().Var(&c.to, "to", "what to write; see \"seen formats\"")
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "no report")
	return cmd
}

func (a *app) convert(cmd *cobra.Command, c *convertFlags, in, out string) error {
	if err := c.login.check(cmd, in); err != nil {
		return err
	}
	if written, done, err := a.convertOther(c, in, out); done || err != nil {
		if err == nil && !c.quiet {
			a.say(cmd, "%s: %s, %s", out, c.to.spec, figure.Bytes(uint64(written)))
		}
		return err
	}
	opened, err := a.openFile(in, &c.foreign, true)
	switch {
	case err != nil:
		return err
	case opened.Kind == setfile.KindOwn:
		return fmt.Errorf("%s cannot be converted: a filter stores bits and not keys, and no other system maps a key to the bits that seen does; build it from the keys: seen build --format %s -o OUT KEYS", in, c.to.spec)
	case opened.Kind == setfile.KindText:
		return fmt.Errorf("%s is not a filter in a format that can be detected; name the format with --format, or build one from its lines: seen build --format %s -o %s %s", in, c.to.spec, out, in)
	}
	f := opened.Foreign
	defer f.Close() // it is only read
	var written int64
	err = f.Read(func() error {
		w, err := interop.Rewrap(f.Filter, c.to.spec)
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if strings.HasSuffix(out, string(os.PathSeparator)) {
			written, err = writeChunks(out, w)
			return err
		}
		written, err = a.writeConverted(c, out, w)
		return err
	})
	if err != nil || c.quiet {
		return err
	}
	a.say(cmd, "%s: %s, %s", out, c.to.spec, figure.Bytes(uint64(written)))
	return nil
}

// countedWriter counts the bytes that it writes.
type countedWriter struct {
	w io.WriterTo
	n int64
}

func (c *countedWriter) WriteTo(w io.Writer) (n int64, err error) {
	c.n, err = c.w.WriteTo(w)
	return c.n, err
}

// writeChunks creates a folder and writes the chunks of a dump into it. The folder must not
// exist: chunks of another dump in it would become part of this one.
func writeChunks(folder string, w io.WriterTo) (int64, error) {
	chunker, ok := w.(interop.Chunker)
	if !ok {
		return 0, errors.New("only RedisBloom's chunks are a folder; give --to redisbloom:form=chunks, or the name of a file")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, err
	}
	total := int64(0)
	i := 0
	for chunk, err := range chunker.Chunks() {
		if err != nil {
			return total, err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("chunk-%03d.bin", i)), chunk, 0o600); err != nil {
			return total, err
		}
		total += int64(len(chunk))
		i++
	}
	return total, nil
}
