package server

import (
	"math"

	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	countMinExists   = "CMS: key already exists"
	countMinNoMemory = "CMS: Insufficient memory to create the key"
	badWidth         = "CMS: invalid width"
	badDepth         = "CMS: invalid depth"
	badCountMinInit  = "CMS: invalid init arguments"
)

var cmsInitByDimCommand = command{
	name: "cms.initbydim", arity: -4, flags: writer | flagHeavy, handle: cmsInitByDim, since: "2.0.0", complexity: "O(w * d), d rows of w counters",
	summary: "Creates an empty count-min sketch of a given size.",
	syntax:  "key width depth [LAYOUT seen|redisbloom]",
}

var cmsInitByProbCommand = command{
	name: "cms.initbyprob", arity: -4, flags: writer | flagHeavy, handle: cmsInitByProb, since: "2.0.0", complexity: "O(w * d), d rows of w counters",
	summary: "Creates an empty count-min sketch of a given accuracy.",
	syntax:  "key error probability [LAYOUT seen|redisbloom]",
}

func cmsInitByDim(c *call) { c.initCountMin(parseCountMinByDim) }

func cmsInitByProb(c *call) { c.initCountMin(parseCountMinByProb) }

func (c *call) initCountMin(parse func(words [][]byte) (width, depth int64, problem string)) {
	layout, ok := c.layoutAt(4)
	if !ok || taken[store.Value](c, countMinExists) {
		return
	}
	width, depth, problem := parse(c.args)
	if c.failed(problem) {
		return
	}
	create[store.Value](c, countMinExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateCountMin(c.args[1], store.CountMinConfig{Width: uint64(width), Depth: int(depth), Layout: layout})
		return at, err
	}, own{errAnyOther, countMinNoMemory}) // too many counters for any machine
}

// maxDepth is the largest number of rows. Each row halves the probability of a large
// overestimate, so sixty rows are enough for all purposes.
const maxDepth = 1024

// parseCountMinByDim reads
//
//	CMS.INITBYDIM key width depth
func parseCountMinByDim(words [][]byte) (width, depth int64, problem string) {
	var ok bool
	if width, ok = resp.ParseInt(words[2]); !ok || width < 1 {
		return 0, 0, badWidth
	}
	if depth, ok = args.Int(words[3], 1, maxDepth); !ok {
		return 0, 0, badDepth
	}
	if width > math.MaxInt64/depth {
		return 0, 0, badCountMinInit
	}
	return width, depth, ""
}

// parseCountMinByProb reads
//
//	CMS.INITBYPROB key error probability
//
// where error is the largest overestimate as a part of all counts, and probability is
// that of exceeding it. The depth is computed in single precision, as in RedisBloom.
func parseCountMinByProb(words [][]byte) (width, depth int64, problem string) {
	over, ok := args.Fraction(words[2])
	if !ok {
		return 0, 0, "CMS: invalid overestimation value"
	}
	probability, ok := args.Fraction(words[3])
	if !ok {
		return 0, 0, "CMS: invalid prob value"
	}
	w, d := math.Ceil(2/over), math.Ceil(float64(log10(probability)/log10(0.5)))
	if d < 1 || !(w*d < math.MaxInt64) { // also when d is infinite
		return 0, 0, badCountMinInit
	}
	return int64(w), int64(d), ""
}

// log10 is the logarithm in single precision.
func log10(x float64) float32 {
	return float32(math.Log10(float64(float32(x))))
}
