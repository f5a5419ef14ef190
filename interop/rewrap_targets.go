package interop

// Rewraps returns the specifications that [Rewrap] can write f as, apart from the file
// that f was opened from: other forms of the same format, and formats that map a key to
// the same bits. In an RDB file the filter has the given key. The list may be empty.
func Rewraps(f Foreign, key string) (all []Spec) {
	own, _ := ParseSpec(f.Describe().Format) // it opens f, so that it can be parsed
	for _, target := range formats {
		if target.rewrap == nil {
			continue
		}
		base := Spec{Name: target.name}
		if target == &rdbFormat {
			if own.Name == base.Name || own.Params["rdb"] != "" {
				continue
			}
			base = base.with("key", key)
		}
		forms := base.forms(target)
		if own.Name == target.name && len(forms) == 1 && own.Params["rdb"] == "" {
			continue // the file itself
		}
		for _, s := range forms {
			if _, err := Rewrap(f, s); err == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// forms returns s with each choice of the parameters that say how a format is written.
func (s Spec) forms(of *format) []Spec {
	all := []Spec{s}
	for _, p := range of.params {
		if !p.form {
			continue
		}
		for _, known := range all {
			for _, value := range p.values {
				if value != p.preset {
					all = append(all, known.with(p.name, value))
				}
			}
		}
	}
	return all
}
