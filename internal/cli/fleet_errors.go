package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"seen/cluster"
	"seen/internal/remote"
)

// oneLine is an error of one line, without the line ends of joined errors. It does not
// wrap them: a broken connection must not look like an output that its reader has closed.
type oneLine struct{ text string }

func (e oneLine) Error() string { return e.text }

// explain adds to an error of a filter on other machines what the user can do about it.
func (f *fleetFlags) explain(err error) error {
	if err == nil {
		return nil
	}
	return withAdvice(err, f.advice(err))
}

// withAdvice returns err with advice behind it, if there is any.
func withAdvice(err error, advice string) error {
	if advice == "" {
		return err
	}
	return oneLine{strings.TrimRight(err.Error(), " .") + "; " + advice}
}

// advice says which option or command helps against err, "" if none does.
func (f *fleetFlags) advice(err error) string {
	where := "--redis URL --name NAME"
	if f.server != "" {
		where = "--server HOST --name NAME"
	}
	if e, ok := errors.AsType[*cluster.ParameterError](err); ok {
		return f.parameterAdvice(e)
	}
	if e, ok := errors.AsType[*cluster.NotFilterError](err); ok {
		switch {
		case e.Newer:
			return "use a newer version of seen, or choose another name"
		case e.Key != f.filterName():
			return fmt.Sprintf("it should be a part of the filter: delete it, and \"seen clear %s\" repairs the filter and empties it", where)
		case e.Record || f.adds || f.server != "":
			return "choose another name, or delete the key"
		}
		return "for a filter of Redisson or another system use \"seen check --format FORMAT redis://HOST/NAME\", see \"seen formats\""
	}
	code := cluster.CodeOf(err)
	switch {
	case code == cluster.NoPermission:
		return loginAdvice(err) + ", or ask the administrator of the engine to run ACL SETUSER USER " + f.rights()
	case code == cluster.Moved && f.redis != "":
		return "the engine belongs to a cluster, and this user may not list its nodes; ask its administrator to run ACL SETUSER USER " + f.rights()
	case errors.Is(err, cluster.ErrFull):
		return ""
	case errors.Is(err, cluster.ErrNotFound) && f.adds:
		return "with -n N it is created"
	case errors.Is(err, cluster.ErrNotFound):
		return fmt.Sprintf("\"seen add %s -n N\" creates it", where)
	case errors.Is(err, cluster.ErrMissingSlice):
		return fmt.Sprintf("\"seen clear %s\" repairs the filter and empties it", where)
	case errors.Is(err, cluster.ErrNoBloom):
		return "use --redis, or --server with a \"seen serve\""
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("there was no answer within --timeout %v", &f.timeout)
	case code == cluster.OutOfMemory:
		return "raise the maxmemory of the engine or make a smaller filter"
	case code == cluster.UnknownCommand && f.redis != "":
		return "this is not Redis or Valkey: for a \"seen serve\" or another server of Bloom filters use --server in place of --redis"
	}
	return loginAdvice(err)
}

// explainLogin adds to the error of an engine that cannot be reached, or refuses the
// user, what to do about it.
func explainLogin(err error) error { return withAdvice(err, loginAdvice(err)) }

// loginAdvice says what to do about an engine that cannot be reached, or refuses the
// user, "" for other errors.
func loginAdvice(err error) string {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return "check the address, and that the engine is running"
	}
	switch cluster.CodeOf(err) {
	case cluster.NoLogin:
		return "give it with --password-file or in " + passwordVariable + ", and a user with --user"
	case cluster.WrongPassword:
		return "see --user and --password-file"
	case cluster.NoPermission:
		return "choose another user with --user and --password-file"
	}
	return ""
}

// rights returns the rights that the user needs in the engine, as rules for ACL SETUSER.
func (f *fleetFlags) rights() string {
	use := cluster.UseAdd
	if f.server != "" {
		use = cluster.UseServer
	}
	return cluster.ACL(use, f.filterName())
}

// filterName returns the name of the filter, which --name or the address gives.
func (f *fleetFlags) filterName() string {
	if at, err := remote.ParseAddress(cmp.Or(f.redis, f.server)); err == nil && f.name == "" {
		return at.Name
	}
	return f.name
}

// parameterAdvice says how to use a filter that has other parameters.
func (f *fleetFlags) parameterAdvice(e *cluster.ParameterError) string {
	created := "-n, -p and --slice"
	switch e.Parameter {
	case "Hash":
		return "give its own --seed or --secret, or choose another name"
	case "Kind", "Span", "Generations", "NoRefresh":
		created = "-n, -p, --slice, --window and --no-refresh"
	}
	if f.server != "" {
		created = "-n and -p"
	}
	return "leave out " + created + " to use it as it is, or choose another name"
}

// reasons says in one line why lines are undecided, given the errors of the calls.
func (f *fleetFlags) reasons(errs []error) error {
	var texts []string
	for _, e := range remote.Reasons(errs) {
		texts = append(texts, strings.ReplaceAll(f.explain(e).Error(), "\n", ", "))
	}
	return oneLine{strings.Join(texts, "; ")}
}
