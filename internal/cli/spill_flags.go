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
	dir string
	max flagvalue.Size
}

func (s *spillFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.dir, "spill", "", "put temporary files into `DIR` (default: $TMPDIR, or the system's folder; /tmp may be in memory)")
	f.Var(&s.max, "spill-max", "use at most this much disk for temporary files (default: no limit)")
}

// isSet reports whether one of the flags was given.
func (s *spillFlags) isSet() bool { return s.dir != "" || s.max != 0 }

// open returns the folder of the temporary files.
func (s *spillFlags) open() (*spill.Folder, error) {
	return spill.Open(spill.Config{Dir: s.dir, Max: uint64(s.max)})
}

// isNoRoom reports whether err says that the disk has no more room, or that temporary files
// cannot be made.
func isNoRoom(err error) bool {
	var full *spill.FullError
	var limit *spill.LimitError
	return errors.As(err, &full) || errors.As(err, &limit)
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
