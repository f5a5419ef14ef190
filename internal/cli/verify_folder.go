package cli

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"seen/internal/figure"
	"seen/internal/setfile"
	"seen/internal/store"
)

// folderReport is what verify reports about a backup or the data folder of a server.
type folderReport struct {
	Kind       string         `json:"kind"` // "data" or "backup"
	Filters    int            `json:"filters"`
	Files      int            `json:"files"`
	Bytes      uint64         `json:"bytes"`
	Operations uint64         `json:"log_operations"`
	Damage     []folderDamage `json:"damage,omitempty"`
	Extra      []string       `json:"extra,omitempty"`
}

// folderDamage is a file that is missing or damaged.
type folderDamage struct {
	Filter string `json:"filter,omitempty"` // the filter that needs File; empty if all do
	File   string `json:"file"`
	Error  string `json:"error"`
}

// String returns what follows the word ok in the report.
func (r *folderReport) String() string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf(", a %s with %s filters, which has %s in %s files beside the database", map[string]string{"data": "data folder", "backup": "backup"}[r.Kind],
		figure.Comma(uint64(r.Filters)), figure.Bytes(r.Bytes), figure.Comma(uint64(r.Files)))
	if n := len(r.Extra); n > 0 {
		text += fmt.Sprintf("; %d files do not belong to it, for example %s", n, r.Extra[0])
	}
	return text
}

// isDataFolder reports whether a name is a folder other than one with the chunks of a dump.
func isDataFolder(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() { // the error comes when it is opened as a filter
		return false
	}
	chunks, err := setfile.ChunksIn(name)
	return err == nil && len(chunks) == 0
}

// verifyFolder verifies a data folder or a backup.
func (a *app) verifyFolder(dir string, quiet bool) (*folderReport, []error, error) {
	var o store.VerifyOptions
	stop := func() {}
	if f, ok := terminal(a.env.Stderr); ok && !quiet {
		bar := newBar(f, 1, progressbar.OptionSetDescription(dir))
		var last atomic.Int64
		o.Progress = func(done, total uint64) {
			if now := time.Now().UnixMilli(); now-last.Load() > 100 {
				last.Store(now)
				bar.ChangeMax64(int64(total))
				_ = bar.Set64(int64(done)) // progress is shown as far as it can be
			}
		}
		stop = func() { _ = bar.Clear() } // progress is shown as far as it can be
	}
	v, err := store.Verify(a.ctx, dir, o)
	stop()
	if errors.Is(err, store.ErrLocked) {
		return nil, nil, fmt.Errorf("%w; a running server checks its own files; to check more, verify a backup of it (seen backup)", err)
	}
	if err != nil {
		return nil, nil, err
	}
	r := &folderReport{Kind: "data", Filters: v.Filters, Files: v.Files, Bytes: v.Bytes, Operations: v.Operations, Extra: v.Extra}
	if v.Backup {
		r.Kind = "backup"
	}
	var problems []error
	for _, p := range v.Problems {
		problems = append(problems, p)
		r.Damage = append(r.Damage, folderDamage{p.Filter, p.File, p.Err.Error()})
	}
	return r, problems, nil
}
