package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"seen/cluster"
	"seen/internal/redistest"
	"seen/internal/remote"
)

// dial connects to an engine or server until the test ends.
func dial(t *testing.T, addr string) (remote.Address, remote.Client) {
	t.Helper()
	at, err := remote.ParseAddress("redis://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	client, err := at.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return at, client
}

// fleetProcess is a run of the command in a process of its own.
type fleetProcess struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	closes io.Closer // out
	err    bytes.Buffer
}

func startFleet(t *testing.T, args ...string) *fleetProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &fleetProcess{Cmd: exec.CommandContext(t.Context(), self, args...)}
	p.Env = append(os.Environ(), runAsCommand+"=1")
	p.Stderr = &p.err
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.closes = bufio.NewReader(out), out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// lines reads the rest of the output.
func (p *fleetProcess) lines(t *testing.T) []string {
	t.Helper()
	b, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// exit waits for the end and returns the exit code.
func (p *fleetProcess) exit(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// feed writes the numbers from 1 on, n of them and without an end if n is 0, until
// its reader is gone.
func (p *fleetProcess) feed(n int) {
	go func() {
		w := bufio.NewWriter(p.in)
		for i := 1; i <= n || n == 0; i++ {
			if _, err := fmt.Fprintln(w, i); err != nil {
				return
			}
		}
		_ = w.Flush()
		_ = p.in.Close()
	}()
}

// remembered returns which of the numbers from 1 to n the filter has.
func remembered(t *testing.T, redis string, n int) map[string]bool {
	t.Helper()
	p := startFleet(t, "filter", "--redis", redis)
	p.feed(n)
	is := map[string]bool{}
	for _, line := range p.lines(t) {
		is[line] = true
	}
	if code := p.exit(t); code > ExitNo {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	return is
}

// Whatever ends a run: what the filter remembers was printed.
func TestFleetLosesNoLineSilently(t *testing.T) {
	server := lab.Server(t)
	redis := "redis://" + server.Addr()
	// Sparse, so that it errs once in many runs.
	create := []string{"-n", "5M", "-p", "1e-4"}

	t.Run("interrupted", func(t *testing.T) {
		p := startFleet(t, append([]string{"uniq", "--stats", "--redis", redis, "--name", t.Name()}, create...)...)
		p.feed(0)
		first, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &p.err)
		}
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		printed := append([]string{strings.TrimSpace(first)}, p.lines(t)...)
		if code := p.exit(t); code != 130 || !strings.Contains(p.err.String(), "interrupted") || !strings.Contains(p.err.String(), "lines/s") {
			t.Errorf("exit code %d: %s", code, &p.err)
		}
		kept := remembered(t, redis+"/"+strings.ReplaceAll(t.Name(), "/", "%2F"), len(printed)+50_000)
		for i, line := range printed {
			if line != strconv.Itoa(i+1) || !kept[line] {
				t.Fatalf("line %d is %q, remembered: %v", i+1, line, kept[line])
			}
		}
		if len(kept) != len(printed) {
			t.Errorf("%d lines printed, %d remembered", len(printed), len(kept))
		}
	})

	t.Run("closed pipe", func(t *testing.T) {
		p := startFleet(t, append([]string{"uniq", "--redis", redis, "--name", t.Name()}, create...)...)
		p.feed(30_000)
		if _, err := p.out.ReadString('\n'); err != nil {
			t.Fatalf("%v: %s", err, &p.err)
		}
		if err := p.closes.Close(); err != nil {
			t.Fatal(err)
		}
		if code := p.exit(t); code != ExitError || !strings.Contains(p.err.String(), "new lines are recorded in redis://") {
			t.Errorf("exit code %d: %s", code, &p.err)
		}
	})

	t.Run("connections break", func(t *testing.T) {
		proxy, err := redistest.NewProxy(server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		p := startFleet(t, append([]string{"uniq", "--redis", "redis://" + proxy.Addr(), "--name", t.Name(), "--timeout", "2s"}, create...)...)
		p.feed(0)
		first, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &p.err)
		}
		proxy.Set(redistest.Faults{Mute: true, Refuse: true})
		// What is under way arrives, and the run is not told.
		settle(t, server)
		proxy.CloseConnections()
		printed := append([]string{strings.TrimSpace(first)}, p.lines(t)...)
		if code := p.exit(t); code != ExitError || !strings.Contains(p.err.String(), "in the filter or not; they were printed") {
			t.Fatalf("exit code %d: %s", code, &p.err)
		}
		for i, line := range printed {
			if line != strconv.Itoa(i+1) {
				t.Fatalf("line %d is %q", i+1, line)
			}
		}
		for line := range remembered(t, redis+"/"+strings.ReplaceAll(t.Name(), "/", "%2F"), len(printed)+50_000) {
			if n, err := strconv.Atoi(line); err != nil || n > len(printed) {
				t.Fatalf("line %s is remembered and was not printed", line)
			}
		}
	})
}

