package cluster

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// The tables of docs/CLUSTER.md are what PlanFor says.
func TestTables(t *testing.T) {
	const node = 32 << 30
	var b strings.Builder
	b.WriteString("| keys | error rate | slices | memory | bits per key | nodes | per node | lines | probes | commands seen, new |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, exponent := range []int{6, 8, 9, 10, 11} {
		for _, p := range []float64{1e-2, 1e-3, 1e-4, 1e-6} {
			c := Config{Capacity: uint64(math.Pow10(exponent)), ErrorRate: p}
			one, err := PlanFor(c, 1)
			if err != nil {
				t.Fatal(err)
			}
			nodes := int((one.Bytes + node - 1) / node)
			plan, err := PlanFor(c, nodes)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "| 1e%d | %.0e | %d | %s | %.2f (%.2fx) | %d | %s | %d | %d | %d, %d |\n", exponent, p, plan.Slices,
				gigabytes(plan.Bytes), plan.BitsPerKey, plan.BitsPerKey/plan.ClassicBits, nodes, gigabytes(plan.BytesPerNode), plan.Lines, plan.Probes, plan.CommandsPerSeen, plan.CommandsPerNew)
		}
	}
	doc, err := os.ReadFile("../docs/CLUSTER.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), b.String()) {
		t.Errorf("docs/CLUSTER.md should have this table:\n%s", b.String())
	}
}

func gigabytes(n uint64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// So are the commands and the rules for users.
func TestCommandTable(t *testing.T) {
	doc, err := os.ReadFile("../docs/CLUSTER.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| command | to ask | to add | what for |\n|---|---|---|---|\n")
	for _, c := range commandsFor(UseAsk | UseAdd) {
		asks := ""
		if c.uses&UseAsk != 0 {
			asks = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | yes | %s |\n", c.name, asks, c.why)
		if c.uses&UseAdd == 0 {
			t.Errorf("%s is for asking, and not for adding", c.name)
		}
	}
	for _, want := range []string{b.String(), wrapped(ACL(UseAdd, "crawl")), wrapped(ACL(UseAsk, "crawl"))} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("docs/CLUSTER.md should have this:\n%s", want)
		}
	}
}

// wrapped is text as a block of code, in lines of up to a hundred characters.
func wrapped(text string) string {
	lines := []string{"   "}
	for word := range strings.FieldsSeq(text) {
		if last := &lines[len(lines)-1]; len(*last)+len(word) < 100 {
			*last += " " + word
		} else {
			lines = append(lines, "    "+word)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
