package cli

import (
	"os"

	"seen/internal/stream/input"
)

// refuseOwnOutput returns an error if standard output is one of the inputs, as in
// "seen uniq --mark f >> f": the run would read what it writes, until the disk is full.
func (a *app) refuseOwnOutput(in *input.Files) error {
	file, ok := a.env.Stdout.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // what is written to anything else is not kept for readers
	}
	if name, is := in.Find(info); is {
		return usagef("%s is the input and the output; write to another file, and rename it at the end", name)
	}
	return nil
}
