package keys

import "testing"

// What the shortcut takes, and what the parser has to.
func BenchmarkURL(b *testing.B) {
	for _, c := range []struct {
		name, in string
		rules    URLConfig
	}{
		{"canonical", "https://www.example.org/catalogue/item-000000012345.html?page=1", URLConfig{}},
		{"host-and-fragment", "https://WWW.Example.org/catalogue/item-000000012345.html?page=1#reviews", URLConfig{}},
		{"query", "https://www.example.org/item?size=9&colour=red&utm_source=mail&page=1", URLConfig{SortQuery: true, DropTracking: true}},
		{"dots", "https://www.example.org/catalogue/../catalogue/item-000000012345.html?page=1", URLConfig{}},
		{"unicode", "https://www.bücher.example/katalog/übersicht-000000012345.html?page=1", URLConfig{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := form(b, c.rules)
			in, dst := []byte(c.in), make([]byte, 0, 200)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Append(dst, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
