package args

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, text := range []string{
		"key",
		"key item [item ...]",
		"key item increment [item increment ...]",
		"key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]",
		"key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
		"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
		"key topk [width depth decay]",
		"[protover [AUTH username password] [SETNAME clientname]]",
		"[rule [rule ...]]",
	} {
		if got := syntax(Of(text)); got != text {
			t.Errorf("%s\nis read as\n%s", text, got)
		}
	}
	list := Of("destination numKeys [LAYOUT seen|redisbloom] [width depth] ITEMS item [item ...]")
	if len(list) != 6 || list[0].Kind != "key" || list[1].Kind != "integer" ||
		list[2].Kind != "oneof" || list[2].Token != "LAYOUT" || !list[2].Optional || len(list[2].Parts) != 2 || list[2].Parts[0].Kind != "pure-token" ||
		list[3].Kind != "block" || !list[3].Optional || len(list[3].Parts) != 2 ||
		list[4].Token != "ITEMS" || list[4].Kind != "pure-token" || list[5].Name != "item" || !list[5].Multiple || list[5].Optional || list[5].Kind != "string" {
		t.Errorf("%+v", list)
	}
	// The names of RedisBloom.
	for text, want := range map[string]string{
		"key topk [width depth decay]":                                          "key topk params",
		"key item increment [item increment ...]":                               "key item_increment",
		"destination numKeys source [source ...] [WEIGHTS weight [weight ...]]": "key numKeys source weights",
		"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]":                   "key single_value",
		"key [ERROR error] [NOCREATE] ITEMS item [item ...]":                    "key error nocreate items item",
	} {
		var names []string
		for _, a := range Of(text) {
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the arguments are called %s instead of %s", text, got, want)
		}
	}
}

// What Of makes of the words of each command in the documents has all of them.
func TestArgumentsOfAllCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "COMMANDS.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?m)^(?:\\| `|    )([A-Z][A-Z.]*(?: [A-Z]+)?)((?: [^`\n]*)?)(?:`|$)").FindAllStringSubmatch(string(text), -1)
	if len(lines) < 100 {
		t.Fatalf("%d commands", len(lines))
	}
	for _, line := range lines {
		words := strings.TrimSpace(strings.ReplaceAll(line[2], `\|`, "|"))
		if got := syntax(Of(words)); got != words {
			t.Errorf("%s: %s\nis read as\n%s", line[1], words, got)
		}
	}
}

// syntax writes arguments in the form that Of reads.
func syntax(list []Argument) string {
	var words []string
	for _, a := range list {
		var text string
		switch {
		case a.Kind == "block":
			text = syntax(a.Parts)
		case a.Kind == "oneof" && a.Token == "" && a.Optional:
			text = choices(a, " | ")
		case a.Kind == "oneof":
			text = choices(a, "|")
		case a.Kind == "pure-token":
			text = a.Token
		default:
			text = a.Text
		}
		again := text
		if a.Token != "" && a.Kind != "pure-token" {
			text = a.Token + " " + text
		}
		if a.Multiple {
			text += " [" + again + " ...]"
		}
		if a.Optional {
			text = "[" + text + "]"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

func choices(a Argument, between string) string {
	var words []string
	for _, part := range a.Parts {
		words = append(words, syntax([]Argument{part}))
	}
	return strings.Join(words, between)
}
