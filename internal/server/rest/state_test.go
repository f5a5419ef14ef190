package rest

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/resp"
)

// The state of a filter is the same on the other side of a connection, in both protocols.
func TestState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{Type: rapid.SampledFrom([]string{"", "bloom", "cuckoo"}).Draw(t, "type"), Variant: rapid.SampledFrom([]string{"", "window"}).Draw(t, "variant")}
		for _, f := range s.fields() {
			if f.name == "type" || f.name == "variant" || rapid.Bool().Draw(t, "no "+f.name) {
				continue
			}
			switch at := f.at.(type) {
			case **uint64:
				n := rapid.Uint64Range(0, 1<<63-1).Draw(t, f.name)
				*at = &n
			case **bool:
				is := rapid.Bool().Draw(t, f.name)
				*at = &is
			case **float64:
				x := rapid.Float64().Draw(t, f.name)
				*at = &x
			}
		}
		for _, proto := range []int{2, 3} {
			w := resp.Writer{Proto: proto}
			s.Reply(&w)
			v, n, err := resp.ParseReply(w.Bytes())
			if err != nil || n != w.Len() {
				t.Fatal(err)
			}
			if got, err := ParseState(v); err != nil || !reflect.DeepEqual(*got, s) {
				t.Fatalf("RESP%d: %+v, %v, want %+v", proto, got, err, s)
			}
		}
	})
}

// A reply that is not the state of a filter is an error.
func TestStateErrors(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Text: s} }
	for _, c := range []struct {
		reply resp.Value
		want  string
	}{
		{text("OK"), "is not a map but"},
		{resp.Value{Kind: resp.Array, Elems: []resp.Value{text("keys")}}, "is not a map but"},
		{resp.Value{Kind: resp.Map, Elems: []resp.Value{text("keys"), text("x")}}, "for keys: it is not a number of at least 0"},
		{resp.Value{Kind: resp.Map, Elems: []resp.Value{text("grows"), text("x")}}, "for grows: it is neither 0 nor 1"},
		{resp.Value{Kind: resp.Map, Elems: []resp.Value{text("fill"), text("x")}}, "for fill:"},
	} {
		if s, err := ParseState(c.reply); s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, %v, want %s", c.reply, s, err, c.want)
		}
	}
	if s, err := ParseState(resp.Value{Kind: resp.Null}); s != nil || err != nil {
		t.Errorf("null: %v, %v", s, err)
	}
}
