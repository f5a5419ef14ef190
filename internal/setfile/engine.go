package setfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"seen/cluster"
	"seen/internal/remote"
	"seen/interop"
)

// liveTimeout is the time that an engine has to send a string of up to 512 MiB.
const liveTimeout = 2 * time.Minute

// ReadEngine reads a filter of another system that is in strings of a running engine,
// under the key name; label is what messages call it. The strings are copied, a piece at a
// time, and nothing is written.
func ReadEngine(ctx context.Context, client remote.Client, name, label string, c Config) (*Foreign, error) {
	live := liveStrings{ctx: ctx, client: client}
	spec, err := live.complete(c.Format, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	content, err := live.content(spec, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	f := &Foreign{Name: label, Size: int64(len(content))}
	if err := f.open(content, spec, c.Inspect); err != nil {
		return nil, err
	}
	return f, nil
}

// liveStrings reads strings of an engine.
type liveStrings struct {
	ctx    context.Context
	client remote.Client
}

// complete adds to a format the parameters that the engine has: Redisson keeps the size
// and the number of probes in a key of their own.
func (l liveStrings) complete(spec interop.Spec, name string) (interop.Spec, error) {
	if spec.Name != "redisson" || spec.Params["m"] != "" && spec.Params["k"] != "" {
		return spec, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, liveTimeout)
	defer cancel()
	m, k, err := remote.RedissonSize(ctx, l.client, name)
	if err != nil {
		return spec, fmt.Errorf("%w; or give both as parameters of the format: redisson:m=SIZE,k=HASHES", err)
	}
	params := map[string]string{"m": strconv.FormatUint(m, 10), "k": strconv.FormatUint(k, 10)}
	maps.Copy(params, spec.Params)
	spec.Params = params
	return spec, nil
}

// content returns the filter as a file has it.
func (l liveStrings) content(spec interop.Spec, name string) ([]byte, error) {
	return interop.ReadStrings(spec, name, func(key string) ([]byte, bool, error) {
		ctx, cancel := context.WithTimeout(l.ctx, liveTimeout)
		defer cancel()
		b, err := remote.AppendString(ctx, l.client, nil, key)
		if errors.Is(err, cluster.ErrNotFound) {
			return nil, false, nil
		}
		return b, err == nil, err
	})
}
