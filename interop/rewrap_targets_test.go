package interop

import (
	"bytes"
	"fmt"
	"testing"
)

// What can be written of a filter is listed, is written, and answers as before.
func TestRewraps(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"bits-and-blooms", "[bits-and-blooms bits-and-blooms:form=json bits-and-blooms:form=json-std bits-and-blooms:order=little bits-and-blooms:form=json,order=little bits-and-blooms:form=json-std,order=little]"},
		{"guava:funnel=string", "[]"},
		{"dcso", "[dcso dcso:form=gzip]"},
		{"redisbloom", "[rdb:key=a b redisbloom redisbloom:form=chunks]"},
		{"redisson:m=729,k=5", "[rdb:key=a b]"},
		{"rocksdb", "[]"},
		{"pyprobables:type=bloom", "[pyprobables pyprobables:form=hex]"},
	} {
		s, err := ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Create(s, 100, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		keys := [][]byte{[]byte("one"), []byte("two")}
		for _, key := range keys {
			if _, err := f.(Adder).Add(key); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if _, err := f.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		if f, err = Open(file.Bytes(), s); err != nil {
			t.Fatal(err)
		}
		all := Rewraps(f, "a b")
		if got := fmt.Sprint(all); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.spec, got, c.want)
		}
		for _, to := range all {
			w, err := Rewrap(f, to)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := w.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			open := to
			if to.Name == "rdb" && s.Name != "redisbloom" {
				open = s.with("rdb", "a b")
			}
			again, err := Open(b.Bytes(), open)
			if err != nil {
				t.Errorf("%s as %s: %v", c.spec, to, err)
				continue
			}
			if !again.Has(keys[0]) || !again.Has(keys[1]) || again.Has([]byte("absent")) {
				t.Errorf("%s as %s answers otherwise", c.spec, to)
			}
		}
	}
}
