package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// loaded loads the settings of the server from flags, environment and a file.
func loaded(t *testing.T, flags []string, environ []string, file string) (*Settings, error) {
	t.Helper()
	from := Sources{Flags: given(flags), Environ: environ}
	if file != "" {
		from.File = filepath.Join(t.TempDir(), "seen.toml")
		if err := os.WriteFile(from.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSettings()
	return s, s.Load(from)
}

// given sorts flags by their names: "--name value", or "--name" alone before another.
func given(flags []string) map[string][]string {
	texts := map[string][]string{}
	for i := 0; i < len(flags); i++ {
		name, text := strings.TrimPrefix(flags[i], "--"), "true"
		if i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "--") {
			i++
			text = flags[i]
		}
		texts[name] = append(texts[name], text)
	}
	return texts
}

func TestSettingsPrecedence(t *testing.T) {
	const file = "addr = \"127.0.0.1:1\"\nfsync = \"no\"\nmax-clients = 7\nhttp-debug = true\nhttp-host = [\"a\", \"b\"]\ntimeout = \"1h\"\n"
	s, err := loaded(t,
		[]string{"--addr", "127.0.0.1:3", "--addr", "127.0.0.1:4", "--insecure"},
		[]string{"SEEN_ADDR=127.0.0.1:2", "SEEN_FSYNC=everysec", "PATH=/bin", "SEEN_MAX_MEMORY=2GiB", "SEEN_CONFIG=ignored"},
		file)
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]string{}
	for _, one := range s.all {
		from[one.Name] = one.from + " " + one.literal()
	}
	for name, want := range map[string]string{
		"addr":        `flag ["127.0.0.1:3", "127.0.0.1:4"]`,
		"insecure":    "flag true",
		"fsync":       `environment "everysec"`,
		"max-memory":  `environment "2GiB"`,
		"max-clients": `file "7"`,
		"http-debug":  "file true",
		"http-host":   `file ["a", "b"]`,
		"timeout":     `file "1h"`,
		"checkpoint":  `default "64MiB"`,
		"unix":        `default ""`,
	} {
		if from[name] != want {
			t.Errorf("%s comes from %s, want %s", name, from[name], want)
		}
	}
	if len(s.addr) != 2 || s.maxMemory.bytes() != 2<<30 || s.maxClients.value != 7 {
		t.Errorf("the values are %v, %d, %d", s.addr, s.maxMemory.bytes(), s.maxClients.value)
	}
}

func TestSettingsRefuse(t *testing.T) {
	for _, c := range []struct {
		environ []string
		file    string
		want    []string
	}{
		{[]string{"SEEN_ADRR=x"}, "", []string{"unknown setting SEEN_ADRR", "did you mean SEEN_ADDR?"}},
		{[]string{"SEEN_MAX_CLIENT=x"}, "", []string{"did you mean SEEN_MAX_CLIENTS?"}},
		{nil, "adr = \"x\"", []string{`unknown setting "adr"`, `did you mean "addr"?`}},
		{nil, "[tls]\ncert = \"x\"", []string{`unknown setting "tls"`, `did you mean`}},
		{nil, "fsync = \"never\"\nlog = \"xml\"", []string{`fsync: "never" is not one of always, everysec, no`, `log: "xml" is not one of text, json`}},
		{nil, "data = [\"a\"]", []string{"data: give one value"}},
		{nil, "addr = [1]", []string{"addr: 1 in the list is not a string"}},
		{nil, "drain = 2020-01-01", []string{"drain: give a string, a number, true, false or a list"}},
		{nil, "this is no TOML", []string{"seen.toml: toml: line 1"}},
		{[]string{"SEEN_MAX_CLIENTS=0"}, "", []string{"SEEN_MAX_CLIENTS: 0 is outside 1 to"}},
		{[]string{"SEEN_HTTP=6390"}, "", []string{`"6390" is not an address`}},
	} {
		_, err := loaded(t, nil, c.environ, c.file)
		if err == nil {
			t.Errorf("%v, file %q: taken", c.environ, c.file)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, file %q: the error is %q, without %q", c.environ, c.file, err, want)
			}
		}
	}
	if _, err := loaded(t, nil, []string{"SEEN_SERVICE_HOST=10.0.0.1", "SEEN_PORT=tcp://10.0.0.1:6380", "SEEN_PORT_6380_TCP_ADDR=10.0.0.1", "SEEN_WEB_SERVICE_PORT_HTTP=1"}, ""); err != nil {
		t.Errorf("variables of a service called seen: %v", err)
	}
}

