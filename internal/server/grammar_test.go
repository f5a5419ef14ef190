package server

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
