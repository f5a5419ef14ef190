package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// This file reads what engines answer in place of a result. Nothing else in the module
// looks into the text of an answer.

// Code is why an engine has refused a command: the first word of its answer, or
// [UnknownCommand]. It is part of the protocol.
type Code string

// The codes that need another action than trying again.
const (
	// NoPermission: the user may not run the command, or not on the key.
	NoPermission Code = "NOPERM"
	// NoLogin: the engine wants a password.
	NoLogin Code = "NOAUTH"
	// WrongPassword: there is no user with the name and the password.
	WrongPassword Code = "WRONGPASS"
	// OutOfMemory: the engine has no memory for what is written.
	OutOfMemory Code = "OOM"
	// Moved: the engine belongs to a cluster whose nodes the client could not list.
	Moved Code = "MOVED"
	// UnknownCommand: the engine does not have the command.
	UnknownCommand Code = "ERR unknown command"
)

// CodeOf returns the code with which an engine has refused a command, if err or an error
// within it is such a refusal, and "" otherwise.
func CodeOf(err error) Code {
	e, ok := refusal(err)
	if !ok {
		return ""
	}
	// A transaction names the refusal behind this.
	text := strings.TrimPrefix(e.Error(), "EXECABORT Transaction discarded because of: ")
	if word, _, _ := strings.Cut(text, " "); word == strings.ToUpper(word) {
		return Code(word)
	}
	// The library removes ERR, the code of all other refusals.
	if strings.HasPrefix("ERR "+text, string(UnknownCommand)) {
		return UnknownCommand
	}
	return "ERR"
}

// refusal returns the error with which the engine has answered, if err is one, also
// within others.
func refusal(err error) (*rueidis.RedisError, bool) {
	var e *rueidis.RedisError
	ok := errors.As(err, &e)
	return e, ok && !rueidis.IsRedisNil(e)
}

// refused reports whether the engine has answered a command with an error: then it
// was not executed.
func refused(err error) bool {
	_, ok := refusal(err) // the error is err itself
	return ok
}

// passing reports whether the engine has refused a command for a reason that goes
// away by itself, so that trying again makes sense. The library follows redirections
// except on connections that only one call uses, see redirect.go.
func passing(err error) bool {
	return slices.Contains([]Code{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", Moved, "ASK", "REDIRECT"}, CodeOf(err))
}

// executed reports whether a server has run the command that it refuses: "seen serve"
// says so of a write that it could not put into its log.
func executed(err error) bool {
	e, ok := refusal(err)
	return ok && strings.Contains(e.Error(), "outcome of this command is not known")
}

// unsent reports whether a command has failed before it was sent, since there was no
// connection.
func unsent(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "dial" || errors.Is(err, rueidis.ErrNoSlot)
}

// explain returns err, of a command about key, as the error that callers branch on.
func explain(key string, err error) error {
	if CodeOf(err) == "WRONGTYPE" {
		return &NotFilterError{Key: key, Holds: "a value of another type (WRONGTYPE)"}
	}
	return about(key, err)
}

// serverError is explain for the BF commands, whose refusals have no codes of their own.
func serverError(name string, err error) error {
	e, ok := refusal(err)
	switch {
	case err == nil:
		return nil
	case ok && strings.Contains(e.Error(), "not found"):
		return fmt.Errorf("%q: %w: %w", name, ErrNotFound, err)
	case ok && strings.Contains(e.Error(), "filter is full"):
		return fmt.Errorf("%q: %w: %w; make a larger one", name, ErrFull, err)
	case CodeOf(err) == UnknownCommand:
		return fmt.Errorf("%w: %w", ErrNoBloom, err)
	}
	return explain(name, err)
}

// exists reports whether BF.RESERVE was refused because there is a filter of the name.
func exists(err error) bool {
	e, ok := refusal(err)
	return ok && strings.Contains(e.Error(), "exists")
}
