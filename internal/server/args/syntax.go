package args

import (
	"slices"
	"strings"
)

// An Argument describes words of a command for COMMAND DOCS.
type Argument struct {
	Name, Kind, Token string // Kind: key, string, integer, double, pure-token, oneof, block
	Text              string // of a value: its word in the syntax line
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
// A word in lower case is a value; its name determines its kind. Arguments that are more
// than one word have the names that RedisBloom gives them.
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
				if n > 1 {
					again.Name = joined(again.Parts)
				}
				list = append(list[:len(list)-n], again)
			} else {
				a := one(read(inner))
				a.Optional = true
				list = append(list, a)
			}
		case isOption(word) && len(rest) > 0 && !isOption(rest[0]) && !repeats(rest):
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

// repeats reports whether words do not begin with one value: as in RedisBloom, a word
// before several values is an argument of its own.
func repeats(words []string) bool {
	return words[0] == "[" || len(words) > 3 && words[1] == "[" && words[2] == words[0] && words[3] == "..."
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
	name := "params"
	if list[0].Kind == "pure-token" {
		name = list[0].Name
	}
	return Argument{Name: name, Kind: "block", Parts: list}
}

// joined is the name of values that come together several times.
func joined(parts []Argument) string {
	var names []string
	for _, part := range parts {
		names = append(names, part.Name)
	}
	return strings.Join(names, "_")
}

func value(word string) Argument {
	if choices := strings.Split(word, "|"); len(choices) > 1 {
		a := Argument{Name: "single_value", Kind: "oneof"}
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
	a := Argument{Name: word, Kind: kind, Text: word}
	if word == "destination" {
		a.Name = "key"
	}
	return a
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
	"topk":          "integer",
	"numKeys":       "integer",
	"weight":        "integer",
}
