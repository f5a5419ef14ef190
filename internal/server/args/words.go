package args

import (
	"fmt"
	"strings"

	"seen/internal/resp"
)

// Errors that many commands share, in the words of Redis.
const (
	NotInteger  = "ERR value is not an integer or out of range"
	SyntaxError = "ERR syntax error"
)

// Is reports whether word is name, which is in upper case, in any case.
func Is(word []byte, name string) bool {
	if len(word) != len(name) {
		return false
	}
	for i, c := range word {
		if upper(c) != name[i] {
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

// Find returns the index of the first of words that is name, from index from on;
// -1 if there is none.
func Find(words [][]byte, from int, name string) int {
	for i := from; i < len(words); i++ {
		if Is(words[i], name) {
			return i
		}
	}
	return -1
}

// Letter returns letter i of a word, in upper case, and 0 after its end.
func Letter(word []byte, i int) byte {
	if i >= len(word) {
		return 0
	}
	return upper(word[i])
}

// Int reads a whole number between lowest and highest. Otherwise ok is false.
func Int(word []byte, lowest, highest int64) (n int64, ok bool) {
	n, ok = resp.ParseInt(word)
	return n, ok && Within(n, lowest, highest)
}

// Within reports whether lowest <= n <= highest.
func Within(n, lowest, highest int64) bool { return lowest <= n && n <= highest }

// Fraction reads a number between 0 and 1, both excluded. Otherwise ok is false.
func Fraction(word []byte) (x float64, ok bool) {
	x, ok = resp.ParseFloat(word)
	return x, ok && x > 0 && x < 1
}

// WrongNumber is the error of a command, called by its full name, with too few or
// too many words.
func WrongNumber(command string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", command)
}

// WrongArity is [WrongNumber] for the command that the words call.
func WrongArity(words [][]byte) string { return WrongNumber(strings.ToLower(string(words[0]))) }
