package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/cluster"
	"seen/internal/cli/daemon"
	"seen/internal/cli/flagvalue"
	"seen/internal/remote"
)

// fleetFlags name a filter on other machines that is used in place of a file, and say
// how to reach it.
type fleetFlags struct {
	redis        string
	server       string
	name         string
	user         string
	passwordFile string
	timeout      flagvalue.Duration
	wait         int
	slice        flagvalue.Size
	adds         bool       // the command adds keys
	hashing      *hashFlags // of the command
	needRedis    []string   // flags that need --redis or --server
	forLogin     []string   // flags that may also be for a SET that is redis://HOST/NAME
}

// passwordVariable is the variable that redis-cli reads the password from, too.
const passwordVariable = "REDISCLI_AUTH"

// register gives cmd the flags. A command that adds may create the filter.
func (f *fleetFlags) register(cmd *cobra.Command, h *hashFlags, adds bool) {
	flags := cmd.Flags()
	f.registerPlace(cmd)
	f.adds = adds
	if adds {
		flags.IntVar(&f.wait, "wait", 0, "with --redis: continue when `N` replicas have what was added")
		flags.Var(&f.slice, "slice", "with --redis and -n: parts of at most this size (default 16 MiB - 4 KiB)")
		f.needRedis = append(f.needRedis, "wait", "slice")
	}
	f.registerAccess(cmd, h)
}

// registerPlace gives cmd the flags that name a filter.
func (f *fleetFlags) registerPlace(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "use the filter --name in the Redis or Valkey at `URL`, shared by many machines; redis://HOST[:PORT], with USER:PASSWORD@ before the HOST and more as ,HOST[:PORT] behind it; rediss:// for TLS; ?sentinel=PRIMARY for Sentinel")
	flags.StringVar(&f.server, "server", "", "use the filter --name of a \"seen serve\" or of RedisBloom, by BF.MADD and BF.MEXISTS: `HOST`[:PORT] (default port 6380), or a URL as for --redis")
	flags.StringVar(&f.name, "name", "", "with --redis and --server: the `NAME` of the filter")
	f.needRedis = append(f.needRedis, "name")
}

// registerAccess gives cmd the flags for the connection, and those of h that it does not
// have yet.
func (f *fleetFlags) registerAccess(cmd *cobra.Command, h *hashFlags) {
	f.hashing = h
	has := func(name string) bool { return cmd.Flags().Lookup(name) != nil }
	hasSeed, hasSecret := has("seed"), has("secret")
	flags := cmd.Flags()
	f.registerLogin(cmd)
	if !hasSeed {
		flags.Uint64Var(&h.seed, "seed", 0, "in Redis: the filter has the key hash with seed `S`")
		f.needRedis = append(f.needRedis, "seed")
	}
	if !hasSecret {
		flags.StringVar(&h.secret, "secret", "", "in Redis: the filter has the secret in `FILE`; without one its hash is public")
		f.needRedis = append(f.needRedis, "secret")
	}
}

// registerLogin gives cmd the flags about the connection.
func (f *fleetFlags) registerLogin(cmd *cobra.Command) {
	f.registerPassword(cmd)
	flags := cmd.Flags()
	f.timeout = flagvalue.Duration(30 * time.Second)
	flags.Var(&f.timeout, "timeout", "in Redis: how long to wait for an answer, including reconnections and failovers")
	f.needRedis = append(f.needRedis, "timeout")
}

// registerPassword gives cmd the flags for the login.
func (f *fleetFlags) registerPassword(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "in Redis: log in as `USER`")
	flags.StringVar(&f.passwordFile, "password-file", "", "in Redis: the password is the first line of `FILE` (default: the environment variable "+passwordVariable+")")
	f.forLogin = append(f.forLogin, "user", "password-file")
}

// registerCreation gives cmd, which adds keys, the flags that create a filter.
func (f *fleetFlags) registerCreation(cmd *cobra.Command, capacity *flagvalue.Count, rate *flagvalue.Rate) {
	flags := cmd.Flags()
	flags.VarP(capacity, "capacity", "n", "with --redis or --server: create the filter, if it does not exist, for N distinct keys")
	flags.VarP(rate, "error-rate", "p", "with -n: its error rate (default 1e-6)")
	f.needRedis = append(f.needRedis, "capacity", "error-rate")
}

func (f *fleetFlags) isSet() bool { return f.redis != "" || f.server != "" }

// arguments requires SET as the first argument, unless --redis or --server is given.
func (f *fleetFlags) arguments(cmd *cobra.Command, args []string) error {
	if f.isSet() {
		return nil
	}
	if err := f.check(cmd, args[:min(1, len(args))]...); err != nil {
		return err
	}
	return arguments(1, anyMore, "SET")(cmd, args)
}

