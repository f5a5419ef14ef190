package server

import (
	"fmt"
	"strconv"

	"seen/internal/redisbloom"
	"seen/internal/resp"
)

// Limits that the commands share with the settings below.
const (
	maxCapacity   = 1 << 30
	maxExpansion  = 1 << 15
	maxErrorRate  = redisbloom.MaxErrorRate // larger rates, which need too few bits per key for the formulas, are replaced by this one, silently
	maxBucketSize = 255
	maxIterations = 65535
	maxExpansions = 65536
)

// filterDefaults are the options of new filters that a command does not give. CONFIG SET
// replaces them as a whole; a command uses one value of them.
type filterDefaults struct {
	bfErrorRate       float64
	bfInitialSize     int64
	bfExpansionFactor int64
	cfInitialSize     int64
	cfBucketSize      int64
	cfMaxIterations   int64
	cfExpansionFactor int64
	cfMaxExpansions   int64
}

func initialFilterDefaults() filterDefaults {
	return filterDefaults{
		bfErrorRate:       0.01,
		bfInitialSize:     100,
		bfExpansionFactor: 2,
		cfInitialSize:     1024,
		cfBucketSize:      2,
		cfMaxIterations:   20,
		cfExpansionFactor: 1,
		cfMaxExpansions:   32,
	}
}

// filterSettingNames are the names of all settings, in the order of lists and documents.
var filterSettingNames = []string{
	"bf-error-rate", "bf-initial-size", "bf-expansion-factor",
	"cf-initial-size", "cf-bucket-size", "cf-max-iterations", "cf-expansion-factor", "cf-max-expansions",
}

// whole returns the field of an integer setting and its range, nil if there is no such
// setting.
func (s *filterDefaults) whole(name string) (place *int64, lowest, highest int64) {
	switch name {
	case "bf-initial-size":
		return &s.bfInitialSize, 1, maxCapacity
	case "bf-expansion-factor":
		return &s.bfExpansionFactor, 0, maxExpansion
	case "cf-initial-size":
		return &s.cfInitialSize, 2 * s.cfBucketSize, maxCapacity
	case "cf-bucket-size":
		return &s.cfBucketSize, 1, min(maxBucketSize, s.cfInitialSize/2)
	case "cf-max-iterations":
		return &s.cfMaxIterations, 1, maxIterations
	case "cf-expansion-factor":
		return &s.cfExpansionFactor, 0, maxExpansion
	case "cf-max-expansions":
		return &s.cfMaxExpansions, 1, maxExpansions
	}
	return nil, 0, 0
}

// get returns the value of a setting as CONFIG GET shows it, and false if there is no such
// setting.
func (s filterDefaults) get(name string) (value string, ok bool) {
	if name == "bf-error-rate" {
		return strconv.FormatFloat(s.bfErrorRate, 'g', -1, 64), true
	}
	place, _, _ := s.whole(name)
	if place == nil {
		return "", false
	}
	return strconv.FormatInt(*place, 10), true
}

// set returns the settings with one changed, or the problem for CONFIG SET.
func (s filterDefaults) set(name, value string) (changed filterDefaults, problem string) {
	if name == "bf-error-rate" {
		rate, ok := resp.ParseFloat([]byte(value))
		if !ok {
			return s, invalidSetting(name)
		}
		if !(rate > 0 && rate < 1) {
			return s, fmt.Sprintf("Value for `%s` must be in the range (%f, %f)", name, 0.0, 1.0)
		}
		s.bfErrorRate = min(rate, maxErrorRate)
		return s, ""
	}
	place, lowest, highest := s.whole(name)
	n, ok := resp.ParseInt([]byte(value))
	if place == nil || !ok {
		return s, invalidSetting(name)
	}
	if n < lowest || n > highest {
		return s, fmt.Sprintf("Value for `%s` must be in the range [%d, %d]", name, lowest, highest)
	}
	*place = n
	return s, ""
}

func invalidSetting(name string) string {
	return fmt.Sprintf("Invalid value for `%s`", name)
}
