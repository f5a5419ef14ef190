package cli

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"seen/internal/redistest"
)

// scriptMain runs the tests and lets the scripts under testdata run this test
// binary as "seen".
func scriptMain(m *testing.M) {
	testscript.Main(withLab{m}, map[string]func(){
		"seen": func() {
			os.Exit(Run(context.Background(), Env{
				Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
			}))
		},
	})
}

// lab has the engines that the tests talk to.
var lab redistest.Lab

// withLab runs the tests, and stops the engines after them.
type withLab struct{ *testing.M }

func (m withLab) Run() int { return lab.Run(m.M, os.Stderr) }

func TestScripts(t *testing.T) {
	vectors, err := filepath.Abs("../../interop/testdata")
	if err != nil {
		t.Fatal(err)
	}
	later, err := filepath.Abs("../../bloomfile/testdata/v1/blocked-rules.seen")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("VECTORS", vectors) // filters that other systems have written
			e.Setenv("LATER", later)     // a filter of which a later version has made the keys
			if testing.Short() {
				return nil // scripts with an engine begin with [short] skip
			}
			e.Setenv("REDIS", "redis://"+lab.Server(t).Addr())
			e.Setenv("HOST", lab.Server(t).Addr())
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitCode,
		},
	})
}

// exitCode runs a command and demands its exit code: exitcode 3 seen uniq ...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := args[0]; want != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}
