package server

import "testing"

func TestCountMinTranscript(t *testing.T) { transcript(t, "cms") }
