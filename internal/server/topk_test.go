package server

import "testing"

func TestTopKTranscript(t *testing.T) { transcript(t, "topk") }
