package server

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"seen/internal/redistest"
	"seen/internal/resp"
)

// TestLikeRedis sends the commands of testdata/redis.txt to a Redis server and to
// ours, and demands the same replies of both. The lines of the file are commands,
// as of inline requests, and
//
//	@key k         a value called k is made, in each server one of its own
//	~ CLIENT INFO  only the form of the reply has to be the same
//	# anything     a comment
//
// Each paragraph is a server without values and users, and a connection.
func TestLikeRedis(t *testing.T) {
	address := startRedis(t)
	text, err := os.ReadFile(filepath.Join("testdata", "redis.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range []string{"2", "3"} {
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			title, _, _ := strings.Cut(paragraph, "\n")
			t.Run(proto+" "+title, func(t *testing.T) { likeRedis(t, address, proto, paragraph) })
		}
	}
}

func likeRedis(t *testing.T, address, proto, paragraph string) {
	theirs := dial(t, "tcp", address)
	theirs.do("FLUSHALL")
	theirs.do("ACL", "DELUSER", "al", "bob", "k")
	theirs.do("ACL", "LOG", "RESET")
	s := start(t)
	s.clock.advance(time.Since(s.clock.Now()))
	ours := s.dial(t)
	both := func(show func(resp.Value) string, args ...string) (string, string) {
		a, b := "(closed)", "(closed)"
		theirs.send(args...)
		ours.send(args...)
		if v, err := theirs.next(); err == nil {
			a = show(v)
		}
		if v, err := ours.next(); err == nil {
			b = show(v)
		}
		return a, b
	}
	if proto == "3" {
		both(shape, "HELLO", "3")
	}
	for line := range strings.Lines(paragraph) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if key, ok := strings.CutPrefix(line, "@key "); ok {
			theirs.do("SET", key, "v")
			ours.do("BF.ADD", key, "v")
			continue
		}
		command, form := strings.CutPrefix(line, "~ ")
		var args []string
		for _, word := range splitWords(t, command) {
			args = append(args, string(word))
		}
		show := resp.Value.String
		switch {
		case form:
			show = shape
			if strings.HasPrefix(command, "HELLO") {
				show = helloShape
			}
		case strings.HasPrefix(command, "KEYS"):
			show = unordered
		case strings.HasPrefix(command, "COMMAND INFO"):
			show = withoutHints
		}
		if a, b := both(show, args...); refusals(a) != refusals(b) {
			t.Errorf("%s\nRedis %s\n ours %s", line, a, b)
		}
	}
}

// refusals replaces the words in which a Redis before 7.4, such as that of Debian, refuses
// what a user may not do, and those of 7.4, which are ours, by the same ones. Transcripts
// hold our words with their names.
func refusals(reply string) string {
	reply = noPermission.ReplaceAllString(reply, "USER has no permissions")
	return strings.ReplaceAll(reply, "USER has no permissions to access one of the keys used as arguments", "No permissions to access a key")
}

var noPermission = regexp.MustCompile(`(?:[Tt]his user|User \S+) has no permissions`)

// unordered formats an array whose order has no meaning.
func unordered(v resp.Value) string {
	slices.SortFunc(v.Elems, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
	return v.String()
}

// withoutHints formats descriptions of commands without tips, which ours do not have.
func withoutHints(v resp.Value) string {
	for i := range v.Elems {
		if len(v.Elems[i].Elems) == 10 {
			v.Elems[i].Elems[7].Elems = nil
		}
	}
	return v.String()
}

// helloShape is the shape of the reply of HELLO without the modules: the Redis server of
// the tests has none.
func helloShape(v resp.Value) string {
	if n := len(v.Elems); n > 0 {
		v.Elems[n-1].Elems = nil
	}
	return shape(v)
}

// shape returns the form of a reply: kinds, names in maps, and one member of each form.
func shape(v resp.Value) string {
	if v.Elems == nil {
		return string(v.Kind)
	}
	var parts []string
	seen := map[string]bool{}
	for i, elem := range v.Elems {
		part := shape(elem)
		if v.Kind == resp.Map && i%2 == 0 {
			part += elem.Text + ":" + shape(v.Elems[i+1])
		} else if v.Kind == resp.Map {
			continue
		}
		if !seen[part] {
			seen[part] = true
			parts = append(parts, part)
		}
	}
	sort.Strings(parts)
	return string(v.Kind) + "[" + strings.Join(parts, " ") + "]"
}

// TestProtocolErrorsLikeRedis sends invalid and unusual bytes to both servers.
func TestProtocolErrorsLikeRedis(t *testing.T) {
	address := startRedis(t)
	s := start(t)
	for _, input := range []string{
		"*x\r\n", "*1\r\nPING\r\n", "*1\r\n$x\r\n", "*1\r\n$-5\r\n", "*99999999999\r\n", "*1\r\n$999999999999\r\n", "*3000000000\r\n",
		"PING\r\n*1\r\n+a\r\n", "SET \"a\r\n", "ECHO 'a'b\r\n", "ECHO \"\\x41\\n\"\r\nPING\r\n*-1\r\n",
		"*0\r\n\r\n\r\nPING\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n:1\r\n", "  PING  \r\n*1\r\n!\r\n", "*1\r\n$4\r\nPINGxxPING\r\n*z\r\n",
		"*" + strings.Repeat("1", 70_000), strings.Repeat("a", 70_000), "*1\r\n$" + strings.Repeat("1", 70_000),
	} {
		var got [2]string
		for i, where := range []string{address, s.address} {
			c := dial(t, "tcp", where)
			c.write([]byte(input))
			if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for {
				v, err := c.next()
				if err != nil {
					if !closedByPeer(err) {
						t.Fatal(err)
					}
					break
				}
				got[i] += v.String() + "\n"
			}
		}
		if got[0] != got[1] {
			t.Errorf("%.60q\nRedis %s ours %s", input, got[0], got[1])
		}
	}
}

// startRedis starts a Redis server and returns its address. make test installs one.
func startRedis(t *testing.T) (address string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an engine")
	}
	program, err := redistest.Program("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(), "--databases", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	address = fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
