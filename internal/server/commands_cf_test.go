package server

import "testing"

func TestCuckooTranscript(t *testing.T) { transcript(t, "cf") }
