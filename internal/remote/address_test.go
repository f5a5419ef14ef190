package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seen/internal/redistest"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"redis://host":                         {Hosts: []string{"host:6379"}},
		"redis://host:1/crawl":                 {Hosts: []string{"host:1"}, Name: "crawl"},
		"redis://:7000":                        {Hosts: []string{"localhost:7000"}},
		"redis://[::1]:7000,[fe80::1],b":       {Hosts: []string{"[::1]:7000", "[fe80::1]:6379", "b:6379"}},
		"redis://a:1,b:2?sentinel=mine&db=3":   {Hosts: []string{"a:1", "b:2"}, Sentinel: "mine", DB: 3},
		"redis://me:p%40ss%2F@h/a%2Fb%20c":     {Hosts: []string{"h:6379"}, User: "me", Password: "p@ss/", Name: "a/b c"},
		"redis://:secret@h":                    {Hosts: []string{"h:6379"}, Password: "secret"},
		"rediss://h?ca=a.pem&cert=b.pem&key=c": {Hosts: []string{"h:6379"}, TLS: true, CA: "a.pem", Cert: "b.pem", Key: "c"},
	} {
		got, err := ParseAddress(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestErrorsDoNotTellPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"host:6379":                       "begins with redis://",
		"http://u:s3cret@host":            "begins with redis://",
		"redis://u:s3/cret@host/n":        "%2F",
		"redis://u:s3?cret@host/n":        "%3F",
		"redis://u:s3#cret@host/n":        "%23",
		"redis://u:s3@cret@host/n":        "%40",
		"redis://u:s3:cret@host/n":        "%3A",
		"redis://u:s3%cret@host/n":        "%25",
		"redis://u:s3cret@host:port":      "not a number",
		"redis://u:s3cret@host:0":         "not a number",
		"redis://u:s3cret@":               "a host is missing",
		"redis://u:s3cret@a,,b":           "a host is missing",
		"redis://u:s3cret@x::1":           "brackets",
		"redis://u:s3cret@a?db=x":         "number of a database",
		"redis://u:s3cret@a?sentinal=x":   `no option "sentinal"`,
		"redis://u:s3cret@a?%zz":          "NAME=VALUE",
		"redis://u:s3cret@a?ca=x":         "rediss://",
		"rediss://u:s3cret@a?cert=x":      "go together",
		"redis://u:s3cret@a/%zz":          "%25",
		"redis://u:s3cret@a:1:2":          "brackets",
		"redis://u:s3cret@a:7777777?db=1": "not a number",
	} {
		_, err := ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("redis://u:p@a:1,b:2/name?sentinel=m&db=1")
	f.Add("rediss://[::1]/%2F?ca=x")
	f.Add("redis://0")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		b, err := ParseAddress(a.String())
		a.User, a.Password = "", ""
		a.DB, a.CA, a.Cert, a.Key = 0, "", "", ""
		if d := cmp.Diff(a, b); err != nil || d != "" {
			t.Errorf("%q as %q: %v %s", text, a.String(), err, d)
		}
	})
}

func TestDial(t *testing.T) {
	server, nodes := lab.Server(t), lab.Cluster(t)
	for _, text := range []string{"redis://" + server.Addr(), "redis://" + strings.Join(nodes.Addrs(), ",")} {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		client, err := a.Dial()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Do(t.Context(), client.B().Set().Key("dial").Value("x").Build()).Error(); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		client.Close()
	}
}

func TestDialFindsThePrimary(t *testing.T) {
	pair := lab.Pair(t)
	a, err := ParseAddress("redis://" + pair.Sentinel.Addr() + "?sentinel=" + redistest.Master)
	if err != nil {
		t.Fatal(err)
	}
	client, err := a.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(), client.B().Set().Key("dial").Value("x").Build()).Error(); err != nil {
		t.Error(err)
	}
}

func TestDialLogsIn(t *testing.T) {
	server := redistest.NewServer(t)
	if _, err := server.Do("CONFIG", "SET", "requirepass", "s3cret"); err != nil {
		t.Fatal(err)
	}
	a := Address{Hosts: []string{server.Addr()}, Password: "wr0ng"}
	if _, err := a.Dial(); err == nil || strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), server.Addr()) {
		t.Errorf("error: %v", err)
	}
	a.Password = "s3cret"
	client, err := a.Dial()
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func TestFilesOfTLS(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := Address{Hosts: []string{"h:1"}, TLS: true, CA: empty}
	if _, err := a.Dial(); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("an empty file of authorities: %v", err)
	}
	a = Address{Hosts: []string{"h:1"}, TLS: true, Cert: empty, Key: empty}
	if _, err := a.Dial(); err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Errorf("an empty certificate: %v", err)
	}
}
