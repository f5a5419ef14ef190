package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"seen/internal/server/acl"
)

var ruleTests = []struct {
	rules   string
	problem string
	want    string // as ACL LIST has it
	may     string // commands with a key that are allowed
	mayNot  string
}{
	{rules: "", want: "off resetchannels -@all", mayNot: "bf.add k, ping"},
	{rules: "on nopass", want: "on nopass resetchannels -@all", may: "auth x, hello, quit, reset", mayNot: "ping"},
	{rules: "+@all", want: "off resetchannels +@all", may: "ping, client id", mayNot: "bf.add k x"},
	{rules: "~* +@all", want: "off ~* resetchannels +@all", may: "bf.add k x, flushall, config set a b"},
	{rules: "allkeys allcommands allchannels", want: "off ~* &* +@all", may: "bf.add k x"},
	{rules: "~* +@all -flushall", want: "off ~* resetchannels +@all -flushall", may: "flushdb", mayNot: "flushall"},
	{rules: "~* +@all -@dangerous", want: "off ~* resetchannels +@all -@dangerous", may: "bf.add k x", mayNot: "flushall, keys *, client list, config get x, acl list"},
	{rules: "~* +@all nocommands +ping", want: "off ~* resetchannels -@all +ping", may: "ping", mayNot: "echo x"},
	{rules: "~* +bf.add", want: "off ~* resetchannels -@all +bf.add", may: "bf.add k x", mayNot: "bf.exists k x"},
	{rules: "~* +BF.ADD -bf.add +bf.add", want: "off ~* resetchannels -@all +bf.add", may: "bf.add k x"},
	{rules: "~* +@bloom", want: "off ~* resetchannels -@all +@bloom", may: "bf.add k x, bf.exists k x", mayNot: "ping"},
	{rules: "~* +@read", want: "off ~* resetchannels -@all +@read", may: "bf.exists k x, ttl k", mayNot: "bf.add k x"},
	{rules: "~* +client", want: "off ~* resetchannels -@all +client", may: "client id, client kill x"},
	{rules: "~* +client -client|kill", want: "off ~* resetchannels -@all +client -client|kill", may: "client id", mayNot: "client kill x"},
	{rules: "~* +client|id +client|info", want: "off ~* resetchannels -@all +client|id +client|info", may: "client id", mayNot: "client list, client"},
	{rules: "~* +client|id +client", want: "off ~* resetchannels -@all +client", may: "client list"},
	{rules: "+bf.add ~a:* ~b", want: "off ~a:* ~b resetchannels -@all +bf.add", may: "bf.add a:1 x, bf.add b x", mayNot: "bf.add a x, bf.add bb x, bf.add c a:1"},
	{rules: "+@all %R~r %W~w", want: "off %R~r %W~w resetchannels +@all", may: "ttl r, bf.exists r x, del w, persist w, exists r w", mayNot: "ttl w, bf.add r x, bf.add w x, del r, del w r, exists x"},
	{rules: "+@all %R~k %W~k", want: "off ~k resetchannels +@all", may: "bf.add k x"},
	{rules: "+@all %RW~k", want: "off ~k resetchannels +@all", may: "bf.add k x"},
	{rules: "+@all %R~* %W~d", want: "off %R~* %W~d resetchannels +@all", mayNot: "rename d d, rename x d, rename d x"},
	{rules: "+@all %RW~d %W~x", want: "off ~d %W~x resetchannels +@all", may: "rename d d, rename d x", mayNot: "rename x d"},
	{rules: "+@all ~d %R~s", want: "off ~d %R~s resetchannels +@all", may: "bf.merge d s s", mayNot: "bf.merge s d, bf.merge d x"},
	{rules: "+@all ~*", want: "off ~* resetchannels +@all", may: "bf.add k x"},
	{rules: "~a ~b resetkeys ~c +@all", want: "off ~c resetchannels +@all", may: "ttl c", mayNot: "ttl a"},
	{rules: "~a ~a", want: "off ~a resetchannels -@all"},
	{rules: "&a &b &a", want: "off resetchannels &a &b -@all"},
	{rules: "&a resetchannels", want: "off resetchannels -@all"},
	{rules: "on ~* +@all >x reset", want: "off resetchannels -@all", mayNot: "ping"},
	{rules: ">a >a >b <b", want: "off #ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb resetchannels -@all"},
	{rules: ">a nopass", want: "off nopass resetchannels -@all"},
	{rules: "nopass >a", want: "off #ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb resetchannels -@all"},
	{rules: ">a resetpass", want: "off resetchannels -@all"},
	{rules: "#ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb !ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", want: "off resetchannels -@all"},
	{rules: "sanitize-payload clearselectors", want: "off resetchannels -@all"},

	{rules: "foo", problem: "Syntax error"},
	{rules: "+", problem: "Unknown command or category name in ACL"},
	{rules: "+nosuch", problem: "Unknown command or category name in ACL"},
	{rules: "+@nosuch", problem: "Unknown command or category name in ACL"},
	{rules: "-@", problem: "Unknown command or category name in ACL"},
	{rules: "+client|nosuch", problem: "Unknown command or category name in ACL"},
	{rules: "+client|", problem: "Syntax error"},
	{rules: "+client|id|x", problem: "Allowing first-arg of a subcommand is not supported"},
	{rules: "+select|0", problem: "Syntax error"},
	{rules: "(+ping ~x)", problem: "Syntax error"},
	{rules: "skip-sanitize-payload", problem: "Syntax error"},
	{rules: "~* ~a", problem: uselessPattern},
	{rules: "allkeys %R~a", problem: uselessPattern},
	{rules: "&* &a", problem: uselessChannel},
	{rules: "%X~a", problem: "Syntax error"},
	{rules: "%~a", problem: "Syntax error"},
	{rules: "%R", problem: "Syntax error"},
	{rules: "#abc", problem: "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
	{rules: "#CA978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", problem: "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
	{rules: "#$2a$99$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", problem: "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
	{rules: "#$2a$04$short", problem: "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
	{rules: "<a", problem: "The password you are trying to remove from the user does not exist"},
	{rules: "!ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", problem: "The password you are trying to remove from the user does not exist"},
}

// Errors for patterns after one that matches everything.
const (
	uselessPattern = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. " +
		"Try 'resetkeys' to start with an empty list of patterns"
	uselessChannel = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. " +
		"Try 'resetchannels' to start with an empty list of channels"
)

func TestRules(t *testing.T) {
	table := newTable()
	for _, test := range ruleTests {
		r, problem := rightsOf(table, strings.Fields(test.rules))
		if problem != test.problem {
			t.Errorf("%q: %q, want %q", test.rules, problem, test.problem)
		}
		if test.problem != "" {
			continue
		}
		if got := r.Describe(); got != test.want {
			t.Errorf("%q\nis listed as %s\nwant %s", test.rules, got, test.want)
		}
		for list, want := range map[string]bool{test.may: true, test.mayNot: false} {
			for line := range strings.SplitSeq(list, ", ") {
				if line == "" {
					continue
				}
				args := bytes.Fields([]byte(line))
				cmd := table.find(args)
				if cmd == nil {
					t.Fatalf("there is no command %q", line)
				}
				if d, _ := r.Check(cmd.acl, args); (d == acl.Allowed) != want {
					t.Errorf("%q allows %q: %v", test.rules, line, d == acl.Allowed)
				}
			}
		}
	}
}

func rightsOf(t *table, rules []string) (*acl.Rights, string) {
	users := acl.NewUsers(&t.acl, "", "", time.Now)
	if _, problem := users.Change("u", rules); problem != "" {
		return nil, problem
	}
	return users.Get("u").Rights(), ""
}

// sameRights reports whether two rights allow the same commands with the keys of the
// tests.
func sameRights(t *table, a, b *acl.Rights) error {
	for _, cmd := range t.commands {
		args := make([][]byte, max(cmd.arity, -cmd.arity, 3))
		for _, key := range []string{"a", "a:1", "k", "*", ""} {
			for i := range args {
				args[i] = []byte(key)
			}
			d1, _ := a.Check(cmd.acl, args)
			d2, _ := b.Check(cmd.acl, args)
			if d1 != d2 {
				return fmt.Errorf("%s %q: %d and %d", cmd.full, key, d1, d2)
			}
		}
	}
	if a.Open() != b.Open() || !slices.Equal(a.Flags(), b.Flags()) || !slices.Equal(a.Passwords(), b.Passwords()) {
		return fmt.Errorf("they differ in who may log in")
	}
	return nil
}

// FuzzACL reads files of users. Users that were read can be written and read again with
// the same rights. An error returns no users.
func FuzzACL(f *testing.F) {
	for _, test := range ruleTests {
		f.Add("user u " + test.rules + "\n")
	}
	f.Add("# comment\n\nuser a on nopass ~* +@all\nuser b off\n")
	f.Add("user a on\nuser a off")
	f.Add("user\n")
	table := newTable()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "$2") {
			return // bcrypt takes its time
		}
		users, err := acl.Parse(&table.acl, text)
		if err != nil {
			if users != nil {
				t.Errorf("users and an error: %v", err)
			}
			return
		}
		for name, r := range users {
			line := "user " + name + " " + r.Describe()
			again, err := acl.Parse(&table.acl, line)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if got := again[name].Describe(); got != r.Describe() {
				t.Errorf("%q is read as %q", r.Describe(), got)
			}
			if err := sameRights(table, r, again[name]); err != nil {
				t.Errorf("%q, read again: %v", line, err)
			}
		}
	})
}

func TestACLFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slow, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	write(fmt.Sprintf("# users\nuser default off\nuser reader on >plain ~a:* +@read +acl|whoami\nuser slow on #%s allkeys allcommands\n", slow))
	s := start(t, func(c *Config) { c.ACLFile = file })
	c := s.dial(t)
	c.want("-"+noAuth, "PING")
	c.want("-WRONGPASS invalid username-password pair or user is disabled.", "AUTH", "x")
	c.want("-WRONGPASS invalid username-password pair or user is disabled.", "AUTH", "slow", "wrong")
	c.want("-WRONGPASS invalid username-password pair or user is disabled.", "AUTH", "nobody", "secret")
	c.want("+OK", "AUTH", "slow", "secret")
	c.want(`"slow"`, "ACL", "WHOAMI")
	reader := s.dial(t)
	reader.want("+OK", "AUTH", "reader", "plain")
	reader.want(`:-2`, "TTL", "a:1")
	reader.want(`"reader"`, "ACL", "WHOAMI")

	// A file with an error changes nothing.
	write("user default on nopass +@all ~*\nuser reader on nosuch\n")
	if got := c.do("ACL", "LOAD").String(); !strings.Contains(got, "line 2") || !strings.Contains(got, "nosuch") {
		t.Errorf("ACL LOAD of a wrong file: %s", got)
	}
	reader.want(`"reader"`, "ACL", "WHOAMI")

	// Users who are gone lose their connections; rights change at once.
	write("user default off\nuser slow on >secret allkeys allcommands\n")
	if err := s.ReloadACL(); err != nil {
		t.Fatal(err)
	}
	reader.wantClosed()
	c.want("+OK", "ACL", "SETUSER", "new", "on", ">pw", "+ping")
	c.want("+OK", "ACL", "SAVE")
	if open, err := CheckACL(file, ""); open || err != nil {
		t.Errorf("the saved file: open %v, %v", open, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "user new on #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 resetchannels -@all +ping\n") || strings.Contains(string(text), "pw") {
		t.Errorf("saved:\n%s", text)
	}
	if _, err := CheckACL(filepath.Join(t.TempDir(), "missing"), ""); err == nil {
		t.Error("no error for a missing file")
	}
	// The user of the connection is gone: it ends after the reply.
	write("user default on nopass allkeys allcommands\n")
	c.want("+OK", "ACL", "LOAD")
	c.wantClosed()
	s.dial(t).want("+PONG", "PING")
}

func TestACLFileAtStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	for text, want := range map[string]string{
		"":                      "",
		"# nobody\n":            "",
		"use a\n":               "line 1",
		"user\n":                "line 1",
		"\nuser a\nuser a\n":    "line 3: Duplicate user 'a'",
		"user a >secret nosuch": "nosuch",
		"user a on <secret\n":   "<...",
		"user a\x00b on\n":      "line 1: Usernames",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := CheckACL(file, "")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error tells the password: %v", text, err)
		}
	}
}

