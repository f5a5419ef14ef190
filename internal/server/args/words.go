package args

import (
	"fmt"
	"strings"

	"seen/internal/resp"
)

// Error texts of Redis that many commands share.
const (
	NotInteger  = "ERR value is not an integer or out of range"
	SyntaxError = "ERR syntax error"
)

// Is reports whether word is name in any case. name is in upper case.
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

// Find returns the index of the first word that is name, starting at from, or -1.
func Find(words [][]byte, from int, name string) int {
	for i := from; i < len(words); i++ {
		if Is(words[i], name) {
			return i
		}
	}
	return -1
}

// Letter returns letter i of a word in upper case, 0 after its end.
func Letter(word []byte, i int) byte {
	if i >= len(word) {
		return 0
	}
	return upper(word[i])
}

// Int reads an integer in [lowest, highest].
func Int(word []byte, lowest, highest int64) (n int64, ok bool) {
	n, ok = resp.ParseInt(word)
	return n, ok && Within(n, lowest, highest)
}

// Within reports whether lowest <= n <= highest.
func Within(n, lowest, highest int64) bool { return lowest <= n && n <= highest }

// Fraction reads a number between 0 and 1, exclusive.
func Fraction(word []byte) (x float64, ok bool) {
	x, ok = resp.ParseFloat(word)
	return x, ok && x > 0 && x < 1
}

// WrongNumber is the error for a wrong number of words; command is the full name.
func WrongNumber(command string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", command)
}

// WrongArity is [WrongNumber] for the command of the words.
func WrongArity(words [][]byte) string { return WrongNumber(strings.ToLower(string(words[0]))) }
