package cli

import (
	"seen/internal/spill"
)

// groupMode is what a mode of uniq prints, told by how often each key occurs and where. All
// of them are exact, whatever the size of the input.
type groupMode struct {
	option string // for messages
	// streams says that lines are decided as they come, while the table of keys is in
	// memory. Lines that come later are decided at the end.
	streams bool
	last    bool   // GroupsConfig.Last
	log     uint64 // GroupsConfig.Log
	// keeps decides, of a mode that streams, about an occurrence by its number.
	keeps func(count uint64) bool
	// late is called for each occurrence that is not decided as it comes. It selects what is
	// certain by now. Nil selects nothing.
	late func(g *groupRun, count, before, position uint64) error
	// spools reports whether such an occurrence may be selected at the end.
	spools func(count uint64) bool
	// visitor selects at the end.
	visitor func(g *groupRun) spill.Visitor
}

func always(uint64) bool         { return true }
func isFirst(count uint64) bool  { return count == 1 }
func isRepeat(count uint64) bool { return count > 1 }

// countMode is -c: each key with the number of its occurrences, in order of first sight.
func countMode() *groupMode {
	return &groupMode{option: "-c", spools: isFirst, visitor: func(g *groupRun) spill.Visitor {
		return spill.Visitor{Key: func(total, position uint64) error { return g.selectLine(position, total) }}
	}}
}

// topMode is -c --top: the keys with the largest counts.
func topMode() *groupMode {
	return &groupMode{option: "-c --top", spools: isFirst, visitor: func(g *groupRun) spill.Visitor {
		return spill.Visitor{Key: func(total, position uint64) error {
			g.top.offer(total, position)
			return nil
		}}
	}}
}

// uniqueMode is -u: the lines whose key occurs once.
func uniqueMode() *groupMode {
	return &groupMode{option: "-u", spools: isFirst, visitor: func(g *groupRun) spill.Visitor {
		return spill.Visitor{Key: func(total, position uint64) error {
			if total > 1 {
				return nil
			}
			return g.selectLine(position, 0)
		}}
	}}
}

// repeatedMode is -d where equal keys do not mean equal lines: the first line of each key
// that occurs more than once.
func repeatedMode() *groupMode {
	return &groupMode{option: "-d with key options", spools: isFirst, visitor: func(g *groupRun) spill.Visitor {
		return spill.Visitor{Key: func(total, position uint64) error {
			if total == 1 {
				return nil
			}
			return g.selectLine(position, 0)
		}}
	}}
}

// allRepeatedMode is -D: all lines whose key occurs more than once. Within a generation, the
// first line is selected with the second one; one that is alone in its generation is selected
// at the end.
func allRepeatedMode() *groupMode {
	return &groupMode{
		option: "-D", spools: always,
		late: func(g *groupRun, count, before, position uint64) error {
			if count == 2 {
				if err := g.selectLine(before, 0); err != nil {
					return err
				}
			}
			if count > 1 {
				return g.selectLine(position, 0)
			}
			return nil
		},
		visitor: func(g *groupRun) spill.Visitor {
			return spill.Visitor{
				Key: func(uint64, uint64) error { return nil }, // totals are needed
				Again: func(total uint64, r spill.Record) error {
					if total > 1 && r.Count == 1 {
						return g.selectLine(r.Position, 0)
					}
					return nil
				},
			}
		},
	}
}

// lastMode is --keep last: the last line of each key.
func lastMode() *groupMode {
	return &groupMode{option: "--keep last", last: true, spools: always, visitor: func(g *groupRun) spill.Visitor {
		return spill.Visitor{Key: func(_, position uint64) error { return g.selectLine(position, 0) }}
	}}
}

// nthMode is --nth, and -d of whole lines.
func nthMode(option string, n uint64) *groupMode {
	return &groupMode{
		option: option, streams: true, log: n,
		keeps:  func(count uint64) bool { return count == n },
		spools: func(count uint64) bool { return count <= n },
		visitor: func(g *groupRun) spill.Visitor {
			return spill.Visitor{Record: func(before uint64, r spill.Record) error {
				if r.Logged && before+1 == n {
					return g.selectLine(r.Position, 0)
				}
				return nil
			}}
		},
	}
}

// afterFirstMode is --after-first: all occurrences but the first.
func afterFirstMode() *groupMode {
	return &groupMode{
		option: "--after-first", streams: true, log: 1, keeps: isRepeat, spools: always,
		late: func(g *groupRun, count, _, position uint64) error {
			if count > 1 {
				return g.selectLine(position, 0)
			}
			return nil
		},
		visitor: func(g *groupRun) spill.Visitor {
			return spill.Visitor{Record: func(before uint64, r spill.Record) error {
				if r.Logged && before > 0 {
					return g.selectLine(r.Position, 0)
				}
				return nil
			}}
		},
	}
}

// Values of selected lines with --mark: lines that are not selected are old.
const (
	valueNew    = 0
	valueHidden = 1 // it has no key, and is not printed
)

// markMode is --mark: all lines, with a mark on the first of each key.
func markMode() *groupMode {
	return &groupMode{
		option: "--mark", streams: true, log: 1, keeps: isFirst, spools: always,
		visitor: func(g *groupRun) spill.Visitor {
			return spill.Visitor{Record: func(before uint64, r spill.Record) error {
				if r.Logged && before == 0 {
					return g.selectLine(r.Position, valueNew)
				}
				return nil
			}}
		},
	}
}
