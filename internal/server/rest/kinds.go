package rest

import "slices"

// Kind is a type of values with the commands that requests run on such a value.
type Kind struct {
	Name string // in JSON and on pages
	Type string // what TYPE answers
	Info string // the command that describes a value

	Add   string // the command that adds keys
	Ask   string // the command that checks or counts keys
	Clear string // the command that forgets all keys; "" if there is none
	// Counts reports that the type counts keys: Ask replies with counts, and the reply to
	// Add does not say which keys were new.
	Counts bool
}

// The types of values.
var (
	bloomKind    = &Kind{Name: "bloom", Type: "MBbloom--", Info: "BF.INFO", Add: "BF.INSERT", Ask: "BF.MEXISTS", Clear: "BF.CLEAR"}
	cuckooKind   = &Kind{Name: "cuckoo", Type: "MBbloomCF", Info: "CF.INFO", Add: "CF.INSERTNX", Ask: "CF.MEXISTS"}
	countMinKind = &Kind{Name: "countmin", Type: "CMSk-TYPE", Info: "CMS.INFO", Add: "CMS.INCRBY", Ask: "CMS.QUERY", Counts: true}
	topKKind     = &Kind{Name: "topk", Type: "TopK-TYPE", Info: "TOPK.INFO", Add: "TOPK.ADD", Ask: "TOPK.COUNT", Counts: true}

	kinds = []*Kind{bloomKind, cuckooKind, countMinKind, topKKind}
)

// KindOf returns the kind whose Type is typ, nil if there is none.
func KindOf(typ string) *Kind { return kindWhere(func(k *Kind) bool { return k.Type == typ }) }

// KindNamed returns the kind with a name, nil if there is none.
func KindNamed(name string) *Kind { return kindWhere(func(k *Kind) bool { return k.Name == name }) }

func kindWhere(is func(*Kind) bool) *Kind {
	if i := slices.IndexFunc(kinds, is); i >= 0 {
		return kinds[i]
	}
	return nil
}
