package interop

import (
	"fmt"
	"testing"
)

// TestSmallFilters makes filters of every size from one key on, of all formats that content
// tells, with no key, one and all: none is taken for another format or class, and each
// knows its keys.
func TestSmallFilters(t *testing.T) {
	for n := uint64(1); n <= 12; n++ {
		for _, rate := range []float64{0.9, 0.5, 0.2, 0.01} {
			for _, s := range []string{
				"bits-and-blooms", "bits-and-blooms:form=json", "bits-and-blooms:order=little", "dcso", "dcso:form=gzip", "guava:funnel=string", "npm-bloom-filters", "npm-bloomfilter", "spark:type=string", "spark:type=string,version=2",
				"redisbloom", "redisbloom:expansion=0", "redisbloom:form=chunks",
				"pyprobables:type=bloom", "pyprobables:type=counting", "pyprobables:type=expanding", "pyprobables:form=hex,type=bloom", "pyprobables:form=hex,type=counting",
			} {
				spec, err := ParseSpec(s)
				if err != nil {
					t.Fatal(err)
				}
				for added := range n + 1 {
					f, err := Create(spec, n, rate)
					if err != nil {
						break // too few bits, as the system itself says
					}
					for i := range added {
						if _, err := f.(Adder).Add(fmt.Append(nil, i)); err != nil {
							t.Fatal(err)
						}
					}
					name := fmt.Sprintf("%s of %d keys at %v, with %d", s, n, rate, added)
					b := written(t, f)
					all := Detect(b)
					if len(all) == 0 || all[0].Spec.Name != spec.Name || len(all) > 1 && all[1].Confidence == all[0].Confidence && all[1].Refused == "" {
						t.Errorf("%s: taken for %v: %x", name, all, b)
						continue
					}
					g, err := Inspect(b, Spec{})
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					if got, want := g.Describe().System, f.Describe().System; got != want {
						t.Errorf("%s: a %s, want a %s", name, got, want)
					}
					for i := range added {
						if !g.Has(fmt.Append(nil, i)) {
							t.Errorf("%s: key %d is not there", name, i)
						}
					}
				}
			}
		}
	}
}
