package server

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"seen/internal/resp"
	"seen/internal/store"
)

// Commands with large replies in one pipeline do not all run before the first replies are
// sent: a client that does not read cannot use more than its output limit.
func TestLargeRepliesOfAPipeline(t *testing.T) {
	const output = 8 << 20
	s := start(t, func(c *Config) { c.Limits.Output = output })
	if _, _, err := s.store.CreateBloom([]byte("large"), store.BloomConfig{ErrorRate: 0.01, Capacity: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	c := s.dial(t)
	c.want("+PONG", "PING")
	one := resp.AppendCommand(nil, "BF.SCANDUMP", "large", "1")
	calls := s.table.find([][]byte{[]byte("bf.scandump")}).stats
	c.write(bytes.Repeat(one, 1000))
	eventually(t, "the end of the connection", func() bool { return s.clients.count() == 0 })
	if n := calls.calls.Load(); n > 100 {
		t.Errorf("%d chunks of more than 1 MB were made for a client that may leave %d bytes waiting", n, output)
	}
}

// The replies of a transaction are sent together. If they are too large they are not kept,
// but all its changes are made.
func TestLargeRepliesOfATransaction(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Output = 4 << 20 })
	if _, _, err := s.store.CreateBloom([]byte("large"), store.BloomConfig{ErrorRate: 0.01, Capacity: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	c := s.dial(t)
	c.want("+OK", "MULTI")
	for range 20 {
		c.want("+QUEUED", "BF.SCANDUMP", "large", "1")
	}
	c.want("+QUEUED", "BF.ADD", "new", "key")
	c.send("EXEC")
	c.wantClosed()
	if n := s.sent.Load(); n > int64(s.config.Limits.Output) {
		t.Errorf("%d bytes of replies were made", n)
	}
	s.dial(t).want(":1", "BF.EXISTS", "new", "key")
}

// Passwords are not kept in the slow log.
func TestSlowLogHasNoPasswords(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.want("+OK", "CONFIG", "SET", "slowlog-log-slower-than", "0")
	c.want("+OK", "ACL", "SETUSER", "somebody", "on", ">hidden-1", "+@all")
	c.want("+OK", "AUTH", "somebody", "hidden-1")
	c.do("AUTH", "somebody", "hidden-2")
	c.do("HELLO", "3", "AUTH", "somebody", "hidden-1")
	c.do("MULTI")
	c.do("AUTH", "somebody", "hidden-1")
	c.do("EXEC")
	c.want("+OK", "CONFIG", "SET", "requirepass", "hidden-3")
	log := c.do("SLOWLOG", "GET", "100").String()
	if strings.Contains(log, "hidden") || !strings.Contains(log, "(redacted)") || !strings.Contains(log, "SETUSER") {
		t.Error(log)
	}
}

// Entries of the ACL log keep only the beginning of long keys.
func TestRefusalsAreShort(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.want("+OK", "ACL", "SETUSER", "somebody", "on", "nopass", "+@all", "~allowed")
	c.want("+OK", "AUTH", "somebody", "any")
	c.do("BF.ADD", strings.Repeat("k", 1<<20), "x")
	c.do("AUTH", strings.Repeat("u", 1<<20), "x")
	for _, e := range s.acl.Log.List(10) {
		if n := len(e.Object) + len(e.User); n > 1000 {
			t.Errorf("an entry of %d bytes", n)
		}
	}
	if n := len(s.acl.Log.List(10)); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// The memory that a command with many words needed is not kept.
func TestManyWordsAreForgotten(t *testing.T) {
	s := start(t)
	near, far := net.Pipe()
	defer far.Close()
	c := s.newConn(near)
	defer c.cut()
	words := []string{"BF.MADD", "key"}
	for range 100_000 {
		words = append(words, "x")
	}
	c.in = resp.AppendCommand(nil, words...)
	go func() {
		for b := make([]byte, 1<<16); ; {
			if _, err := far.Read(b); err != nil {
				return
			}
		}
	}()
	if !c.answer() {
		t.Fatal("the connection ended")
	}
	c.outlet.finish()
	if n := cap(c.args); n > maxScratch || c.call.args != nil {
		t.Errorf("room for %d words is kept", n)
	}
}

// DUMP refuses values that are too large to send back.
func TestDumpOfALargeValue(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Command.Bulk = 1 << 20 })
	c := s.dial(t)
	c.want("+OK", "BF.RESERVE", "small", "0.01", "1000")
	c.want("+OK", "BF.RESERVE", "large", "0.01", "10000000")
	if v := c.do("DUMP", "small"); v.Kind != resp.Bulk {
		t.Error(v)
	}
	if v := c.do("DUMP", "large"); v.Kind != resp.Error || !strings.Contains(v.Text, "too large") {
		t.Errorf("%.100s", v)
	}
}

// Concurrent changes of one user are all made.
func TestChangesOfUsersAreNotLost(t *testing.T) {
	s := start(t)
	const each = 1000
	var wg sync.WaitGroup
	for _, kind := range []string{"a", "b", "c"} {
		wg.Go(func() {
			for i := range each {
				if _, problem := s.acl.Change("somebody", []string{"~" + kind + strconv.Itoa(i)}); problem != "" {
					t.Error(problem)
				}
			}
		})
	}
	wg.Wait()
	if n := len(strings.Fields(s.acl.Get("somebody").Rights().Keys())); n != 3*each {
		t.Errorf("%d of %d changes are there", n, 3*each)
	}
}

// A user that is deleted during its log-in does not stay logged in.
func TestDeletedWhileLoggingIn(t *testing.T) {
	s := start(t)
	admin := s.dial(t)
	slow, err := bcrypt.GenerateFromPassword([]byte("secret"), 8)
	if err != nil {
		t.Fatal(err)
	}
	admin.want("+OK", "ACL", "SETUSER", "somebody", "on", "#"+string(slow), "+@all", "~*")
	// The password is tried when a core is free.
	release := s.occupy()
	c := s.dial(t)
	c.want("+PONG", "PING")
	c.send("AUTH", "somebody", "secret")
	calls := s.table.byName["auth"].stats
	time.Sleep(50 * time.Millisecond) // if it has not begun by then, it finds no user, which is refused too
	admin.want(":1", "ACL", "DELUSER", "somebody")
	release()
	if got := c.read().String(); !strings.HasPrefix(got, "-WRONGPASS") {
		t.Errorf("a deleted user: %s", got)
	}
	c.want(`"default"`, "ACL", "WHOAMI")
	if calls.calls.Load() != 1 {
		t.Error("AUTH was not called once")
	}
}
