package cli

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"seen/internal/resp"
	"seen/internal/store"
	"seen/interop"
)

// importFlags are the flags of "seen import".
type importFlags struct {
	server  backupFlags
	foreign foreignFlags
	records recordFlags
	name    string
	replace bool
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import SET",
		Short: "load a filter of another system into a running server",
		Long: `Load a filter of another system into a running server, which answers from it as the
other system would, keeps it over restarts, and refuses to change it: BF.EXISTS,
BF.MEXISTS, BF.INFO, DUMP, DEL and the like serve, BF.ADD is an error. Keys are sent
as they are; for a filter of numbers they are decimal digits. A filter of RedisBloom
becomes one of the server's own, which takes keys too.

SET is at most 512 MiB. seen's own filter files cannot be imported: a server hashes
keys with a secret of its own.`,
		Example: `  seen import guava.bloom --format guava:funnel=string --name users --must-contain alice
  seen import dump.rdb --format rdb:key=urls --server 10.0.0.7:6380 --password-file pass`,
		Args:              arguments(1, 1, "SET"),
		ValidArgsFunction: filesUpTo(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.importFile(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the `NAME` of the filter in the server (default: that of the file)")
	flags.BoolVar(&f.replace, "replace", false, "take the place of what has the name already")
	flags.BoolVarP(&f.records.quiet, "quiet", "q", false, "no report")
	_ = cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	f.server.register(cmd, "server")
	f.foreign.register(cmd)
	return cmd
}

func (a *app) importFile(cmd *cobra.Command, flags *importFlags, name string) error {
	kind, f, err := a.kindOf(name, &flags.foreign, false)
	switch {
	case err != nil:
		return err
	case kind == ownSet:
		return fmt.Errorf("%s is a filter file of seen, whose keys are hashed otherwise than a server hashes them; send the keys to the server, with BF.MADD or over HTTP", name)
	case kind == textSet:
		return fmt.Errorf("%s is no filter of a format that content tells; name it with --format", name)
	}
	defer f.Close()
	set, err := f.lookup(&flags.records)
	if err != nil {
		return err
	}
	if err := a.checkMembers([]*lookupSet{set}, &flags.records, &flags.foreign); err != nil {
		return err
	}
	as := flags.name
	if as == "" {
		as = filepath.Base(filepath.Clean(name))
	}
	var payload []byte
	state := "read-only"
	err = f.read(func() error {
		var native bool
		payload, native, err = restorable(f)
		if native {
			state = "a filter of the server's own"
		}
		return err
	})
	if err != nil {
		return err
	}
	if limit := resp.DefaultLimits.Bulk; len(payload) > limit {
		return fmt.Errorf("%s takes %s, and a server takes at most %s in one command", name, formatBytes(uint64(len(payload))), formatBytes(uint64(limit)))
	}
	command := [][]byte{[]byte("RESTORE"), []byte(as), []byte("0"), payload}
	if flags.replace {
		command = append(command, []byte("REPLACE"))
	}
	if err := a.order(&flags.server, command...); err != nil {
		return err
	}
	if !flags.records.quiet {
		a.say(cmd, "%s is %q in the server: %s, %s", name, as, f.filter.Describe().Format, state)
	}
	return nil
}

// restorable returns what RESTORE takes: the payload of RedisBloom's own, native, where
// the filter can be one, and otherwise its bytes with the format that opens them.
func restorable(f *foreignFile) (payload []byte, native bool, err error) {
	if w, err := interop.Rewrap(f.filter, interop.Spec{Name: "redisbloom"}); err == nil {
		var b bytes.Buffer
		_, err := w.WriteTo(&b)
		return b.Bytes(), true, err
	}
	spec, err := interop.ParseSpec(f.filter.Describe().Format)
	if err != nil {
		return nil, false, err
	}
	return store.AppendForeign(nil, spec, f.bytes), false, nil
}
