package server

import "testing"

func TestParseTopKReserve(t *testing.T) {
	const (
		arity = "ERR wrong number of arguments for 'topk.reserve' command"
		decay = "TopK: invalid decay value. must be '<= 1' & '> 0'"
	)
	for _, c := range []struct {
		line    string
		want    topKOptions
		problem string
	}{
		{"TOPK.RESERVE k 50", topKOptions{50, 8, 7, 0.9}, ""},
		{"TOPK.RESERVE k 1 2000 7 0.925", topKOptions{1, 2000, 7, 0.925}, ""},
		{"TOPK.RESERVE k 1 1 1 1", topKOptions{1, 1, 1, 1}, ""},
		{"TOPK.RESERVE k", topKOptions{}, arity},
		{"TOPK.RESERVE k 50 8", topKOptions{}, arity},
		{"TOPK.RESERVE k 50 8 7", topKOptions{}, arity},
		{"TOPK.RESERVE k 50 8 7 0.9 1", topKOptions{}, arity},
		{"TOPK.RESERVE k 0", topKOptions{}, "TopK: invalid k"},
		{"TOPK.RESERVE k -1", topKOptions{}, "TopK: invalid k"},
		{"TOPK.RESERVE k x x x x", topKOptions{}, "TopK: invalid k"},
		{"TOPK.RESERVE k 4294967296", topKOptions{}, "TopK: invalid k"},
		{"TOPK.RESERVE k 50 0 7 0.9", topKOptions{}, "TopK: invalid width"},
		{"TOPK.RESERVE k 50 x x x", topKOptions{}, "TopK: invalid width"},
		{"TOPK.RESERVE k 50 8 0 0.9", topKOptions{}, "TopK: invalid depth"},
		{"TOPK.RESERVE k 50 8 x x", topKOptions{}, "TopK: invalid depth"},
		{"TOPK.RESERVE k 50 8 7 0", topKOptions{}, decay},
		{"TOPK.RESERVE k 50 8 7 1.1", topKOptions{}, decay},
		{"TOPK.RESERVE k 50 8 7 -1", topKOptions{}, decay},
		{"TOPK.RESERVE k 50 8 7 nan", topKOptions{}, decay},
		{"TOPK.RESERVE k 50 8 7 x", topKOptions{}, decay},
	} {
		o, problem := parseTopKReserve(words(c.line))
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
