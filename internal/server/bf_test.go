package server

import "testing"

func TestBloomTranscripts(t *testing.T) {
	for _, name := range []string{"bf_reserve", "bf_add", "bf_insert", "bf_info", "bf_dump", "bf_sets"} {
		t.Run(name, func(t *testing.T) { transcript(t, name) })
	}
}

func TestFamiliesTranscript(t *testing.T) { transcript(t, "families") }
