package server

import (
	"errors"
	"strings"

	"seen/internal/store"
)

const (
	wrongType   = "WRONGTYPE Operation against a key holding the wrong kind of value"
	outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."
)

// own is the text of a command for an error of the store. A text that ends in ": " is
// followed by the error; "" means the general text.
type own struct {
	is   error
	text string
}

// Errors that own texts can be for, in addition to those of the store.
var (
	// errMachineMemory is ErrMemory without a limit: the machine has no memory left.
	errMachineMemory = errors.New("the machine has no memory left")
	// errAnyOther is errMachineMemory and every error that is about the command alone.
	errAnyOther = errors.New("any other error of the command")
)

// storeError returns the reply to an error of the store: the first of the texts that is
// for it, else the general text.
func (c *call) storeError(err error, texts ...own) string {
	noMemory := errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0
	for _, t := range texts {
		var fits bool
		switch t.is {
		case errMachineMemory:
			fits = noMemory
		case errAnyOther:
			fits = noMemory || !aboutServer(err)
		default:
			fits = errors.Is(err, t.is)
		}
		switch {
		case !fits:
			continue
		case strings.HasSuffix(t.text, ": "):
			return t.text + err.Error()
		case t.text != "":
			return t.text
		}
		break
	}
	switch {
	case errors.Is(err, store.ErrMemory):
		return outOfMemory
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrFailed):
		// Clients know by this word that a server cannot write to its disk.
		return "MISCONF " + err.Error()
	}
	return "ERR " + err.Error()
}

// aboutServer reports whether an error is about the state of the server: it would refuse
// any similar write now.
func aboutServer(err error) bool {
	for _, all := range []error{store.ErrMemory, store.ErrDiskFull, store.ErrFailed, store.ErrClosed} {
		if errors.Is(err, all) {
			return true
		}
	}
	return false
}

// confirm replies OK to a change at log position at, or replies with its error.
func (c *call) confirm(at store.LSN, err error, texts ...own) {
	c.after(at)
	if err != nil {
		c.out.Error(c.storeError(err, texts...))
		return
	}
	c.out.OK()
}
