//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

// lockHolder does not know who has locked a file on this system.
func lockHolder(string) int { return 0 }

// shareLock locks nothing: on this system a server cannot lock a folder either.
func shareLock(string) (release func(), err error) { return func() {}, nil }
