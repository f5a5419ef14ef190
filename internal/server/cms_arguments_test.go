package server

import (
	"fmt"
	"slices"
	"testing"
)

func TestParseCountMinByDim(t *testing.T) {
	const arity = "ERR wrong number of arguments for 'cms.initbydim' command"
	for _, c := range []struct {
		line         string
		width, depth int64
		problem      string
	}{
		{"CMS.INITBYDIM k 2000 5", 2000, 5, ""},
		{"CMS.INITBYDIM k 1 1", 1, 1, ""},
		{"CMS.INITBYDIM k 9223372036854775807 1", 9223372036854775807, 1, ""},
		{"CMS.INITBYDIM k 2000", 0, 0, arity},
		{"CMS.INITBYDIM k 0 5", 0, 0, "CMS: invalid width"},
		{"CMS.INITBYDIM k -1 5", 0, 0, "CMS: invalid width"},
		{"CMS.INITBYDIM k x y", 0, 0, "CMS: invalid width"},
		{"CMS.INITBYDIM k 2000 0", 0, 0, "CMS: invalid depth"},
		{"CMS.INITBYDIM k 2000 y", 0, 0, "CMS: invalid depth"},
		{"CMS.INITBYDIM k 4611686018427387904 2", 0, 0, "CMS: invalid init arguments"},
		{"CMS.INITBYDIM k 10 1024", 10, 1024, ""},
		{"CMS.INITBYDIM k 10 1025", 0, 0, "CMS: invalid depth"},
		{"CMS.INITBYDIM k 9223372036854775807 9223372036854775807", 0, 0, "CMS: invalid depth"},
	} {
		var width, depth int64
		args, problem := takenWords(c.line)
		if problem == "" {
			width, depth, problem = parseCountMinByDim(args)
		}
		if width != c.width || depth != c.depth || problem != c.problem {
			t.Errorf("%s: %d, %d, %q; want %d, %d, %q", c.line, width, depth, problem, c.width, c.depth, c.problem)
		}
	}
}

func TestParseCountMinByProb(t *testing.T) {
	const arity = "ERR wrong number of arguments for 'cms.initbyprob' command"
	for _, c := range []struct {
		line         string
		width, depth int64
		problem      string
	}{
		{"CMS.INITBYPROB k 0.001 0.01", 2000, 7, ""},
		{"CMS.INITBYPROB k 0.01 0.5", 200, 1, ""},
		{"CMS.INITBYPROB k 0.01 0.25", 200, 2, ""},
		{"CMS.INITBYPROB k 0.01 0.125", 200, 3, ""},
		{"CMS.INITBYPROB k 0.3 0.999", 7, 1, ""},
		{"CMS.INITBYPROB k 0.001 0.001", 2000, 10, ""},
		// In single precision this probability is one, and needs no row.
		{"CMS.INITBYPROB k 0.01 0.99999999", 0, 0, "CMS: invalid init arguments"},
		// In single precision this one is zero, and needs infinitely many.
		{"CMS.INITBYPROB k 0.01 1e-300", 0, 0, "CMS: invalid init arguments"},
		{"CMS.INITBYPROB k 1e-300 0.01", 0, 0, "CMS: invalid init arguments"},
		{"CMS.INITBYPROB k 0.01", 0, 0, arity},
		{"CMS.INITBYPROB k 0 0.01", 0, 0, "CMS: invalid overestimation value"},
		{"CMS.INITBYPROB k 1 0.01", 0, 0, "CMS: invalid overestimation value"},
		{"CMS.INITBYPROB k nan 0.01", 0, 0, "CMS: invalid overestimation value"},
		{"CMS.INITBYPROB k x y", 0, 0, "CMS: invalid overestimation value"},
		{"CMS.INITBYPROB k 0.01 0", 0, 0, "CMS: invalid prob value"},
		{"CMS.INITBYPROB k 0.01 1", 0, 0, "CMS: invalid prob value"},
		{"CMS.INITBYPROB k 0.01 x", 0, 0, "CMS: invalid prob value"},
	} {
		var width, depth int64
		args, problem := takenWords(c.line)
		if problem == "" {
			width, depth, problem = parseCountMinByProb(args)
		}
		if width != c.width || depth != c.depth || problem != c.problem {
			t.Errorf("%s: %d, %d, %q; want %d, %d, %q", c.line, width, depth, problem, c.width, c.depth, c.problem)
		}
	}
}

