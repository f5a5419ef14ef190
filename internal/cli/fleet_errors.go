package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"seen/cluster"
	"seen/internal/remote"
)

// oneLine is an error whose text has no line ends, as joined errors have. What it is
// made of stays inside: a connection that broke is not the output that somebody closed.
type oneLine struct{ text string }

func (e oneLine) Error() string { return e.text }

// advised returns the text of err with advice in place of the one that the library
// gives to programs, behind the last semicolon.
func advised(err error, advice string) error {
	text := err.Error()
	if at := strings.LastIndex(text, "; "); at >= 0 {
		text = text[:at]
	}
	return adding(text, ""+advice)
}

// adding returns an error with the text of err and advice.
func adding(text, advice string) error { return oneLine{strings.TrimRight(text, " .") + "; " + advice} }

// explain gives an error of a filter elsewhere the words of the command. What the
// user of the command cannot do anything about stays as it is.
func (f *fleetFlags) explain(err error) error {
	where := "--redis URL --name NAME"
	if f.server != "" {
		where = "--server HOST --name NAME"
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case err == nil:
		return nil
	case strings.Contains(text, "NOPERM"):
		return adding(text, "choose another user with --user and --password-file, or ask the administrator of the engine to run ACL SETUSER USER "+f.rights())
	case f.redis != "" && strings.Contains(text, "MOVED "):
		return adding(text, "the engine belongs to a cluster, and this user may not list its nodes; ask its administrator to run ACL SETUSER USER "+f.rights())
	case errors.Is(err, cluster.ErrFull):
		return err
	case errors.Is(err, cluster.ErrNotFound) && f.adds:
		return advised(err, "with -n N it is created")
	case errors.Is(err, cluster.ErrNotFound):
		return advised(err, fmt.Sprintf("\"seen add %s -n N\" creates it", where))
	case errors.Is(err, cluster.ErrMissingSlice):
		return advised(err, fmt.Sprintf("\"seen clear %s\" makes the filter whole, and empty", where))
	case errors.Is(err, cluster.ErrOtherParameters) && strings.Contains(text, "its own parameters"):
		return advised(err, f.ownParameters(text))
	case strings.Contains(text, "no record of a filter"):
		// It may be a bitmap, of which a reader of the record can say nothing of use.
		return adding(strings.SplitAfter(text, "no record of a filter")[0]+", and so no filter that a fleet shares",
			"a string of Redisson or another system is asked with \"seen check --format FORMAT redis://HOST/NAME\", see \"seen formats\"")
	case errors.Is(err, cluster.ErrNoBloom):
		return advised(err, "use --redis, or --server with a \"seen serve\"")
	case errors.Is(err, context.DeadlineExceeded):
		return oneLine{strings.ReplaceAll(text, context.DeadlineExceeded.Error(), fmt.Sprintf("no answer within --timeout %v", &f.timeout))}
	case strings.Contains(text, "OOM command"):
		return adding(text, "raise the maxmemory of the engine or make a smaller filter")
	case f.redis != "" && strings.Contains(text, "unknown command"):
		return adding(text, "this is no Redis or Valkey: for a \"seen serve\" or another server of Bloom filters use --server in place of --redis")
	}
	return explainLogin(err)
}

// rights returns what a user of the engine has to be allowed, as ACL SETUSER takes it.
func (f *fleetFlags) rights() string {
	use, text := cluster.UseAdd, f.redis
	if f.server != "" {
		use, text = cluster.UseServer, f.server
	}
	name := f.name
	if at, err := remote.ParseAddress(text); err == nil && name == "" {
		name = at.Name
	}
	return cluster.ACL(use, name)
}

// explainLogin tells what to do about an engine that refuses who asks.
func explainLogin(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "NOAUTH"):
		return oneLine{strings.SplitAfter(text, "NOAUTH")[0] + ": a password is wanted; give it with --password-file or in " + passwordVariable + ", and a user with --user"}
	case strings.Contains(text, "WRONGPASS"):
		return adding(text, "see --user and --password-file")
	case strings.Contains(text, "NOPERM"):
		return adding(text, "choose another with --user and --password-file")
	}
	return err
}

// ownParameters is how a filter is used that has other parameters, as text says.
func (f *fleetFlags) ownParameters(text string) string {
	switch {
	case strings.Contains(text, "hash is ") || strings.Contains(text, "seed is ") || strings.Contains(text, "key id is "):
		return "give its own --seed or --secret, or choose another name"
	case f.server != "":
		return "leave out -n and -p to use it as it is, or choose another name"
	}
	return "leave out -n, -p and --slice to use it as it is, or choose another name"
}

// leaves returns the errors that err joins, and those that they join.
func leaves(err error) []error {
	if u, ok := err.(*cluster.UndecidedError); ok {
		return leaves(u.Err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range joined.Unwrap() {
		all, texts = append(all, leaves(e)...), append(texts, e.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err} // one error, whose parts say how it was noticed
	}
	return all
}

// reasons tells in one line why records are undecided. What several slices or batches
// share is told once.
func (f *fleetFlags) reasons(err error) error {
	var all []error
	for _, e := range leaves(err) {
		k, isKey := e.(*cluster.KeyError)
		same := slices.IndexFunc(all, func(have error) bool {
			other, ok := have.(*cluster.KeyError)
			if ok && isKey {
				return other.Err.Error() == k.Err.Error()
			}
			return have.Error() == e.Error()
		})
		switch {
		case same >= 0 && isKey:
			keys := slices.Concat(all[same].(*cluster.KeyError).Keys, k.Keys)
			slices.Sort(keys)
			all[same] = &cluster.KeyError{Keys: slices.Compact(keys), Err: k.Err}
		case same < 0:
			all = append(all, e)
		}
	}
	var texts []string
	for _, e := range all {
		texts = append(texts, strings.ReplaceAll(f.explain(e).Error(), "\n", ", "))
	}
	return oneLine{strings.Join(texts, "; ")}
}

// isFull reports whether nothing but a full filter keeps keys from being decided.
func isFull(err error) bool {
	return err != nil && !slices.ContainsFunc(leaves(err), func(e error) bool { return !errors.Is(e, cluster.ErrFull) })
}

// notAdded reports whether the keys that err leaves undecided are certainly not in
// the filter because of this run.
func notAdded(err error) bool {
	switch e := err.(type) {
	case *cluster.UndecidedError:
		return e.NotAdded
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(e error) bool { return !notAdded(e) })
	}
	return false
}
