// Command seen answers "have I seen this before?" for streams of lines: it
// removes duplicates, filters by sets, and builds, merges and inspects Bloom
// filters. Run "seen --help", or see docs/GUIDE.md.
package main

import (
	"context"
	"os"

	"seen/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
	}))
}
