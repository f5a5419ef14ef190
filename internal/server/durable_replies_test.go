package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/internal/store"
)

// failing is a disk on which writing the log fails from some moment on. Reading works.
type failing struct {
	vfs.FS
	now  atomic.Bool
	hold sync.RWMutex // while a test has it, writes and syncs wait
}

// fails waits until the test lets it continue, and returns the error of the disk.
func (f *failing) fails() error {
	f.hold.RLock()
	defer f.hold.RUnlock()
	if f.now.Load() {
		return syscall.EIO
	}
	return nil
}

func (f *failing) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return &failingFile{file, f}, err
}

func (f *failing) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	return &failingFile{file, f}, err
}

type failingFile struct {
	vfs.File
	on *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.on.fails(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *failingFile) SyncData() error {
	if err := f.on.fails(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// After a failed write of the log, read commands still work, also about filters whose last
// change was not written, and in the pipeline with that change: they show what is durable.
// With everysec they show what they showed before.
func TestQuestionsAfterFailedLog(t *testing.T) {
	for _, fsync := range []store.Fsync{store.Always, store.EverySecond} {
		t.Run(fsync.String(), func(t *testing.T) {
			disk := &failing{FS: vfs.NewMem()}
			data, err := store.Open("/data", store.Options{FS: disk, Fsync: fsync})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = data.Close() }) // of what cannot be written
			s := start(t, func(c *Config) { c.Store = data })
			c := s.dial(t)
			c.want("+OK", "BF.RESERVE", "f", "0.000001", "1000")
			c.want(":1", "BF.ADD", "f", "durable")
			c.want("+OK", "CMS.INITBYDIM", "c", "100", "5")
			c.want("[:7]", "CMS.INCRBY", "c", "x", "7")
			if err := data.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			disk.now.Store(true)
			lost := "0"
			if fsync == store.Always {
				c.write([]byte("BF.EXISTS f durable\r\nBF.ADD f lost\r\nCMS.INCRBY c x 1\r\nBF.EXISTS f lost\r\nBF.MEXISTS f lost durable\r\nPING\r\nCMS.QUERY c x\r\n"))
				for _, want := range []string{":1", "-MISCONF", "-MISCONF", ":0", "[:0, :1]", "+PONG", "[:7]"} {
					if got := c.read().String(); !strings.HasPrefix(got, want) {
						t.Errorf("%s, want %s", got, want)
					}
				}
			} else {
				lost = "1"
				c.want(":1", "BF.ADD", "f", "lost")
				for data.Failed() == nil {
					c.do("BF.ADD", "f", "more")
				}
			}
			c.want(":"+lost, "BF.EXISTS", "f", "lost")
			c.want(":1", "BF.EXISTS", "f", "durable")
			c.want("+OK", "MULTI")
			c.want("+QUEUED", "BF.EXISTS", "f", "lost")
			c.want("[:"+lost+"]", "EXEC")
			c.want(":2", "DBSIZE")
			c.want(":0", "EXISTS", "none")
			if v := c.do("INFO", "persistence"); !strings.Contains(v.Text, "aof_last_write_status:err") {
				t.Errorf("INFO: %v", v)
			}
			for _, line := range []string{"BF.ADD f another", "DEL f", "CMS.INCRBY c x 1"} {
				if v := c.do(strings.Fields(line)...); !strings.HasPrefix(v.Text, "MISCONF ") {
					t.Errorf("%s: %v", line, v)
				}
			}
			r := httptest.NewRequest("POST", "http://localhost/v1/filters/f/check", strings.NewReader(`["lost","durable"]`))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = "127.0.0.1:1"
			out := httptest.NewRecorder()
			s.HTTP(HTTPConfig{}).ServeHTTP(out, r)
			if out.Code != http.StatusOK {
				t.Errorf("HTTP: %d %s", out.Code, out.Body)
			}
		})
	}
}

// A read command with very many words is run again if the log fails while its reply waits.
func TestLongQuestionAfterFailedLog(t *testing.T) {
	disk := &failing{FS: vfs.NewMem()}
	data, err := store.Open("/data", store.Options{FS: disk, Fsync: store.Always})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() }) // of what cannot be written
	s := start(t, func(c *Config) { c.Store = data })
	c, asking := s.dial(t), s.dial(t)
	c.want("+OK", "BF.RESERVE", "f", "0.000001", "10000")
	c.want(":1", "BF.ADD", "f", "durable")
	disk.hold.Lock()
	c.send("BF.ADD", "f", "lost")
	eventually(t, "the addition", func() bool { return data.Last() > data.Durable() })
	words := numbered(2*maxScratch, "BF.MEXISTS", "f", "lost", "durable")
	asking.send(words...)
	eventually(t, "the question", func() bool { return data.Get([]byte("f")).Traffic().Checks >= uint64(len(words)-2) })
	disk.now.Store(true)
	disk.hold.Unlock()
	if got := c.read().String(); !strings.HasPrefix(got, "-MISCONF") {
		t.Errorf("the addition: %s", got)
	}
	if v := asking.read(); len(v.Elems) != len(words)-2 || v.Elems[0].Int != 0 || v.Elems[1].Int != 1 {
		t.Errorf("the question: %.100s", v)
	}
}

// A read command that finds a value of another type waits until that value is durable: if
// the log fails first, the key has no value.
func TestWrongTypesWaitForTheLog(t *testing.T) {
	disk := &failing{FS: vfs.NewMem()}
	data, err := store.Open("/data", store.Options{FS: disk, Fsync: store.Always})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() }) // of what cannot be written
	s := start(t, func(c *Config) { c.Store = data })
	c := s.dial(t)
	disk.hold.Lock()
	c.send("TOPK.RESERVE", "k", "10")
	eventually(t, "the creation", func() bool { return data.Last() > data.Durable() })
	questions := map[string]string{
		"BF.CARD k": ":0", "BF.UNIONCARD k": ":0", "BF.INTERCARD k": ":0", "BF.EXISTS k x": ":0", "BF.INFO k": "-ERR not found",
		"CF.INFO k": "-ERR not found", "CMS.QUERY k x": "-CMS: key does not exist", "TYPE k": "+none",
	}
	asking := map[string]*client{}
	for line := range questions {
		asking[line] = s.dial(t)
		asking[line].send(strings.Fields(line)...)
	}
	for _, cmd := range s.table.commands {
		for line := range questions {
			if strings.EqualFold(cmd.full, strings.Fields(line)[0]) {
				eventually(t, line, func() bool { return cmd.stats.calls.Load() > 0 })
			}
		}
	}
	disk.now.Store(true)
	disk.hold.Unlock()
	if got := c.read().String(); !strings.HasPrefix(got, "-MISCONF") {
		t.Errorf("the creation: %s", got)
	}
	for line, want := range questions {
		if got := asking[line].read().String(); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
