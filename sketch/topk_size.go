package sketch

import (
	"fmt"
	"math"
)

// TopKNeed says what a [TopK] must find; [TopKNeed.Size] computes its size.
type TopKNeed struct {
	// K is the number of most frequent keys to find.
	K int
	// Share is the share of the least frequent of these keys in all counts, above 0 and at
	// most 1/K. Rest is the share of all other keys together; 0 means the largest possible,
	// 1 - K Share. [ZipfShares] computes both for frequencies that follow the law of Zipf.
	Share, Rest float64
	// Recall is the share of the K keys that the sketch finds on average, with a count that
	// is too low by at most the share CountError of it. Both are between 0 and 1,
	// exclusively; 0 means 0.99 and 0.01.
	Recall, CountError float64
}

// TopKSize is the size of a sketch that meets a [TopKNeed].
type TopKSize struct {
	Width, Depth int
	Decay        float64
	// Bytes is the memory of the buckets and of K keys, without the bytes of the keys.
	Bytes uint64
	// Additions is the sum of all counts from which on the sketch meets the need.
	Additions uint64
}

const (
	defaultTopKRecall     = 0.99
	defaultTopKCountError = 0.01
	// leastTopKCount is how often the least frequent of the K keys must come. A key needs
	// some tens of arrivals before others can hardly take its bucket, and keys with equal
	// counts, of which there are many where counts are low, displace each other.
	leastTopKCount = 1000
	// lostCounts is how many arrivals a key misses until then at most, in nearly all cases;
	// the mean is below 1.
	lostCounts = 10
)

// Size returns the size of a sketch that meets the need.
//
// A row finds a key if the other keys of its bucket do not come more often than the key
// itself: its count then rises from the start, and the higher it is, the less they lower
// it. The bucket has another of the K keys with probability (K-1)/Width
// at most, and by Markov's inequality more than Share of others with probability
// Rest/(Width Share) at most. With A = K-1 + Rest/Share, all of Depth independent rows
// fail with probability (A/Width)^Depth at most, which is 1-Recall for a Width of
// A (1-Recall)^(-1/Depth). Width times Depth is least for a Depth of ln(1/(1-Recall)), and
// Width is then e A. (It is the argument of Cormode and Muthukrishnan, "An Improved Data
// Stream Summary", 2005, about the buckets of Yang and others, 2018.)
func (n TopKNeed) Size() (TopKSize, error) {
	if n.Recall == 0 {
		n.Recall = defaultTopKRecall
	}
	if n.CountError == 0 {
		n.CountError = defaultTopKCountError
	}
	between := func(v float64) bool { return v > 0 && v < 1 }
	most := 1 / float64(n.K)
	switch {
	case n.K < 1 || n.K > maxTopK:
		return TopKSize{}, fmt.Errorf("k = %d of a top-k sketch is not between 1 and %d", n.K, maxTopK)
	case !(n.Share > 0 && n.Share <= most):
		return TopKSize{}, fmt.Errorf("share %v of the least frequent of %d keys is not above 0 and at most 1/%d", n.Share, n.K, n.K)
	case !(n.Rest >= 0 && n.Rest < 1):
		return TopKSize{}, fmt.Errorf("share %v of all other keys is not between 0 and 1", n.Rest)
	case !between(n.Recall):
		return TopKSize{}, fmt.Errorf("recall %v is not between 0 and 1, both excluded", n.Recall)
	case !between(n.CountError):
		return TopKSize{}, fmt.Errorf("count error %v is not between 0 and 1, both excluded", n.CountError)
	}
	if n.Rest == 0 {
		n.Rest = max(0, 1-float64(n.K)*n.Share)
	}
	s := TopKSize{Decay: defaultTopKDecay, Depth: int(max(1, math.Round(-math.Log1p(-n.Recall))))}
	others := float64(n.K-1) + n.Rest/n.Share
	width := math.Ceil(max(1, others) * math.Pow(1-n.Recall, -1/float64(s.Depth)))
	if width > maxCounters/float64(s.Depth) {
		return TopKSize{}, fmt.Errorf("a recall of %v for keys of a share of %.3g takes %d rows of %.3g buckets, and %d buckets are the most; lower k or the recall", n.Recall, n.Share, s.Depth, width, uint64(maxCounters))
	}
	s.Width = int(width)
	s.Bytes = topKOverhead + 8*uint64(s.Width)*uint64(s.Depth) + entryOverhead*uint64(n.K)
	additions := math.Ceil(max(leastTopKCount, lostCounts/n.CountError) / n.Share)
	s.Additions = uint64(min(additions, 1<<63))
	return s, nil
}

// ZipfShares returns the share of the k-th most frequent of so many keys in all counts, and
// that of all less frequent keys together, if the i-th most frequent key comes in proportion
// to i^-skew. A skew of 1 is the law of Zipf; words, pages and addresses have 0.8 to 1.3. k
// is 1 to keys, and skew 0 to 10.
func ZipfShares(k, keys uint64, skew float64) (share, rest float64, err error) {
	switch {
	case k < 1 || k > keys:
		return 0, 0, fmt.Errorf("the %d most frequent of %d keys; k must be from 1 to the number of keys", k, keys)
	case !(skew >= 0 && skew <= 10):
		return 0, 0, fmt.Errorf("skew %v is not between 0 and 10", skew)
	}
	first := powerSum(1, k, skew)
	after := 0.0
	if keys > k {
		after = powerSum(k+1, keys, skew)
	}
	return math.Pow(float64(k), -skew) / (first + after), after / (first + after), nil
}

// powerSum returns the sum of i^-skew for i from..to, by the formula of Euler and Maclaurin
// after the first ten thousand terms.
func powerSum(from, to uint64, skew float64) (sum float64) {
	const exact = 10_000
	i := from
	for ; i <= to && i-from < exact; i++ {
		sum += math.Pow(float64(i), -skew)
	}
	if i > to {
		return sum
	}
	a, b := float64(i), float64(to)
	integral := math.Log(b / a)
	if skew != 1 {
		integral = (math.Pow(b, 1-skew) - math.Pow(a, 1-skew)) / (1 - skew)
	}
	return sum + integral + (math.Pow(a, -skew)+math.Pow(b, -skew))/2
}

// DefaultTopK returns the default size of a sketch of k keys: it finds 99 of 100 of the most
// frequent among a million keys that follow the law of Zipf.
func DefaultTopK(k int) (TopKSize, error) {
	const keys = 1_000_000
	share, rest, err := ZipfShares(uint64(max(1, k)), uint64(max(k, keys)), 1)
	if err != nil {
		return TopKSize{}, err
	}
	return TopKNeed{K: k, Share: share, Rest: rest}.Size()
}
