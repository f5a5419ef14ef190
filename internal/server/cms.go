package server

import "seen/internal/store"

// countMin returns the sketch of the key, or writes an error.
func (c *call) countMin(key []byte) (*store.CountMin, bool) {
	v := c.store().Get(key)
	s, ok := v.(*store.CountMin)
	if !ok {
		c.notThere(v, noCountMin)
	}
	return s, ok
}

var cmsCommands = family([]string{"cms"}, []command{
	cmsInitByDimCommand,
	cmsInitByProbCommand,
	cmsIncrByCommand,
	cmsQueryCommand,
	cmsMergeCommand,
	cmsInfoCommand,
})

const (
	noCountMin = "CMS: key does not exist"
)
