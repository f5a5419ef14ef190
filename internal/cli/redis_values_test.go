//go:build unix

package cli

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/interop"
)

// movedPayload writes a payload that RedisBloom has dumped to a file in dir.
func movedPayload(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "redisbloom", "testdata", "dumps", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Dump string }
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	payload, err := hex.DecodeString(d.Dump)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".dump")
	if err := os.WriteFile(path, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Values of all families go from payloads to RDB files and back, and into a server, which
// still has them after it was killed.
func TestMoveFamilies(t *testing.T) {
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	run := func(want string, code int, args ...string) {
		t.Helper()
		text, got := seenOutput(t, args...)
		if got != code || !strings.Contains(text, want) {
			t.Errorf("%q: exit code %d, want %q\n%s", args, got, want, text)
		}
	}
	for name, ask := range map[string][]string{
		"cf-counts-deletes": {":2", "CF.COUNT", "item2"}, "cms-dim": {"[:477, :88]", "CMS.QUERY", "item0", "item1"},
		"topk-default": {"[:382, :84]", "TOPK.COUNT", "item0", "item1"},
	} {
		payload := movedPayload(t, dir, name)
		rdb, back := filepath.Join(dir, name+".rdb"), filepath.Join(dir, name+".back")
		run("", ExitOK, "convert", payload, rdb, "--to", "rdb:key="+name)
		run("", ExitOK, "convert", rdb, back, "--format", "rdb:key="+name, "--to", "redisbloom")
		run(`is "one" in the server`, ExitOK, "import", "--server", s.Addr, "--name", "one", "--replace", back)
		s.Expect(ask[0], append([]string{ask[1], "one"}, ask[2:]...)...)
		run("not imported", ExitOK, "import", "--server", s.Addr, "--all", "--replace", expired(t, rdb))
		s.Expect(":0", "EXISTS", name)
		run(name, ExitOK, "import", "--server", s.Addr, "--all", rdb)
		run("1 of 1 values are not imported", ExitError, "import", "--server", s.Addr, "--all", rdb)
		s.Kill()
		s = startServed(t, dir+"/data")
		s.Expect(ask[0], append([]string{ask[1], name}, ask[2:]...)...)
		// What cannot be done says why.
		run("cannot be asked; seen import", ExitError, "check", "--format", "rdb:key="+name, rdb, "x")
		run("is written as redisbloom", ExitError, "convert", payload, back+"2", "--to", "redisbloom:form=chunks")
		run("leave it out", ExitError, "import", "--server", s.Addr, "--must-contain", "x", payload)
		run("other values of RedisBloom", ExitOK, "info", rdb)
		damaged, err := os.ReadFile(payload)
		if err != nil {
			t.Fatal(err)
		}
		damaged[len(damaged)/2] ^= 1
		if err := os.WriteFile(payload, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		run("checksum", ExitError, "import", "--server", s.Addr, "--name", "damaged", payload)
	}
	run("--name is for one value", ExitError, "import", "--all", "--name", "x", "y.rdb")
	run("--must-contain is for one filter", ExitError, "import", "--all", "--must-contain", "x", "y.rdb")
	run("--all is for RDB files", ExitError, "import", "--all", "--format", "redisbloom", "y.rdb")
	run("is not an RDB file", ExitError, "import", "--all", filepath.Join("..", "..", "go.mod"))
}

// expired returns a copy of an RDB file whose only key has expired.
func expired(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = len("REDIS0009\xfe\x00")
	b = append(append(append([]byte{}, b[:head]...), 0xfd, 1, 0, 0, 0), b[head:]...)
	copy(b[len(b)-8:], make([]byte, 8)) // no checksum
	all, err := interop.RedisValues(b)
	if err != nil || len(all) != 1 || all[0].Expires.Unix() != 1 {
		t.Fatal(all, err)
	}
	path += ".expired"
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
