package server

import (
	"slices"
	"strings"
)

// arguments reads the words of a command as docs/COMMANDS.md writes them, for
// COMMAND DOCS:
//
//	key item [item ...]     item once or more often
//	[NONSCALING]            a word that may be there
//	[EXPANSION expansion]   a value behind a word
//	[CAPACITY | SIZE]       one of these words
//	LAYOUT seen|redisbloom  a value that is one of these words
//
// What is in lower case stands for a value, whose name says of what kind it is.
func arguments(syntax string) []argument {
	words := strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ", " | ", "|").Replace(syntax))
	return argumentsOf(words)
}

func argumentsOf(words []string) (list []argument) {
	for len(words) > 0 {
		word, rest := words[0], words[1:]
		switch {
		case word == "[":
			end := closing(rest)
			inner := rest[:end]
			rest = rest[end+1:]
			if n := len(inner) - 1; inner[n] == "..." {
				again := one(slices.Clone(list[len(list)-n:]))
				again.multiple = true
				list = append(list[:len(list)-n], again)
			} else {
				a := one(argumentsOf(inner))
				a.optional = true
				list = append(list, a)
			}
		case isOption(word) && len(rest) > 0 && !isOption(rest[0]) && rest[0] != "[":
			a := value(rest[0])
			a.token = word
			if a.kind == "oneof" {
				a.name = strings.ToLower(word)
			}
			rest = rest[1:]
			list = append(list, a)
		default:
			list = append(list, value(word))
		}
		words = rest
	}
	return list
}

// closing returns the index of the bracket that closes the one before the words.
func closing(words []string) int {
	depth := 1
	return slices.IndexFunc(words, func(word string) bool {
		switch word {
		case "[":
			depth++
		case "]":
			depth--
		}
		return depth == 0
	})
}

// one makes one argument of several.
func one(list []argument) argument {
	if len(list) == 1 {
		return list[0]
	}
	return argument{name: "block", kind: "block", parts: list}
}

// value is the argument of one word.
func value(word string) argument {
	if choices := strings.Split(word, "|"); len(choices) > 1 {
		a := argument{name: "choice", kind: "oneof"}
		for _, choice := range choices {
			a.parts = append(a.parts, argument{name: strings.ToLower(choice), kind: "pure-token", token: choice})
		}
		return a
	}
	if isOption(word) {
		return argument{name: strings.ToLower(word), kind: "pure-token", token: word}
	}
	kind, ok := kinds[word]
	if !ok {
		kind = "string"
	}
	return argument{name: word, kind: kind}
}

func isOption(word string) bool { return word == strings.ToUpper(word) }

// kinds are those of values which are no strings.
var kinds = map[string]string{
	"key":           "key",
	"destination":   "key",
	"source":        "key",
	"error_rate":    "double",
	"error":         "double",
	"probability":   "double",
	"decay":         "double",
	"capacity":      "integer",
	"expansion":     "integer",
	"bucketsize":    "integer",
	"maxiterations": "integer",
	"iterator":      "integer",
	"increment":     "integer",
	"width":         "integer",
	"depth":         "integer",
	"k":             "integer",
	"numkeys":       "integer",
	"weight":        "integer",
}

// syntax writes arguments as docs/COMMANDS.md does.
func syntax(list []argument) string {
	var words []string
	for _, a := range list {
		var text string
		switch {
		case a.kind == "block":
			text = syntax(a.parts)
		case a.kind == "oneof" && a.token == "" && a.optional:
			text = choices(a, " | ")
		case a.kind == "oneof":
			text = choices(a, "|")
		case a.kind == "pure-token":
			text = a.token
		default:
			text = a.name
		}
		again := text
		if a.token != "" && a.kind != "pure-token" {
			text = a.token + " " + text
			if a.multipleToken {
				again = text
			}
		}
		if a.multiple {
			text += " [" + again + " ...]"
		}
		if a.optional {
			text = "[" + text + "]"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

func choices(a argument, between string) string {
	var words []string
	for _, part := range a.parts {
		words = append(words, syntax([]argument{part}))
	}
	return strings.Join(words, between)
}
