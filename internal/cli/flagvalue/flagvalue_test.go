package flagvalue

import "testing"

// What is set is printed in a form that sets the same again.
func TestSetAndString(t *testing.T) {
	word := OneOf("red", "red", "green", "blue")
	for _, c := range []struct {
		value    Value
		text     string
		want     string // "" for an error
		typeName string
	}{
		{new(Count), "10k", "10000", "N"},
		{new(Count), "1.5", "", "N"},
		{new(Size), "64MiB", "64MiB", "SIZE"},
		{new(Size), "30MB", "30MB", "SIZE"},
		{new(Size), "1500MiB", "1500MiB", "SIZE"},
		{new(Size), "many", "", "SIZE"},
		{new(Rate), "0.1%", "0.001", "P"},
		{new(Rate), "1", "", "P"},
		{new(Duration), "2w", "14d", "SPAN"},
		{new(Duration), "36h", "36h", "SPAN"},
		{new(Duration), "90m", "90m", "SPAN"},
		{new(Duration), "1.5s", "1.5s", "SPAN"},
		{new(Duration), "-1s", "", "SPAN"},
		{new(Duration), "1e300d", "", "SPAN"},
		{new(Span), "10m", "10m", "SPAN"},
		{new(Span), "10M", "10000000", "SPAN"},
		{new(Span), "1_000m", "", "SPAN"},
		{new(Span), "0", "", "SPAN"},
		{&word, "green", "green", "WORD"},
		{&word, "yellow", "", "WORD"},
	} {
		err := c.value.Set(c.text)
		if (err != nil) != (c.want == "") || err == nil && c.value.String() != c.want {
			t.Errorf("%T of %q: %q, %v; want %q", c.value, c.text, c.value.String(), err, c.want)
		}
		if got := c.value.Type(); got != c.typeName {
			t.Errorf("%T is called %q, want %q", c.value, got, c.typeName)
		}
		if c.want == "" {
			continue
		}
		if err := c.value.Set(c.value.String()); err != nil || c.value.String() != c.want {
			t.Errorf("%T of its own %q: %q, %v", c.value, c.want, c.value.String(), err)
		}
	}
}
