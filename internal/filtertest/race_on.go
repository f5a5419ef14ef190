//go:build race

package filtertest

// Race says that the race detector is at work: it slows everything down, and has
// pools of memory drop what they are given at random.
const Race = true
