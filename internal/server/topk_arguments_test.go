package server

import (
	"testing"

	"seen/internal/store"
)

func TestParseTopKReserve(t *testing.T) {
	const (
		arity = "ERR wrong number of arguments for 'topk.reserve' command"
		decay = "TopK: invalid decay value. must be '<= 1' & '> 0'"
	)
	for _, c := range []struct {
		line    string
		want    store.TopKConfig
		problem string
	}{
		{"TOPK.RESERVE k 50", store.TopKConfig{K: 50, Width: 8, Depth: 7, Decay: 0.9}, ""},
		{"TOPK.RESERVE k 1 2000 7 0.925", store.TopKConfig{K: 1, Width: 2000, Depth: 7, Decay: 0.925}, ""},
		{"TOPK.RESERVE k 1 1 1 1", store.TopKConfig{K: 1, Width: 1, Depth: 1, Decay: 1}, ""},
		{"TOPK.RESERVE k", store.TopKConfig{}, arity},
		{"TOPK.RESERVE k 0", store.TopKConfig{}, "TopK: invalid k"},
		{"TOPK.RESERVE k -1", store.TopKConfig{}, "TopK: invalid k"},
		{"TOPK.RESERVE k x x x x", store.TopKConfig{}, "TopK: invalid k"},
		{"TOPK.RESERVE k 4294967296", store.TopKConfig{}, "TopK: invalid k"},
		{"TOPK.RESERVE k 50 0 7 0.9", store.TopKConfig{}, "TopK: invalid width"},
		{"TOPK.RESERVE k 50 x x x", store.TopKConfig{}, "TopK: invalid width"},
		{"TOPK.RESERVE k 50 8 0 0.9", store.TopKConfig{}, "TopK: invalid depth"},
		{"TOPK.RESERVE k 50 8 x x", store.TopKConfig{}, "TopK: invalid depth"},
		{"TOPK.RESERVE k 50 8 7 0", store.TopKConfig{}, decay},
		{"TOPK.RESERVE k 50 8 7 1.1", store.TopKConfig{}, decay},
		{"TOPK.RESERVE k 50 8 7 -1", store.TopKConfig{}, decay},
		{"TOPK.RESERVE k 50 8 7 nan", store.TopKConfig{}, decay},
		{"TOPK.RESERVE k 50 8 7 x", store.TopKConfig{}, decay},
	} {
		var o store.TopKConfig
		args, problem := takenWords(c.line)
		if problem == "" {
			o, problem = parseTopKReserve(args)
		}
		if problem != c.problem {
			t.Errorf("%s: %q; want %q", c.line, problem, c.problem)
		} else if problem == "" && o != c.want {
			t.Errorf("%s: %+v; want %+v", c.line, o, c.want)
		}
	}
}

func TestParseIncrement(t *testing.T) {
	for _, c := range []struct {
		arg     string
		want    uint32
		problem string
	}{
		{"0", 0, ""},
		{"100000", 100000, ""},
		{"100001", 0, badIncrement},
		{"-5", 0, badIncrement},
		{"x", 0, badIncrement},
	} {
		if n, problem := parseIncrement([]byte(c.arg)); n != c.want || problem != c.problem {
			t.Errorf("%s: %d, %q; want %d, %q", c.arg, n, problem, c.want, c.problem)
		}
	}
}
