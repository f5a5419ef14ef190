//go:build !amd64 || noasm

package kernel

func search(found []bool, lines []*Slots, words []uint64) { searchRef(found, lines, words) }

func fetch(lines []*Slots) { fetchRef(lines) }

func fetchNext(lines []*Slots) {}