func TestParseCounts(t *testing.T) {
	for _, c := range []struct{ line, want, problem string }{
		{"CMS.INCRBY k a 1", "[a] [1]", ""},
		{"CMS.INCRBY k a 0 b 9223372036854775807", "[a b] [0 9223372036854775807]", ""},
		{"CMS.INCRBY k a x", "", "CMS: Cannot parse number"},
		{"CMS.INCRBY k a 9223372036854775808", "", "CMS: Cannot parse number"},
		{"CMS.INCRBY k a 1 b 1.5", "", "CMS: Cannot parse number"},
		{"CMS.INCRBY k a -1", "", "CMS: Number cannot be negative"},
		{"CMS.INCRBY k a -1 b x", "", "CMS: Number cannot be negative"},
		{"CMS.INCRBY k a x b -1", "", "CMS: Cannot parse number"},
	} {
		items, increments, problem := parseCounts(words(c.line))
		got := ""
		if problem == "" {
			got = fmt.Sprintf("%s %d", items, increments)
		}
		if got != c.want || problem != c.problem {
			t.Errorf("%s: %s, %q; want %s, %q", c.line, got, problem, c.want, c.problem)
		}
	}
}

func TestParseCountMinMerge(t *testing.T) {
	const arity = "ERR wrong number of arguments for 'cms.merge' command"
	for _, c := range []struct {
		line, sources string
		weights       []int64
		problem       string
	}{
		{"CMS.MERGE d 1 a", "[a]", []int64{1}, ""},
		{"CMS.MERGE d 3 a b a", "[a b a]", []int64{1, 1, 1}, ""},
		{"CMS.MERGE d 2 a b WEIGHTS 3 -2", "[a b]", []int64{3, -2}, ""},
		{"CMS.MERGE d 2 a b weights 0 1", "[a b]", []int64{0, 1}, ""},
		{"CMS.MERGE d 1", "", nil, arity},
		{"CMS.MERGE d x a", "", nil, "CMS: invalid numkeys"},
		{"CMS.MERGE d 1.0 a", "", nil, "CMS: invalid numkeys"},
		{"CMS.MERGE d 0 a", "", nil, "CMS: Number of keys must be positive"},
		{"CMS.MERGE d -1 a", "", nil, "CMS: Number of keys must be positive"},
		{"CMS.MERGE d 2 a", "", nil, "CMS: wrong number of keys"},
		{"CMS.MERGE d 1 a b", "", nil, "CMS: wrong number of keys"},
		{"CMS.MERGE d 9223372036854775807 a", "", nil, "CMS: wrong number of keys"},
		{"CMS.MERGE d 1 a WEIGHTS", "", nil, "CMS: wrong number of keys/weights"},
		{"CMS.MERGE d 2 a b WEIGHTS 1", "", nil, "CMS: wrong number of keys/weights"},
		{"CMS.MERGE d 1 a b WEIGHTS 1", "", nil, "CMS: wrong number of keys/weights"},
		{"CMS.MERGE d 1 a WEIGHTS 1 2", "", nil, "CMS: wrong number of keys/weights"},
		{"CMS.MERGE d 4611686018427387904 a WEIGHTS 1", "", nil, "CMS: wrong number of keys/weights"},
		{"CMS.MERGE d 1 a WEIGHTS x", "", nil, "CMS: invalid weight value"},
	} {
		var m countMinMerge
		args, problem := takenWords(c.line)
		if problem == "" {
			m, problem = parseCountMinMerge(args)
		}
		var weights []int64
		for i := 0; problem == "" && i < len(m.sources); i++ {
			var weight int64
			if weight, problem = m.weight(i); problem == "" {
				weights = append(weights, weight)
			}
		}
		if problem != c.problem {
			t.Errorf("%s: %q; want %q", c.line, problem, c.problem)
		} else if problem == "" && (fmt.Sprintf("%s", m.sources) != c.sources || !slices.Equal(weights, c.weights)) {
			t.Errorf("%s: %s %d; want %s %d", c.line, m.sources, weights, c.sources, c.weights)
		}
	}
}
