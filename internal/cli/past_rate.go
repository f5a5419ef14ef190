package cli

import (
	"context"
	"fmt"

	"seen/bloom"
	"seen/internal/figure"
	"seen/sizing"
)

// A filter past its error rate says yes to new keys more often than it was made for.
// Every command that uses such a filter says so at its end, and exits with ExitLimit
// instead of success: its output is what the filter says, and lines may be missing.

// pastError is the error about a filter past its error rate.
func pastError(name string, now, asked float64, added, capacity uint64) error {
	text := fmt.Sprintf("%s is past its error rate: it says yes to a new key with probability %s instead of %s",
		name, figure.Rate(figure.ThreeDigits(now)), figure.Rate(asked))
	if capacity > 0 {
		text += fmt.Sprintf(", with %s keys in a filter for %s", figure.Comma(added), figure.Comma(capacity))
	}
	return &exitError{ExitLimit, fmt.Errorf("%s; make a larger filter", text)}
}

// pastBuilt is past for a filter that was built from a number of keys.
func pastBuilt(name string, st bloom.Stats, keys uint64) error {
	if !pastRate(st) {
		return nil
	}
	return &exitError{ExitLimit, fmt.Errorf("%s is past its error rate: it says yes to a new key with probability %s instead of %s, since %s keys came in for a filter for %s; build it with -n %d, or without -n",
		name, figure.Rate(figure.ThreeDigits(st.ErrorRate)), figure.Rate(st.AskedErrorRate), figure.Comma(keys), figure.Comma(st.Capacity), roomFor(keys))}
}

// past returns the error about a filter, nil unless it is past its error rate.
func past(name string, st bloom.Stats) error {
	if !pastRate(st) {
		return nil
	}
	return pastError(name, st.ErrorRate, st.AskedErrorRate, st.Added, st.Capacity)
}

// refusePast returns the error about a change of a filter that would take it past its error
// rate, nil if it does not. Nothing is written yet.
func refusePast(name string, st bloom.Stats, change string) error {
	if !pastRate(st) {
		return nil
	}
	n := st.Added
	if n == 0 && st.Cardinality.Known() { // the file does not say how many
		n = uint64(st.Cardinality.Value)
	}
	text := fmt.Sprintf("%s would be past its error rate, and is not written: it would say yes to a new key with probability %s instead of %s",
		name, figure.Rate(figure.ThreeDigits(st.ErrorRate)), figure.Rate(st.AskedErrorRate))
	if st.Capacity > 0 {
		text += fmt.Sprintf(", with %s keys in a filter for %s", figure.Comma(n), figure.Comma(st.Capacity))
	}
	larger := "build a larger one from all keys"
	switch st.Type {
	case "blocked", "classic", "partitioned", "counting":
		larger += " with " + buildCommand(st.Type, n, st.AskedErrorRate, "")
	}
	return &exitError{ExitLimit, fmt.Errorf("%s; %s, or %s with --force", text, larger, change)}
}

// orPast returns err, or the error of check if the command succeeded or said no. check
// may be nil.
func orPast(err error, check func() error) error {
	if err != nil && err != errNo || check == nil {
		return err
	}
	if pastErr := check(); pastErr != nil {
		return pastErr
	}
	return err
}

// past is past for a filter on other machines, of which it reads only a sample.
func (f *fleet) past(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	if f.Server != nil {
		i, err := f.Server.Info(ctx)
		if err != nil {
			return f.flags.explain(err)
		}
		if len(pastCapacity(i.Added, i.Capacity)) == 0 {
			return nil
		}
		return &exitError{ExitLimit, fmt.Errorf("%s is past its capacity: %s keys are in layers for %s; make a larger filter", f.Label, figure.Comma(i.Added), figure.Comma(i.Capacity))}
	}
	now, surely, asked, err := f.Fleet.ErrorRate(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the error rate of %s is not known: %w", f.Label, f.flags.explain(err))
	case !sizing.PastRate(surely, asked):
		return nil
	}
	return pastError(f.Label, now, asked, 0, 0)
}