// settle waits until no writes arrive at an engine any more.
func settle(t *testing.T, server *redistest.Server) {
	t.Helper()
	calls := regexp.MustCompile(`cmdstat_bitfield:calls=\d+`)
	last, same := "", 0
	for deadline := time.Now().Add(time.Minute); same < 5; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("writes go on arriving")
		}
		stats, err := server.Do("INFO", "commandstats")
		if err != nil {
			t.Fatal(err)
		}
		if now := calls.FindString(stats.Text); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
}

// With --undecided keep no line is missing, whatever became of it.
func TestFleetKeepsUndecidedLines(t *testing.T) {
	proxy, err := redistest.NewProxy(lab.Server(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	p := startFleet(t, "uniq", "--redis", "redis://"+proxy.Addr(), "--name", t.Name(), "-n", "1M", "-p", "1e-6", "--undecided", "keep")
	const n = 60_000
	p.feed(n)
	var printed []string
	for range 3 {
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &p.err)
		}
		printed = append(printed, strings.TrimSpace(line))
		made := proxy.Accepted()
		proxy.CloseConnections()
		// The next connections break too, when there are any.
		for deadline := time.Now().Add(time.Minute); proxy.Accepted() == made; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the run does not connect again: %s", &p.err)
			}
		}
	}
	printed = append(printed, p.lines(t)...)
	if code := p.exit(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
	for i, line := range printed {
		if line != strconv.Itoa(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
	if len(printed) != n || !strings.Contains(p.err.String(), "they were printed, and another machine may print them too") {
		t.Errorf("%d lines: %s", len(printed), &p.err)
	}
}

// A run that waits for its input learns that the filter is gone.
func TestFleetEndsWhileItWaits(t *testing.T) {
	server := redistest.NewServer(t)
	for _, command := range []string{"uniq", "filter"} {
		redis := "redis://" + server.Addr() + "/waits"
		create := startFleet(t, "add", "--redis", redis, "-n", "1000")
		io.WriteString(create.in, "zero\n")
		create.in.Close()
		if code := create.exit(t); code != ExitOK {
			t.Fatalf("exit code %d: %s", code, &create.err)
		}
		p := startFleet(t, command, "--redis", redis)
		first := map[string]string{"uniq": "one\n", "filter": "zero\n"}[command]
		io.WriteString(p.in, first)
		if line, err := p.out.ReadString('\n'); err != nil || line != first {
			t.Fatalf("%q, %v: %s", line, err, &p.err)
		}
		if _, err := server.Do("FLUSHALL"); err != nil {
			t.Fatal(err)
		}
		io.WriteString(p.in, "two\nthree\n")
		rest := p.lines(t)
		if code := p.exit(t); code != ExitError || !strings.Contains(p.err.String(), "stopped: ") {
			t.Errorf("%s: exit code %d: %s", command, code, &p.err)
		}
		// There is nothing that they could have been added to.
		if want := map[string]int{"uniq": 2}[command]; len(rest) != want || command == "uniq" && !strings.Contains(p.err.String(), "and not added") {
			t.Errorf("%s printed %q: %s", command, rest, &p.err)
		}
	}
}

// A window in Redis forgets a line after its span, also within one run, which remembers
// what it has asked for only a part of that.
func TestFleetWindow(t *testing.T) {
	redis := "redis://" + lab.Server(t).Addr() + "/" + t.Name()
	p := startFleet(t, "uniq", "--line-buffered", "--redis", redis, "-n", "1000", "--window", "1s", "--no-refresh")
	for range 3 {
		printed := make(chan error, 1)
		go func() {
			line, err := p.out.ReadString('\n')
			if err == nil && line != "a\n" {
				err = fmt.Errorf("printed %q", line)
			}
			printed <- err
		}()
		deadline := time.After(time.Minute)
		for again := true; again; {
			// What is remembered is not printed, however often it comes.
			io.WriteString(p.in, "a\n")
			select {
			case err := <-printed:
				if err != nil {
					t.Fatalf("%v: %s", err, &p.err)
				}
				again = false
			case <-time.After(20 * time.Millisecond):
			case <-deadline:
				t.Fatal("the line is not forgotten")
			}
		}
	}
	p.in.Close()
	if rest := p.lines(t); len(rest) > 1 {
		t.Errorf("printed %q at once", rest)
	}
	if code := p.exit(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
}

// A filter that its maker has bounded ends the run with the code for limits.
func TestFleetFull(t *testing.T) {
	at, client := dial(t, lab.Server(t).Addr())
	if _, err := cluster.Open(t.Context(), client, t.Name(), cluster.Config{Capacity: 2000, ErrorRate: 1e-6, Fixed: true}); err != nil {
		t.Fatal(err)
	}
	p := startFleet(t, "uniq", "--redis", at.String(), "--name", t.Name())
	p.feed(20_000)
	printed := p.lines(t)
	if code := p.exit(t); code != ExitLimit || !strings.Contains(p.err.String(), " lines are not in the filter: ") || !strings.Contains(p.err.String(), "full") {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
	if len(printed) < 1000 || len(printed) > 5000 {
		t.Errorf("%d lines", len(printed))
	}
}

// So does one in a server, also if undecided lines are to be kept: those behind the
// limit are not undecided.
func TestFleetServerFull(t *testing.T) {
	server := startServed(t, t.TempDir())
	_, client := dial(t, server.Addr)
	if _, err := cluster.OpenServer(t.Context(), client, "full", cluster.ServerConfig{Capacity: 5, ErrorRate: 1e-6, Fixed: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{"1", "2", "3", "4", "5"}, nil} {
		p := startFleet(t, "uniq", "--undecided", "keep", "--server", server.Addr, "--name", "full")
		p.feed(20)
		if printed := p.lines(t); !slices.Equal(printed, want) {
			t.Errorf("printed %q; want %q", printed, want)
		}
		if code := p.exit(t); code != ExitLimit || !strings.Contains(p.err.String(), "15 lines are not in the filter: 6 to 20 ") {
			t.Errorf("exit code %d: %s", code, &p.err)
		}
	}
	// Why it answers so is the server's secret, except the answer.
	p := startFleet(t, "explain", "--server", server.Addr, "--name", "full", "3", "nothing")
	if text := strings.Join(p.lines(t), "\n"); !strings.Contains(text, "bits\nare\nnot\nknown\nmaybe") || !strings.Contains(text, "no,\ncertainly") {
		t.Errorf("it explains %q", text)
	}
	if code := p.exit(t); code != ExitNo {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
}

// One "seen serve" can be the memory of several runs as well.
func TestFleetServer(t *testing.T) {
	server := startServed(t, t.TempDir())
	args := []string{"--server", server.Addr, "--name", "shared"}
	create := startFleet(t, append([]string{"add", "-n", "100000", "-p", "1e-6"}, args...)...)
	io.WriteString(create.in, "1\n2\n")
	create.in.Close()
	if code := create.exit(t); code != ExitOK || !strings.Contains(create.err.String(), "shared: 2 new of 2 keys") {
		t.Fatalf("exit code %d: %s", code, &create.err)
	}
	var runs []*fleetProcess
	for range 3 {
		p := startFleet(t, append([]string{"uniq"}, args...)...)
		p.feed(5000)
		runs = append(runs, p)
	}
	times := map[string]int{}
	for _, p := range runs {
		for _, line := range p.lines(t) {
			times[line]++
		}
		if code := p.exit(t); code != ExitOK {
			t.Errorf("exit code %d: %s", code, &p.err)
		}
	}
	for i := 3; i <= 5000; i++ {
		if n := times[strconv.Itoa(i)]; n != 1 {
			t.Fatalf("line %d is printed %d times", i, n)
		}
	}
	if len(times) != 4998 {
		t.Errorf("%d lines", len(times))
	}
	described := startFleet(t, append([]string{"info", "--json"}, args...)...)
	if said := strings.Join(described.lines(t), ""); !strings.Contains(said, `"added":5000}`) {
		t.Errorf("info: %s%s", said, &described.err)
	}
	described.exit(t)
	asked := startFleet(t, append([]string{"filter", "-v"}, args...)...)
	asked.feed(5003)
	if rest := asked.lines(t); !slices.Equal(rest, []string{"5001", "5002", "5003"}) {
		t.Errorf("not seen: %q", rest)
	}
	if code := asked.exit(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, &asked.err)
	}
	for _, want := range []int{ExitOK, ExitError} {
		dropped := startFleet(t, append([]string{"clear", "--drop"}, args...)...)
		if code := dropped.exit(t); code != want {
			t.Errorf("exit code %d, want %d: %s", code, want, &dropped.err)
		}
	}
}

// A password comes from the address, a file or the environment, and shows nowhere.
func TestFleetPasswords(t *testing.T) {
	server := redistest.NewServer(t)
	if _, err := server.Do("CONFIG", "SET", "requirepass", "s3cret"); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/password"
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		env  []string
		code int
	}{
		"none":        {[]string{"--redis", "redis://" + server.Addr() + "/a"}, nil, ExitError},
		"wrong":       {[]string{"--redis", "redis://:wr0ng@" + server.Addr() + "/a"}, nil, ExitError},
		"address":     {[]string{"--redis", "redis://:s3cret@" + server.Addr() + "/a"}, nil, ExitOK},
		"user":        {[]string{"--redis", "redis://" + server.Addr() + "/a", "--user", "default", "--password-file", file}, nil, ExitOK},
		"environment": {[]string{"--redis", "redis://" + server.Addr() + "/a"}, []string{passwordVariable + "=s3cret"}, ExitOK},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), Env{
			Args: append([]string{"count", "--json", "-n", "1000"}, c.args...), Environ: c.env,
			Stdin: strings.NewReader("x\n"), Stdout: &out, Stderr: &errs,
		})
		if code != c.code {
			t.Errorf("%s: exit code %d: %s", name, code, &errs)
		}
		if said := out.String() + errs.String(); strings.Contains(said, "s3cret") || strings.Contains(said, "wr0ng") || said == "" {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// A filter that cannot be reached has not been given the lines, which is said; they are
// printed, so that none is missing.
func TestFleetRefused(t *testing.T) {
	server := redistest.NewServer(t)
	p := startFleet(t, "uniq", "--redis", "redis://"+server.Addr()+"/gone", "-n", "10000", "--slice", "4096", "--timeout", "400ms")
	io.WriteString(p.in, "one\n")
	if line, err := p.out.ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("%q, %v: %s", line, err, &p.err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	p.feed(50)
	if rest := p.lines(t); len(rest) != 50 {
		t.Errorf("printed %q", rest)
	}
	code, said := p.exit(t), p.err.String()
	if code != ExitError || !strings.Contains(said, "50 lines are undecided: 2 to 51 of standard input, and not added; they were printed, and another machine may print them too: key ") {
		t.Errorf("exit code %d: %s", code, said)
	}
	// A machine that is busy enough meets the deadline before the refused connection.
	reasons := strings.Count(said, "dial tcp") + strings.Count(said, "no answer within")
	if reasons != 1 || !strings.Contains(said, " others: ") {
		t.Errorf("the reason is not told once: %s", said)
	}
}

// What can be mended is said with what a user of the command can type.
func TestFleetAdvice(t *testing.T) {
	seen, redis := startServed(t, t.TempDir()), redistest.NewServer(t)
	if _, err := redis.Do("CONFIG", "SET", "maxmemory", "4mb"); err != nil {
		t.Fatal(err)
	}
	run := func(input string, args ...string) string {
		var errs bytes.Buffer
		Run(t.Context(), Env{Args: args, Stdin: strings.NewReader(input), Stdout: io.Discard, Stderr: &errs})
		return errs.String()
	}
	url := "redis://" + redis.Addr()
	lost := func(args ...string) string { return run("a\n", append(args, "--redis", url+"/lost")...) }
	run("a\nb\nc\n", "add", "--redis", url+"/lost", "-n", "100")
	all, err := redis.Do("KEYS", "lost:*")
	if err != nil || len(all.Elems) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := redis.Do("DEL", all.Elems[0].Text); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ said, want string }{
		{run("", "check", "--redis", url+"/lost", "a", "b"), `2 lines are undecided: 1 to 2 of the arguments, nothing was changed: key "lost:`},
		{run("a\n", "add", "--redis", url+"/lost"), `; "seen clear --redis URL --name NAME" repairs the filter and empties it`},
		{run("", "info", url+"/lost"), `; "seen clear --redis URL --name NAME" repairs`},
		{run("a\n", "add", "--redis", url+"/large", "-n", "20M"), "; raise the maxmemory of the engine or make a smaller filter"},
		{run("a\n", "uniq", "--redis", "redis://"+seen.Addr+"/x", "-n", "10"), `; this is not Redis or Valkey: for a "seen serve" or`},
	} {
		if !strings.Contains(test.said, test.want) {
			t.Errorf("%q is not in %s", test.want, test.said)
		}
	}
	if _, err := redis.Do("CONFIG", "SET", "maxmemory", "0"); err != nil {
		t.Fatal(err)
	}
	// The advice about the part that is lost helps.
	if said := lost("clear"); said != "" {
		t.Errorf("clear: %s", said)
	}
	if said := lost("add"); !strings.Contains(said, "1 new of 1 keys") {
		t.Errorf("add after clear: %s", said)
	}
	if _, err := redis.Do("CONFIG", "SET", "requirepass", "x"); err != nil {
		t.Fatal(err)
	}
	if said := run("", "check", "--redis", url+"/x", "a"); !strings.Contains(said, "NOAUTH: a password is required; give it with --password-file or in REDISCLI_AUTH") {
		t.Errorf("without a password: %s", said)
	}
}
