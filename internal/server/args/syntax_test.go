package args

import "testing"

func TestArguments(t *testing.T) {
	for _, text := range []string{
		"key",
		"key item [item ...]",
		"key item increment [item increment ...]",
		"key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]",
		"key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
		"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
		"key k [width depth decay]",
		"[protover [AUTH username password] [SETNAME clientname]]",
		"[rule [rule ...]]",
	} {
		if got := Syntax(Of(text)); got != text {
			t.Errorf("%s\nis read as\n%s", text, got)
		}
	}
	list := Of("destination numkeys [LAYOUT seen|redisbloom] [width depth] ITEMS item [item ...]")
	if len(list) != 5 || list[0].Kind != "key" || list[1].Kind != "integer" ||
		list[2].Kind != "oneof" || list[2].Token != "LAYOUT" || !list[2].Optional || len(list[2].Parts) != 2 || list[2].Parts[0].Kind != "pure-token" ||
		list[3].Kind != "block" || !list[3].Optional || len(list[3].Parts) != 2 ||
		list[4].Token != "ITEMS" || !list[4].Multiple || list[4].Optional || list[4].Kind != "string" {
		t.Errorf("%+v", list)
	}
}
