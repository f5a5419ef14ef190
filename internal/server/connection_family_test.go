package server

import "testing"

func TestConnectionTranscript(t *testing.T) { transcript(t, "connection") }
