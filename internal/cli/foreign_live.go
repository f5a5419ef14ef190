package cli

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

// liveTimeout is how long an engine may take for a string, of 512 MiB at most.
const liveTimeout = 2 * time.Minute

// openLive reads a filter of another system that lies in strings of a running engine:
// redis://HOST/NAME. The strings are copied, a piece at a time, and nothing is written.
func (a *app) openLive(address string, flags *foreignFlags, inspect bool) (*foreignFile, error) {
	spec := flags.format.spec
	if spec.Name == "" {
		return nil, usagef("a string of Redis does not tell what it is: give --format, for example redisson or redis-recipe:type=md5; or --redis for a filter of seen")
	}
	at, err := remote.ParseAddress(address)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if at.Name == "" {
		return nil, usagef("%s: the name of the filter is missing, as in redis://HOST/NAME", at)
	}
	login := flags.login
	if login == nil {
		login = new(fleetFlags)
	}
	if err := login.login(a, &at); err != nil {
		return nil, err
	}
	client, err := at.Dial()
	if err != nil {
		return nil, explainLogin(err)
	}
	defer client.Close()
	live := liveStrings{ctx: a.ctx, client: client}
	f := &foreignFile{name: at.String()}
	if spec, err = live.complete(spec, at.Name); err != nil {
		return nil, explainLogin(fmt.Errorf("%s: %w", f.name, err))
	}
	content, err := live.content(spec, at.Name)
	if err != nil {
		return nil, explainLogin(fmt.Errorf("%s: %w", f.name, err))
	}
	f.size = int64(len(content))
	return f, f.open(content, spec, inspect)
}

// liveStrings reads strings of an engine.
type liveStrings struct {
	ctx    context.Context
	client cluster.Engine
}

// read returns a string.
func (l liveStrings) read(key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(l.ctx, liveTimeout)
	defer cancel()
	return cluster.AppendString(ctx, l.client, nil, key)
}

// complete adds to a format what the engine knows of it: Redisson keeps the size and
// the number of probes beside the string.
func (l liveStrings) complete(spec interop.Spec, name string) (interop.Spec, error) {
	if spec.Name != "redisson" || spec.Params["m"] != "" && spec.Params["k"] != "" {
		return spec, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, liveTimeout)
	defer cancel()
	m, k, err := cluster.RedissonSize(ctx, l.client, name)
	if err != nil {
		return spec, fmt.Errorf("%w; or give both, --format redisson:m=SIZE,k=HASHES", err)
	}
	params := map[string]string{"m": strconv.FormatUint(m, 10), "k": strconv.FormatUint(k, 10)}
	maps.Copy(params, spec.Params)
	spec.Params = params
	return spec, nil
}

// content returns the filter as a file has it.
func (l liveStrings) content(spec interop.Spec, name string) ([]byte, error) {
	return interop.ReadStrings(spec, name, func(key string) ([]byte, bool, error) {
		b, err := l.read(key)
		if errors.Is(err, cluster.ErrNotFound) {
			return nil, false, nil
		}
		return b, err == nil, err
	})
}
