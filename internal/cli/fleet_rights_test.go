package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seen/cluster"
	"seen/internal/filtertest"
	"seen/internal/redistest"
	"seen/internal/remote"
)

// isRefusal is how an engine refuses a command, or where to go to a client that it does
// not tell the nodes.
var isRefusal = regexp.MustCompile(`NOPERM|MOVED`)

// stopped is what a run says of the first line that it could not decide.
var stopped = regexp.MustCompile(`(?:lines are|line) (?:undecided: |not in the filter: )?(\d+)`)

// lacking is a user of an engine that may do all that a filter needs except one command.
type lacking struct {
	engine  string // of lackingEngines
	command string
	kind    string // of lackingKinds
}

const (
	lackingCapacity = 2000
	lackingRate     = 1e-3
	lackingLines    = 6000
)

// lackingKinds are how the filter comes about: the user creates it, or an administrator
// does, as one that grows or as one that does not.
var lackingKinds = []string{"created", "grows", "fixed"}

// lackingEngines are those on which users lack commands.
func lackingEngines(t *testing.T) map[string][]*redistest.Server {
	return map[string][]*redistest.Server{"single": {lab.Server(t)}, "cluster": lab.Cluster(t).Nodes}
}

// commandsToAdd returns the commands that a user who adds must be allowed.
func commandsToAdd() (names []string) {
	for rule := range strings.FieldsSeq(cluster.ACL(cluster.UseAdd, "f")) {
		if name, ok := strings.CutPrefix(rule, "+"); ok {
			names = append(names, strings.ToUpper(strings.ReplaceAll(name, "|", " ")))
		}
	}
	return names
}

// A user of the engine that lacks one of the commands that a filter needs: no line is
// swallowed above the promised rate, whichever it is. Either the run succeeds and is
// right, or it says on standard error from which line on it is not, and why; and the
// filter has no higher error rate than was asked for.
func TestFleetWithoutACommand(t *testing.T) {
	var cases []lacking
	for _, command := range commandsToAdd() {
		if command == "ROLE" {
			continue // without it every change takes a second longer: in the soak test
		}
		cases = append(cases, lacking{"single", command, "created"})
		if slices.Contains([]string{"BITCOUNT", "BITFIELD", "EXEC", "GET", "GETRANGE", "MULTI", "SET", "WATCH"}, command) {
			cases = append(cases, lacking{"single", command, "grows"})
		}
		if slices.Contains([]string{"BITCOUNT", "BITFIELD"}, command) {
			cases = append(cases, lacking{"single", command, "fixed"})
		}
		if slices.Contains([]string{"BITCOUNT", "EXEC", "MULTI", "WAIT", "WATCH"}, command) {
			cases = append(cases, lacking{"cluster", command, "grows"})
		}
	}
	testLacking(t, cases)
}

func testLacking(t *testing.T, cases []lacking) {
	input := numbers(lackingLines)
	for engine, servers := range lackingEngines(t) {
		set := func(rules string) {
			for _, s := range servers {
				if _, err := s.Do(append([]string{"ACL", "SETUSER", "lacking"}, strings.Fields(rules)...)...); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, admin := dial(t, servers[0].Addr())
		for _, c := range cases {
			if c.engine != engine {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", engine, c.command, c.kind), func(t *testing.T) {
				set("reset")
				c.test(t, servers[0].Addr(), input, len(cases), admin, set)
			})
		}
		set("reset")
	}
}

// test runs the command as the user; set changes the user's rules.
func (c lacking) test(t *testing.T, addr, input string, comparisons int, admin remote.Client, set func(rules string)) {
	name := strings.ReplaceAll(t.Name(), " ", "-")
	url := "redis://" + addr
	asLacking := []string{"--redis", "redis://lacking:secret@" + addr, "--name", name}
	set("reset on >secret " + cluster.ACL(cluster.UseAdd, name) + " -" + strings.ToLower(strings.ReplaceAll(c.command, " ", "|")))
	uniq := append([]string{"uniq"}, asLacking...)
	if c.kind == "created" {
		uniq = append(uniq, "-n", strconv.Itoa(lackingCapacity), "-p", fmt.Sprint(lackingRate))
	} else if _, err := cluster.Open(t.Context(), admin, name, cluster.Config{Capacity: lackingCapacity, ErrorRate: lackingRate, Fixed: c.kind == "fixed"}); err != nil {
		t.Fatal(err)
	}

	code, out, said := run(input, uniq...)
	printed := strings.Fields(out)
	whole := lackingLines // lines of which all that are new must be printed
	switch {
	case code == ExitOK:
		if said != "" || c.kind == "fixed" {
			t.Errorf("success, and it says %q", said)
		}
	case code == ExitError && isRefusal.MatchString(said) && strings.Contains(said, " ACL SETUSER USER ~"),
		code == ExitLimit && strings.Contains(said, "NOPERM") && strings.Contains(said, "full"),
		code == ExitLimit && c.kind == "fixed" && strings.Contains(said, "full"):
		whole = 0
		if at := stopped.FindStringSubmatch(said); at != nil {
			first, err := strconv.Atoi(at[1])
			if err != nil {
				t.Fatal(err)
			}
			whole = first - 1
		} else if out != "" {
			t.Errorf("it does not say from which line on it is wrong: %s", said)
		}
	default:
		t.Errorf("exit code %d: %s", code, said)
	}
	seen := map[string]bool{}
	upTo := 0
	for _, line := range printed {
		n, err := strconv.Atoi(line)
		if err != nil || n < 1 || n > lackingLines || seen[line] {
			t.Fatalf("printed %q, once more or from nowhere", line)
		}
		seen[line] = true
		if n <= whole {
			upTo++
		}
	}
	if _, hi := filtertest.Limits(lackingLines, lackingRate, 0, comparisons); whole-upTo > hi {
		t.Errorf("%d of %d lines are missing without a word; want at most %d. Exit code %d: %s", whole-upTo, whole, hi, code, said)
	}

	// The filter itself, as an administrator sees it.
	if code, text, said := run("", "info", "--json", url+"/"+name); code == ExitOK {
		var info struct {
			Rate  float64 `json:"error_rate"`
			Asked float64 `json:"asked_error_rate"`
		}
		if err := json.Unmarshal([]byte(text), &info); err != nil {
			t.Fatal(err)
		}
		if info.Rate > 1.1*info.Asked || info.Asked != lackingRate {
			t.Errorf("error rate %g, asked for %g", info.Rate, info.Asked)
		}
	} else if c.kind != "created" || !strings.Contains(said, "no such filter") {
		t.Errorf("info: exit code %d: %s", code, said)
	}

	// A run that is refused says so; others answer as an administrator's does.
	for _, question := range [][]string{
		{"filter"}, {"filter", "-v"}, {"info"}, {"check"}, {"add"}, {"clear"}, {"clear", "--drop"},
	} {
		input := "1\n5\n1000000007\n"
		code, out, said := run(input, append(question, asLacking...)...)
		switch {
		case code == ExitError || code == ExitLimit:
			if !isRefusal.MatchString(said) && !strings.Contains(said, "full") && !strings.Contains(said, "no such filter") {
				t.Errorf("%v: exit code %d: %s", question, code, said)
			}
		case question[0] == "filter" || question[0] == "check":
			_, want, _ := run(input, append(question, "--redis", url, "--name", name)...)
			if out != want {
				t.Errorf("%v: %q; an administrator gets %q", question, out, want)
			}
		}
	}
}
