package server

import "seen/internal/store"

// countMin returns the sketch of the key, or writes an error.
func (c *call) countMin(key []byte) (*store.CountMin, bool) {
	return valueOf[*store.CountMin](c, key, noCountMin, wrongType)
}

var cmsCommands = family([]string{"cms"}, []command{
	cmsInitByDimCommand,
	cmsInitByProbCommand,
	cmsIncrByCommand,
	cmsQueryCommand,
	cmsMergeCommand,
	cmsInfoCommand,
})

const noCountMin = "CMS: key does not exist"