// The report of the settings is a file of settings: loaded again it gives the same.
func TestSettingsPrintRoundTrip(t *testing.T) {
	s, err := loaded(t, []string{
		"--checkpoint", "5m,1000000", "--unix", "/run/a\"b\\c\td", "--max-memory", "1500000000", "--http", "off", "--log-level", "warn",
	}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := s.Print(&first); err != nil {
		t.Fatal(err)
	}
	s, err = loaded(t, nil, nil, first.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, &first)
	}
	if err := s.Print(&second); err != nil {
		t.Fatal(err)
	}
	values := func(report string) (v []string) {
		for line := range strings.Lines(report) {
			value, _, _ := strings.Cut(line, " # ")
			v = append(v, strings.TrimSpace(value))
		}
		return v
	}
	a, b := strings.Join(values(first.String()), "\n"), strings.Join(values(second.String()), "\n")
	if a != b {
		t.Errorf("printed\n%s\nand after loading that\n%s", a, b)
	}
	if !strings.Contains(a, `checkpoint = "1000000,5m"`) || !strings.Contains(a, `max-memory = "1500000000"`) {
		t.Errorf("sizes are not exact:\n%s", a)
	}
}

func TestSecretsStayHidden(t *testing.T) {
	s, err := loaded(t, nil, []string{"SEEN_REQUIREPASS=open sesame"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	if err := s.Print(&report); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(report.String(), "sesame") || !strings.Contains(report.String(), `requirepass = "(hidden)"`) {
		t.Errorf("the report is\n%s", &report)
	}
}

func TestServeSettingsTogether(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("sesame\r\nmore"), 0o600); err != nil {
		t.Fatal(err)
	}
	users := map[string]string{}
	for name, text := range map[string]string{
		"closed": "user default off\nuser app on >x ~* +@all\n", "open": "user default on nopass ~* +@all\n",
		"silent": "user app on >x ~* +@all\n", "wrong": "user app on +@nothing\n",
	} {
		users[name] = filepath.Join(dir, name)
		if err := os.WriteFile(users[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flags string
		want  string // part of the error, "" for none
	}{
		{"--addr :6380 --acl-file " + users["closed"], ""},
		{"--addr :6380 --acl-file " + users["open"], "can be reached"},
		{"--addr :6380 --acl-file " + users["open"] + " --requirepass x", "can be reached"},
		{"--addr :6380 --acl-file " + users["silent"], "can be reached"},
		{"--addr :6380 --acl-file " + users["silent"] + " --requirepass x", ""},
		{"--acl-file " + users["wrong"], "--acl-file: the ACL file"},
		{"--acl-file " + filepath.Join(dir, "none"), "no such file"},
		{"", ""},
		{"--addr 0.0.0.0:6380", "--addr 0.0.0.0:6380 can be reached from other machines"},
		{"--addr :6380", "can be reached"},
		{"--addr [::]:6380", "can be reached"},
		{"--addr example.org:6380", "can be reached"},
		{"--addr localhost:6380,[::1]:6380,127.0.0.2:1", ""},
		{"--http 10.0.0.1:80", "--http 10.0.0.1:80 can be reached"},
		{"--addr 0.0.0.0:6380 --insecure", ""},
		{"--addr 0.0.0.0:6380 --requirepass x", ""},
		{"--addr 0.0.0.0:6380 --password-file " + password, ""},
		{"--password-file " + password + " --requirepass x", "give either"},
		{"--password-file " + filepath.Join(dir, "none"), "no such file"},
		{"--password-file " + os.DevNull, "is empty"},
		{"--tls-cert x", "give both"},
		{"--tls-cert x --tls-key y", "--tls-cert, --tls-key: open x"},
		{"--tls-client-ca x", "needs --tls-cert"},
		{"--addr off --http off", "no client can connect"},
		{"--addr off --http off --unix s", ""},
		{"--bf-error-rate 2", "bf-error-rate=2"},
		{"--bf-initial-size 0", "bf-initial-size=0"},
		{"--cf-bucket-size 600", "cf-bucket-size=600"},
		{"--cf-bucket-size 200 --cf-initial-size 400", ""},
		{"--cf-bucket-size 200 --cf-initial-size 399", "must be in the range"},
	} {
		s, err := loaded(t, strings.Fields(c.flags), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		checked, err := s.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.flags, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.flags, err, c.want)
		case strings.Contains(c.flags, "--password-file "+password) && c.want == "" && checked.secret != "sesame":
			t.Errorf("the password is %q", checked.secret)
		}
	}
}

// The files in the folder deploy contain only settings that exist.
func TestDeployedSettings(t *testing.T) {
	file, err := os.ReadFile("../../../deploy/seen.toml")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for line := range strings.Lines(string(file)) {
		if text, ok := strings.CutPrefix(line, "# "); !ok || strings.Contains(text, " = ") {
			examples.WriteString(strings.TrimPrefix(line, "# "))
		}
	}
	if _, err := loaded(t, nil, nil, examples.String()); err != nil {
		t.Errorf("seen.toml: %v", err)
	}
	known := []string{ConfigVariable}
	for _, s := range NewSettings().all {
		known = append(known, s.variable())
	}
	for _, name := range []string{"seen.service", "Dockerfile"} {
		text, err := os.ReadFile("../../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		variables := regexp.MustCompile(`SEEN_[A-Z_]+`).FindAllString(string(text), -1)
		if len(variables) == 0 {
			t.Errorf("%s has no settings", name)
		}
		for _, v := range variables {
			if !slices.Contains(known, v) {
				t.Errorf("%s: there is no setting %s", name, v)
			}
		}
	}
}
