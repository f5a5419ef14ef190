package cluster

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
	"seen/internal/redistest"
)

// The table has every command that the code of this package builds, and otherwise
// only what the client library sends by itself.
func TestCommandsAreAll(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		builders := map[string]bool{}
		ast.Inspect(tree, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && isSelector(field.Type, "Builder") {
				for _, name := range field.Names {
					builders[name.Name] = true
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch on := method.X.(type) {
			case *ast.CallExpr:
				if !isSelector(on.Fun, "B") {
					return true
				}
			case *ast.Ident:
				if !builders[on.Name] {
					return true
				}
			default:
				return true
			}
			name := strings.ToUpper(method.Sel.Name)
			if name == "ARBITRARY" {
				word, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				name = word
			}
			built[name] = true
			return true
		})
	}
	if len(built) < 20 {
		t.Fatalf("found only %v in the code", built)
	}
	ofLibrary := []string{"ASKING", "CLUSTER SHARDS", "CLUSTER SLOTS", "PING"}
	for name := range built {
		if !slices.ContainsFunc(commands, func(c command) bool { return c.name == name }) {
			t.Errorf("the code builds %s, which is not in the table", name)
		}
	}
	for _, c := range commands {
		if !built[c.name] && !slices.Contains(ofLibrary, c.name) {
			t.Errorf("the table has %s, which the code does not build", c.name)
		}
	}
	if !slices.IsSortedFunc(commands, func(a, b command) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the table is not sorted")
	}
}

