package args

import (
	"slices"
	"strings"
)

// An Argument describes words of a command for COMMAND DOCS.
type Argument struct {
	Name, Kind, Token string // Kind: key, string, integer, double, pure-token, oneof, block
	Optional          bool
	Multiple          bool
	Parts             []Argument // of a oneof or a block
}

// Of reads a syntax line of docs/COMMANDS.md for COMMAND DOCS:
//
//	key item [item ...]     item once or more often
//	[NONSCALING]            an optional word
//	[EXPANSION expansion]   an optional word with a value
//	[CAPACITY | SIZE]       one of these words
//	LAYOUT seen|redisbloom  a value that is one of these words
//
// A word in lower case is a value; its name determines its kind.
func Of(syntax string) []Argument {
	words := strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ", " | ", "|").Replace(syntax))
	return read(words)
}

func read(words []string) (list []Argument) {
	for len(words) > 0 {
		word, rest := words[0], words[1:]
		switch {
		case word == "[":
			end := closing(rest)
			inner := rest[:end]
			rest = rest[end+1:]
			if n := len(inner) - 1; inner[n] == "..." {
				again := one(slices.Clone(list[len(list)-n:]))
				again.Multiple = true
				list = append(list[:len(list)-n], again)
			} else {
				a := one(read(inner))
				a.Optional = true
				list = append(list, a)
			}
		case isOption(word) && len(rest) > 0 && !isOption(rest[0]) && rest[0] != "[":
			a := value(rest[0])
			a.Token = word
			if a.Kind == "oneof" {
				a.Name = strings.ToLower(word)
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

// closing returns the index of the bracket that closes an earlier one.
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

func one(list []Argument) Argument {
	if len(list) == 1 {
		return list[0]
	}
	return Argument{Name: "block", Kind: "block", Parts: list}
}

func value(word string) Argument {
	if choices := strings.Split(word, "|"); len(choices) > 1 {
		a := Argument{Name: "choice", Kind: "oneof"}
		for _, choice := range choices {
			a.Parts = append(a.Parts, Argument{Name: strings.ToLower(choice), Kind: "pure-token", Token: choice})
		}
		return a
	}
	if isOption(word) {
		return Argument{Name: strings.ToLower(word), Kind: "pure-token", Token: word}
	}
	kind, ok := kinds[word]
	if !ok {
		kind = "string"
	}
	return Argument{Name: word, Kind: kind}
}

func isOption(word string) bool { return word == strings.ToUpper(word) }

// kinds has the names of values that are not strings.
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
