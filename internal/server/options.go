package server

import (
	"fmt"
	"strings"
)

// The functions in the files options*.go read the words of a command. They are
// pure: words in, options or a problem out. A problem is the text of the error
// reply, "" if there is none; those without ERR in front are without it on the
// wire too. args[0] is always the name of the command.

// isWord reports whether arg is word, an upper-case one, in any case.
func isWord(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if upper(c) != word[i] {
			return false
		}
	}
	return true
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// findWord returns the index of the first of args that is word, from index from
// on; -1 if there is none.
func findWord(args [][]byte, from int, word string) int {
	for i := from; i < len(args); i++ {
		if isWord(args[i], word) {
			return i
		}
	}
	return -1
}

// letter returns the letter number i of an option word, upper-case, and 0 after
// its end.
func letter(arg []byte, i int) byte {
	if i >= len(arg) {
		return 0
	}
	return upper(arg[i])
}

// wrongArity is the problem of a command with too few or too many words.
func wrongArity(args [][]byte) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(string(args[0])))
}

// within reports whether lowest <= n <= highest.
func within(n, lowest, highest int64) bool {
	return lowest <= n && n <= highest
}