func isSelector(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

// aclEngines are those of onEngines with the servers, on which users are made.
var aclEngines = []struct {
	name    string
	servers func(t *testing.T) []*redistest.Server
}{
	{"single", func(t *testing.T) []*redistest.Server { return []*redistest.Server{lab.Server(t)} }},
	{"cluster", func(t *testing.T) []*redistest.Server { return lab.Cluster(t).Nodes }},
}

// setUser sets the rules of a user on all servers.
func setUser(t *testing.T, servers []*redistest.Server, user string, rules string) {
	t.Helper()
	for _, s := range servers {
		if _, err := s.Do(append([]string{"ACL", "SETUSER", user}, strings.Fields(rules)...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// dialAs makes a user with the given rules, and a client that is logged in as it.
func dialAs(t *testing.T, servers []*redistest.Server, user, rules string) rueidis.Client {
	t.Helper()
	setUser(t, servers, user, "reset on >secret "+rules)
	t.Cleanup(func() {
		for _, s := range servers {
			if _, err := s.Do("ACL", "DELUSER", user); err != nil {
				t.Error(err)
			}
		}
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{servers[0].Addr()}, Username: user, Password: "secret", DisableCache: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// refusedTo returns what the servers have refused to a user, except what the client
// library sends to clean up a connection, whose refusal has no effect.
func refusedTo(t *testing.T, servers []*redistest.Server, user string) []string {
	t.Helper()
	var all []string
	for _, s := range servers {
		log, err := s.Do("ACL", "LOG")
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range log.Elems {
			fields := map[string]string{}
			for i := 0; i+1 < len(entry.Elems); i += 2 {
				fields[entry.Elems[i].Text] = entry.Elems[i+1].Text
			}
			if object := fields["object"]; fields["username"] == user &&
				!slices.Contains([]string{"unsubscribe", "punsubscribe", "sunsubscribe", "discard", "client|setinfo"}, object) {
				all = append(all, fields["reason"]+" "+object)
			}
		}
	}
	return all
}

// A user with exactly the commands of the table can do everything.
func TestExactlyTheseCommands(t *testing.T) {
	for _, e := range aclEngines {
		t.Run(e.name, func(t *testing.T) {
			ctx, servers := t.Context(), e.servers(t)
			must := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			n := name(t)
			writer := dialAs(t, servers, "writer", ACL(UseAdd, n))
			reader := dialAs(t, servers, "reader", ACL(UseAsk, n))
			c := Config{Capacity: 1000, ErrorRate: 0.01, SliceBytes: 1024}
			f, err := Open(ctx, writer, n, c)
			must("Open", err)
			if err != nil {
				return
			}
			_, err = f.Add(ctx, keys(0, 5000)...)
			must("Add", err)
			must("Expire", f.Expire(ctx, time.Hour))
			_, _, err = f.TTL(ctx)
			must("TTL", err)
			must("Persist", f.Persist(ctx))
			must("Union", f.Union(ctx, n+":union"))
			_, err = f.Trace(ctx, 7)
			must("Trace", err)
			read, err := Open(ctx, reader, n, Config{})
			must("Open to ask", err)
			found, err := read.Has(ctx, keys(0, 5000)...)
			must("Has", err)
			if trues(found) != 5000 {
				t.Errorf("%d of 5000 keys are found", trues(found))
			}
			_, err = read.Stats(ctx)
			must("Stats", err)
			_, _, err = read.TTL(ctx)
			must("TTL to ask", err)
			_, err = read.Trace(ctx, 7)
			must("Trace to ask", err)
			must("Clear", f.Clear(ctx))
			must("dropFull", f.dropFull(ctx))
			must("Drop", Drop(ctx, writer, n+":union"))
			w, err := OpenWindow(ctx, writer, n, WindowConfig{Config: c, Span: 50 * time.Millisecond, Generations: 3})
			must("OpenWindow", err)
			// Until the first generations are forgotten and deleted.
			number := func() int64 { return w.current.Load().record.last().Number }
			first, deadline := number(), time.Now().Add(time.Minute)
			for number() < first+5 && time.Now().Before(deadline) && !t.Failed() {
				_, err = w.Add(ctx, keys(0, 2000)...)
				must("Add to a window", err)
			}
			wr, err := OpenWindow(ctx, reader, n, WindowConfig{})
			must("OpenWindow to ask", err)
			_, err = wr.Has(ctx, keys(0, 100)...)
			must("Has of a window", err)
			must("Drop of a window", w.Drop(ctx))
			waits := Config{Capacity: 1000, ErrorRate: 0.01, Wait: Wait{Replicas: 1, Timeout: time.Millisecond}}
			f, err = Open(ctx, writer, n, waits)
			if err != nil && !errors.Is(err, ErrReplicas) {
				must("Open with Wait", err)
			}
			if err == nil {
				must("Drop", f.Drop(ctx))
			}
			must("Drop", Drop(ctx, writer, n))

			recipes := dialAs(t, servers, "recipes", ACL(UseRecipe, n))
			for _, recipe := range []string{RecipeMD5, RecipeScrapy} {
				r, err := OpenRecipe(ctx, recipes, n, RecipeConfig{Recipe: recipe, Bits: 20, Wait: Wait{Replicas: 1, Timeout: time.Millisecond}})
				must(recipe, err)
				if _, err = r.Add(ctx, keys(0, 10)...); err != nil && !errors.Is(err, ErrReplicas) {
					must(recipe+" Add", err)
				}
				_, err = r.Has(ctx, keys(0, 10)...)
				must(recipe+" Has", err)
			}
			for _, user := range []string{"writer", "reader", "recipes"} {
				if refused := refusedTo(t, servers, user); len(refused) > 0 {
					t.Errorf("%s was refused %q", user, refused)
				}
			}
		})
	}
}

// The name of a filter is not a pattern, and does not end a rule.
func TestACLQuotes(t *testing.T) {
	server := lab.Server(t)
	n := name(t) + "*[a]?\\ +@all\t'\""
	client := dialAs(t, []*redistest.Server{server}, "quoted", ACL(UseAdd, n))
	f, err := Open(t.Context(), client, n, Config{Capacity: 100, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, f, keys(0, 10)...)
	if _, err := Open(t.Context(), client, name(t)+"*a", Config{Capacity: 100, ErrorRate: 0.01}); CodeOf(err) != NoPermission {
		t.Errorf("another filter: %v", err)
	}
}

// A layer that cannot be closed takes no more keys than it is made for, whatever the
// engine refuses. Keys beyond are not added, and said to be so; and when the engine no
// longer refuses, the filter grows.
func TestLayerThatCannotBeClosed(t *testing.T) {
	for _, e := range aclEngines {
		t.Run(e.name, func(t *testing.T) {
			servers := e.servers(t)
			client := dialAs(t, servers, "closing", "~* +@all")
			for _, c := range commandsFor(UseAdd) {
				isFull := slices.Contains([]string{"WATCH", "MULTI", "EXEC", "SET", "WAIT"}, c.name)
				if !isFull && c.name != "BITCOUNT" || c.name == "WAIT" && e.name == "single" { // without replicas
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					const capacity, rate, total = 2000, 1e-3, 10_000
					f := open(t, client, Config{Capacity: capacity, ErrorRate: rate, SliceBytes: 1024})
					setUser(t, servers, "closing", "-"+strings.ToLower(c.name))
					isNew, refusals := 0, 0
					var left [][]byte
					for from := 0; from < total; from += 500 {
						ks := keys(from, 500)
						added, err := f.Add(t.Context(), ks...)
						undecided := undecidedOf(t, err, len(ks))
						for i := range ks {
							if undecided[i] {
								left = append(left, ks[i])
							}
						}
						isNew += trues(added)
						if err == nil {
							continue
						}
						refusals++
						var u *UndecidedError
						if !errors.As(err, &u) || !u.NotAdded || CodeOf(err) != NoPermission || errors.Is(err, ErrFull) != isFull {
							t.Fatal(err)
						}
					}
					if isNew < capacity*9/10 || isNew > capacity+capacity/50 || isNew+len(left) < total-50 {
						t.Errorf("%d keys are new and %d undecided, of %d in a filter for %d", isNew, len(left), total, capacity)
					}
					setUser(t, servers, "closing", "+@all")
					for from := 0; from < len(left); from += 500 {
						isNew += trues(mustAdd(t, f, left[from:min(from+500, len(left))]...))
					}
					if _, hi := filtertest.Limits(total, rate, 0, 12); total-isNew > hi {
						t.Errorf("%d of %d keys were new for no client; want at most %d", total-isNew, total, hi)
					}
					st, err := f.Stats(t.Context())
					if err != nil || st.ErrorRate > 1.1*rate {
						t.Errorf("error rate %g, asked for %g: %v", st.ErrorRate, rate, err)
					}
				})
			}
		})
	}
}

// A transaction that is refused halfway leaves the record as it is. Its connection is
// closed: it would queue the commands of the next call.
func TestRefusedTransaction(t *testing.T) {
	server := lab.Server(t)
	client := dialAs(t, []*redistest.Server{server}, "halfway", "~* +@all")
	for _, refused := range []string{"watch", "multi", "exec", "set", "role"} {
		f := open(t, client, Config{Capacity: 100, ErrorRate: 0.01})
		before, _, err := f.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		setUser(t, []*redistest.Server{server}, "halfway", "-"+refused)
		err = f.Expire(t.Context(), time.Hour)
		setUser(t, []*redistest.Server{server}, "halfway", "+@all")
		after, _, getErr := f.get(t.Context())
		if getErr != nil {
			t.Fatal(getErr)
		}
		switch refused {
		case "role":
			if err != nil || after == before {
				t.Errorf("without ROLE: %v, and the record is %s", err, after)
			}
		default:
			if CodeOf(err) != NoPermission || after != before {
				t.Errorf("without %s: %v, and the record has become %s", refused, err, after)
			}
		}
		for range 4 { // more than there are connections
			if err := f.Persist(t.Context()); err != nil {
				t.Errorf("after %s was refused: %v", refused, err)
			}
			if _, err := f.engineTime(t.Context()); err != nil {
				t.Errorf("after %s was refused: %v", refused, err)
			}
		}
	}
}

// One look at whether a layer is full is for all calls that wait for it, also if it
// fails; but not if it ended with its own call.
func TestLooksAreShared(t *testing.T) {
	servers := []*redistest.Server{lab.Server(t)}
	client := dialAs(t, servers, "looking", "~* +@all -bitcount")
	f := open(t, client, Config{Capacity: 200, ErrorRate: 0.01})
	if _, err := f.Add(t.Context(), keys(0, 1000)...); err == nil {
		t.Fatal("a full layer takes keys")
	}
	l := f.current.Load().newest()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := l.looks.Load()
	if err := f.checkFull(ended, l); err == nil || l.looks.Load() != before {
		t.Errorf("a look whose call has ended: %v, and it is shared", err)
	}
	if err := l.checking.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := errors.New("what the other call has found")
	answer := make(chan error)
	go func() { answer <- f.checkFullSince(t.Context(), l, before) }()
	l.looked = found
	l.looks.Add(1)
	l.checking.release()
	if err := <-answer; err != found {
		t.Errorf("a call that has waited: %v", err)
	}
}