// check refuses flags that need --redis or --server. The flags of the login are also for
// sets that are strings of Redis.
func (f *fleetFlags) check(cmd *cobra.Command, sets ...string) error {
	if f.isSet() {
		return nil
	}
	refused := f.needRedis
	if !slices.ContainsFunc(sets, remote.IsAddress) {
		refused = slices.Concat(refused, f.forLogin)
	}
	for _, name := range refused {
		if cmd.Flags().Changed(name) {
			return usagef("--%s needs --redis or --server", name)
		}
	}
	return nil
}

// address returns where the filter is, with the name and the login, which may be given by
// flags, a file or the environment.
func (f *fleetFlags) address(a *app) (remote.Address, error) {
	text, flag, parse := f.redis, "--redis", remote.ParseAddress
	if f.server != "" {
		text, flag, parse = f.server, "--server", remote.ParseServerAddress
	}
	at, err := parse(text)
	if err != nil {
		return at, usagef("%s: %w", flag, err)
	}
	switch {
	case f.redis != "" && f.server != "":
		return at, usagef("give either --redis or --server")
	case f.timeout <= 0:
		return at, usagef("--timeout %v: give a time above 0", &f.timeout)
	case f.name != "" && at.Name != "" && f.name != at.Name:
		return at, usagef("--name is %q and the name in %s is %q; give one", f.name, flag, at.Name)
	case f.name != "":
		at.Name = f.name
	case at.Name == "":
		return at, usagef("--name is missing: the name of the filter")
	}
	return at, f.login(a, &at)
}

func (f *fleetFlags) login(a *app, at *remote.Address) error {
	if f.user != "" {
		at.User = f.user
	}
	if f.passwordFile != "" {
		password, err := daemon.ReadPassword(f.passwordFile)
		at.Password = password
		return err
	}
	if at.Password == "" {
		at.Password = daemon.Variable(a.env.Environ, passwordVariable)
	}
	return nil
}

// toAdd opens the filter for a command that adds keys: with -n it is created if it does not
// exist. w says how long keys are remembered.
func (f *fleetFlags) toAdd(a *app, cmd *cobra.Command, capacity flagvalue.Count, rate flagvalue.Rate, w fleetWindow) (*fleet, error) {
	c := cluster.WindowConfig{Config: cluster.Config{Wait: cluster.Wait{Replicas: f.wait}}, Span: w.span, NoRefresh: w.noRefresh}
	flags := cmd.Flags()
	switch {
	case !flags.Changed("capacity") && (flags.Changed("error-rate") || flags.Changed("slice") || w.span != 0):
		return nil, usagef("with --redis and --server, -p, --slice and --window are for a filter that is created; give -n too")
	case !flags.Changed("capacity"):
		return f.open(a, c)
	case capacity == 0:
		return nil, usagef("-n 0: a filter needs room for at least one key")
	}
	c.Capacity, c.ErrorRate, c.SliceBytes = uint64(capacity), float64(rate), uint64(f.slice)
	if rate == 0 {
		c.ErrorRate = defaultRate
	}
	return f.open(a, c)
}

// fleetWindow says how long a filter that is created remembers keys; the zero value stands
// for ever.
type fleetWindow struct {
	span      time.Duration
	noRefresh bool
}

// toAsk opens the filter, which must exist.
func (f *fleetFlags) toAsk(a *app) (*fleet, error) { return f.open(a, cluster.WindowConfig{}) }

// fleet is an open filter on other machines.
type fleet struct {
	*remote.Filter
	flags *fleetFlags
}

func (f *fleetFlags) open(a *app, c cluster.WindowConfig) (*fleet, error) {
	var err error
	if c.Capacity == 0 {
		// The filter must exist, and a new secret would not fit it.
		if _, err = f.hashing.load(); err != nil {
			return nil, err
		}
	}
	if c.Hash, err = f.hashing.hash(); err != nil {
		return nil, err
	}
	if err := f.checkServer(c); err != nil {
		return nil, err
	}
	at, err := f.address(a)
	if err != nil {
		return nil, err
	}
	filter, err := remote.Open(a.ctx, at, remote.Config{WindowConfig: c, Timeout: f.limit()})
	if err != nil {
		return nil, f.explain(err)
	}
	return &fleet{filter, f}, nil
}

// dial connects to the filter's engine or server.
func (f *fleetFlags) dial(a *app) (remote.Address, remote.Client, error) {
	at, err := f.address(a)
	if err != nil {
		return at, nil, err
	}
	client, err := at.Dial()
	return at, client, f.explain(err)
}

// limit is how long a call may take.
func (f *fleetFlags) limit() time.Duration { return time.Duration(f.timeout) }

// checkServer refuses flags that do not apply to a server.
func (f *fleetFlags) checkServer(c cluster.WindowConfig) error {
	switch {
	case f.server == "":
	case c.Hash != bloom.Hash{}:
		return usagef("--seed and --secret cannot be combined with --server, which has its own hash")
	case c.Span != 0:
		return usagef("--window cannot be combined with --server, whose filters forget nothing; use --redis")
	case c.Wait.Replicas != 0 || c.SliceBytes != 0:
		return usagef("--wait and --slice cannot be combined with --server")
	}
	return nil
}
