package crashtest

import (
	"strings"
	"testing"

	"seen/internal/redistest"
)

// TestJudge makes sure that Check finds what contradicts a model.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	s, err := redistest.StartSeen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	c, err := Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := Prepare(c); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"CF.ADD", "cuckoo", "more"}, {"CMS.INCRBY", "counts", "more", "1"}, {"BF.ADD", "batch-bloom", "part"}} {
		if _, err := ask(c, args...); err != nil {
			t.Fatal(err)
		}
	}
	for want, lie := range map[string]func(*Model){
		"":                          func(*Model) {},
		"BF.ADD of lost":            func(m *Model) { m.added["lost"] = true },
		"additions of lost":         func(m *Model) { m.sum(m.copies, "lost", 0, 1) },
		"counts 1 additions":        func(m *Model) { m.total = interval{} },
		"the count of lost":         func(m *Model) { m.sum(m.counts, "lost", 1, 1) },
		"the count of more is 1":    func(m *Model) { m.sum(m.counts, "more", 0, 0) },
		"of lost was answered":      func(m *Model) { m.batches["lost"] = true },
		"of part is there in part":  func(m *Model) { m.batches["part"] = false },
		"BF.RESERVE of lost":        func(m *Model) { m.made["lost"] = true },
		"of their keys in the cuck": func(m *Model) { m.batches["part"] = false },
	} {
		m := NewModel(nil)
		m.total = interval{1, 1}
		lie(m)
		problems, err := m.Check(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(problems, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	}
}