// If the file has the default user, the file decides; otherwise the password does.
func TestOpenByFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	for text, want := range map[string][2]bool{ // without and with a password
		"":                        {true, false},
		"user a on nopass":        {true, false},
		"user default on nopass":  {true, true},
		"user default off nopass": {false, false},
		"user default on >x":      {false, false},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, password := range []string{"", "sesame"} {
			open, err := CheckACL(file, password)
			if open != want[i] || err != nil {
				t.Errorf("%q with password %q: open %v, %v", text, password, open, err)
			}
			s := start(t, func(c *Config) { c.ACLFile, c.Password = file, password })
			if s.acl.Open() != open {
				t.Errorf("%q with password %q: the server is open: %v", text, password, s.acl.Open())
			}
		}
	}
}

func TestPassword(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	c := s.dial(t)
	for _, command := range []string{"PING", "BF.ADD k x", "INFO", "CONFIG GET *", "COMMAND", "CLIENT ID", "MULTI", "SUBSCRIBE"} {
		want := "-" + noAuth
		if command == "SUBSCRIBE" {
			want = "-ERR unknown command 'SUBSCRIBE', with args beginning with: "
		}
		c.want(want, strings.Fields(command)...)
	}
	c.want("-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option "+
		"can be used to authenticate the client and select the RESP protocol version at the same time", "HELLO", "3")
	c.want("-"+wrongPassword, "HELLO", "3", "AUTH", "default", "wrong")
	if v := c.do("HELLO", "3", "AUTH", "default", "sesame", "SETNAME", "me"); v.Kind != '%' {
		t.Errorf("HELLO: %v", v)
	}
	c.want(`"me"`, "CLIENT", "GETNAME")
	c.want("+PONG", "PING")
	c.want("+RESET", "RESET")
	c.want("-"+noAuth, "PING")
	c.want("-"+wrongPassword, "AUTH", "")
	c.want("+OK", "AUTH", "sesame")
	c.want("+PONG", "PING")

	// New clients need the new password.
	c.want("+OK", "CONFIG", "SET", "requirepass", "other")
	d := s.dial(t)
	d.want("-"+wrongPassword, "AUTH", "sesame")
	d.want("+OK", "AUTH", "other")
	d.want("+OK", "CONFIG", "SET", "requirepass", "")
	s.dial(t).want("+PONG", "PING")
}

// Before the log-in, a pipeline is parsed command by command: AUTH changes the limits for
// the next command.
func TestPipelineWithAuth(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	long := strings.Repeat("x", 20_000)
	c := s.dial(t)
	c.send("AUTH", "sesame")
	c.send("ECHO", long)
	if got := c.read().String(); got != "+OK" {
		t.Error(got)
	}
	if got := c.read().Text; got != long {
		t.Errorf("ECHO: %d bytes", len(got))
	}
	d := s.dial(t)
	d.send("ECHO", long)
	if got := d.read().String(); got != "-ERR Protocol error: unauthenticated bulk length" {
		t.Error(got)
	}
	d.wantClosed()
}

func TestUsersTranscript(t *testing.T) { transcript(t, "users") }
