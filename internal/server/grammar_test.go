package server

import (
	"strings"
	"testing"
)

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

func TestArguments(t *testing.T) {
	for _, text := range []string{
		"key",
		"key item [item ...]",
		"key item increment [item increment ...]",
		"key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]",
		"key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
		"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
		"key k [width depth decay]",
	} {
		if got := syntax(arguments(text)); got != text {
			t.Errorf("%s\nis read as\n%s", text, got)
		}
	}
	list := arguments("destination numkeys [LAYOUT seen|redisbloom] [width depth] ITEMS item [item ...]")
	if len(list) != 5 || list[0].kind != "key" || list[1].kind != "integer" ||
		list[2].kind != "oneof" || list[2].token != "LAYOUT" || !list[2].optional || len(list[2].parts) != 2 || list[2].parts[0].kind != "pure-token" ||
		list[3].kind != "block" || !list[3].optional || len(list[3].parts) != 2 ||
		list[4].token != "ITEMS" || !list[4].multiple || list[4].optional || list[4].kind != "string" {
		t.Errorf("%+v", list)
	}
}
