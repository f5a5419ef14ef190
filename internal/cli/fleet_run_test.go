package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"seen/internal/remote"
	"seen/internal/stream"
)

// A connection that breaks has the same error number as an output whose reader is gone,
// which ends a run with success.
func TestFleetBrokenConnection(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{env: Env{Stderr: &stderr}, ctx: t.Context()}
	r := fleetRun{app: a, fleet: &fleet{flags: new(fleetFlags)}, cmd: &cobra.Command{Use: "uniq"}, prints: true}
	v := remote.Verdicts{Yes: []bool{false}, Undecided: []int{0}, Errs: []error{fmt.Errorf("no answer: %w", syscall.EPIPE), errors.New("timeout")}}
	r.Adds = true
	r.Undecided.Add(&stream.Block{File: "urls"}, &v)
	if code := a.finish(r.cmd, r.explain(nil)); code != ExitError {
		t.Errorf("exit code %d, want %d", code, ExitError)
	}
	for _, want := range []string{"stopped: line", "of urls is undecided", "no answer: broken pipe; timeout"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in %q", want, &stderr)
		}
	}
}
