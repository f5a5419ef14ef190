package cli

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
	"seen/internal/spill"
)

// spillFlags say where a command that uses up its memory goes on, on disk.
type spillFlags struct {
	dir    string
	max    flagvalue.Size
	opened *spill.Folder
}

func (s *spillFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.dir, "spill", "", "put temporary files into `DIR` (default: $TMPDIR, or the system's folder; /tmp may be in memory)")
	// It fails only for flags that do not exist or have a function already.
	_ = cmd.RegisterFlagCompletionFunc("spill", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	f.Var(&s.max, "spill-max", "use at most this much disk for temporary files (default: no limit)")
}

// isSet reports whether one of the flags was given.
func (s *spillFlags) isSet() bool { return s.dir != "" || s.max != 0 }

// folder returns the folder of the temporary files, which is opened when it is needed. A run
// that stays in memory needs none.
func (s *spillFlags) folder() (*spill.Folder, error) {
	if s.opened == nil {
		f, err := spill.Open(spill.Config{Dir: s.dir, Max: uint64(s.max)})
		if err != nil {
			return nil, &folderError{err}
		}
		s.opened = f
	}
	return s.opened, nil
}

// check returns an error if a folder was named and cannot be used.
func (s *spillFlags) check() error {
	if s.dir == "" {
		return nil
	}
	_, err := s.folder()
	return err
}

// folderError says that a folder for temporary files cannot be used.
type folderError struct{ error }

func (e *folderError) Unwrap() error { return e.error }

// isNoRoom reports whether err says that the disk has no more room, or that temporary files
// cannot be made.
func isNoRoom(err error) bool {
	var full *spill.FullError
	var limit *spill.LimitError
	var folder *folderError
	return errors.As(err, &full) || errors.As(err, &limit) || errors.As(err, &folder)
}

// describeNoRoom returns an error of a spill.Folder with sizes as people write them.
func (s *spillFlags) describeNoRoom(err error) string {
	var full *spill.FullError
	var limit *spill.LimitError
	switch {
	case errors.As(err, &full):
		return fmt.Sprintf("the disk of %s is full (%v), with %s of temporary files", full.Dir, full.Err, humanize.IBytes(full.Used))
	case errors.As(err, &limit):
		return fmt.Sprintf("--spill-max %v is used up by the temporary files in %s", &s.max, limit.Dir)
	}
	return err.Error()
}

// describeFolder returns the name of a folder for temporary files, and how much is free there.
func describeFolder(f *spill.Folder) string {
	if free, known := f.Free(); known {
		return fmt.Sprintf("%s (%s free)", f.Dir(), humanize.IBytes(free))
	}
	return f.Dir()
}

// noteInMemory says if temporary files save no memory.
func (a *app) noteInMemory(cmd *cobra.Command, f *spill.Folder) {
	if f.InMemory() {
		a.say(cmd, "note: %s is in memory, too; name a folder on a disk with --spill DIR", f.Dir())
	}
}
