package seen_test

import (
	"os"
	"strings"
	"testing"
)

// This file is policy: what each package may reach, and why. A change that
// fails here needs another design, or a reason good enough to be written down
// in this list; do not loosen the list to make a build pass.

// An arrow says what a package may import: packages of lower levels, its own
// subfolders, and the modules named. Its tests may besides import what testOnly
// and testModules name.
type arrow struct {
	level   int
	pkg     string
	modules []string
	not     map[string]string // an import that the level would allow, or a standard one, and why not
}

// arrows lists the packages of the module from the bottom up. Those of bench,
// examples and integration are not listed: they may import everything, and nothing
// imports them.
var arrows = []arrow{
	// The mathematics stands apart from the bits, so that it can be read and
	// checked by itself.
	{level: 0, pkg: "sizing", not: map[string]string{
		"os":   "mathematics does no I/O",
		"io":   "mathematics does no I/O",
		"time": "mathematics has no clock",
		"sync": "mathematics has no state",
	}},
	{level: 0, pkg: "docs/man"},
	{level: 0, pkg: "keys", modules: []string{"github.com/nlnwa/whatwg-url", "golang.org/x/net"}, not: map[string]string{
		"net/url": "it does not read URLs as browsers do; two readers would make two keys of one URL",
	}},
	// What bloom keeps from its users; only packages that hold files or serve filters use it.
	{level: 0, pkg: "internal/bridge"},
	{level: 0, pkg: "internal/keyhash", modules: []string{"github.com/dchest/siphash", "github.com/zeebo/xxh3", "golang.org/x/sys"}},
	{level: 0, pkg: "internal/pages", modules: []string{"golang.org/x/sys"}},
	{level: 0, pkg: "internal/resp", not: map[string]string{
		"net":  "the codec turns bytes into commands and replies into bytes; sockets are the business of internal/server",
		"io":   "the codec turns bytes into commands and replies into bytes; sockets are the business of internal/server",
		"time": "a protocol has no clock",
	}},
	{level: 0, pkg: "internal/fair"},
	{level: 0, pkg: "internal/frequent"},
	{level: 0, pkg: "internal/recipe"},
	{level: 0, pkg: "internal/rdb"},
	{level: 0, pkg: "internal/stream/split", modules: []string{"golang.org/x/sys"}},
	{level: 0, pkg: "internal/vfs", modules: []string{"golang.org/x/sys"}},
	{level: 1, pkg: "internal/spill", modules: []string{"github.com/klauspost/compress", "golang.org/x/sys"}, not: map[string]string{
		"internal/keyhash": "it is handed hashes; what they are of is the business of its callers",
	}},

	// When a filter will be full; the pages, the API and the command show it.
	{level: 0, pkg: "internal/forecast", not: map[string]string{
		"internal/store": "a forecast is computed from numbers; its callers have the history",
	}},

	// Numbers and curves as people read them, in a terminal, a file or a browser.
	{level: 1, pkg: "internal/figure", modules: []string{"github.com/dustin/go-humanize"}},
	{level: 2, pkg: "internal/chart", modules: []string{"gonum.org/v1/plot"}},

	// A kernel hashes a key and probes in one call.
	{level: 1, pkg: "internal/kernel", modules: []string{"golang.org/x/sys"}},

	{level: 1, pkg: "internal/frame", not: map[string]string{
		"os":           "the codec turns bytes into values; files are the business of bloomfile",
		"internal/vfs": "the codec turns bytes into values; files are the business of bloomfile",
	}},

	{level: 2, pkg: "internal/redisbloom", not: map[string]string{
		"os": "a filter is in memory, and comes as bytes or from a reader",
	}},
	{level: 2, pkg: "bloom", modules: []string{"github.com/FastFilter/xorfilter"}, not: map[string]string{
		"os":           "a filter lives in memory; files are the business of bloomfile",
		"internal/vfs": "a filter lives in memory; files are the business of bloomfile",
	}},
	{level: 3, pkg: "sketch", modules: []string{"github.com/axiomhq/hyperloglog"}, not: map[string]string{
		"os":           "a sketch lives in memory; files are the business of bloomfile",
		"internal/vfs": "a sketch lives in memory; files are the business of bloomfile",
	}},

	// What uniq does past its memory. The command hands it hashes and positions.
	{level: 3, pkg: "internal/exact", not: map[string]string{
		"os":           "files are the business of internal/spill",
		"internal/vfs": "files are the business of internal/spill",
	}},

	{level: 3, pkg: "internal/planner", modules: []string{"gonum.org/v1/plot"}},
	{level: 3, pkg: "interop", modules: []string{
		"github.com/cespare/xxhash/v2", "github.com/go-faster/city", "github.com/klauspost/compress", "github.com/minio/highwayhash",
		"github.com/twmb/murmur3",
	}, not: map[string]string{
		"os": "foreign filters come as bytes or from readers; who opens what they lie in is the caller's business",
	}},
	{level: 4, pkg: "bloomfile", modules: []string{"golang.org/x/sys"}},

	{level: 4, pkg: "cluster", modules: []string{"github.com/redis/rueidis"}, not: map[string]string{
		"os":      "a filter of a fleet is in its engines; files are the business of bloomfile",
		"interop": "a fleet shares two recipes with other programs, which internal/recipe has; it needs no reader of files",
	}},

	{level: 5, pkg: "once"},

	// The stream knows lines, keys and hashes. Whoever starts it hands it the
	// function that answers for hashes, so that any filter serves.
	{level: 4, pkg: "internal/stream", not: map[string]string{
		"bloom":     "the stream is handed the question to ask; it knows no filter",
		"bloomfile": "the stream is handed the question to ask; it knows no filter",
		"sketch":    "the stream is handed the question to ask; it knows no filter",
	}},
	{level: 4, pkg: "internal/stream/input", modules: []string{
		"github.com/klauspost/compress", "github.com/pierrec/lz4/v4", "github.com/ulikunitz/xz",
	}},
	{level: 4, pkg: "internal/stream/keyspec"},

	// What a SET is. The command turns its flags into a Config.
	{level: 6, pkg: "internal/setfile", not: map[string]string{
		"internal/frame": "what a file says is told by bloomfile and bloom",
		"os/signal":      "signals are the business of the command",
	}},

	// A filter far away: addresses, batches under way. Commands hand it what they want
	// asked, so it never needs to know one.
	{level: 5, pkg: "internal/remote", modules: []string{"github.com/dustin/go-humanize", "github.com/redis/rueidis"}, not: map[string]string{
		"internal/frame": "what a file says is told by bloomfile and bloom",
		"flag":           "options are the business of the command",
		"bloomfile":      "a filter far away is not a file",
	}},

	// What is durable is the business of the store alone; its callers know names, keys
	// and positions of the log. It imports interop to open filters of other systems that
	// were imported; RedisBloom's, which take keys, are internal/redisbloom.
	{level: 4, pkg: "internal/store", modules: []string{"github.com/cockroachdb/pebble/v2"}},

	// A Source hands the pages everything that they show.
	{level: 5, pkg: "internal/web", modules: []string{"gonum.org/v1/plot"}, not: map[string]string{
		"internal/store": "a Source hands the pages what they show, and decides who may see it",
		"internal/resp":  "pages are for people; protocols are the business of internal/server",
	}},

	// The API and the dashboard are handed users, who run commands with their rights.
	{level: 5, pkg: "internal/server/rest", not: map[string]string{
		"internal/store":      "requests run commands, so that rights are checked and changes are durable; a Speaker runs them",
		"internal/web":        "other requests go to a handler that the server provides",
		"internal/server/acl": "a Speaker has the rights of its user; log-ins are the business of internal/server",
	}},
	{level: 6, pkg: "internal/server/dashboard", not: map[string]string{
		"net":                 "it shows values; connections are the business of internal/server and internal/server/rest",
		"html/template":       "it says what is shown; how it looks is the business of internal/web",
		"internal/server/acl": "a User knows its rights; rules are the business of internal/server/acl",
	}},

	// The words of a command, before a connection or a value comes into play.
	{level: 1, pkg: "internal/server/args", not: map[string]string{
		"net":  "arguments are read from words; sockets are the business of internal/server",
		"os":   "reading arguments does no I/O",
		"time": "reading arguments needs no clock",
	}},
	// Who may do what, before a connection or a value comes into play.
	{level: 2, pkg: "internal/server/acl", modules: []string{"golang.org/x/crypto"}, not: map[string]string{
		"net":            "an address is a text here; sockets are the business of internal/server",
		"internal/resp":  "rights are about commands and keys; protocols are the business of internal/server",
		"internal/store": "rights are about names; values are the business of internal/server",
	}},
	{level: 6, pkg: "internal/server", modules: []string{"github.com/prometheus/client_golang", "golang.org/x/sys"}, not: map[string]string{
		"os/signal": "signals are the business of the command",
		"interop":   "filters of other systems are values of the store; what a page offers of them is the business of internal/server/dashboard",
	}},

	{level: 2, pkg: "internal/cli/flagvalue"},
	// The server runs without a command line: the command makes flags of its settings.
	{level: 7, pkg: "internal/cli/daemon", modules: []string{"github.com/BurntSushi/toml"}},
	{level: 7, pkg: "internal/cli", modules: []string{
		"github.com/dustin/go-humanize", "github.com/schollz/progressbar/v3", "github.com/spf13/cobra", "github.com/spf13/pflag",
		"golang.org/x/net", "golang.org/x/term",
	}, not: map[string]string{
		"internal/frame": "what a file says is told by bloomfile and bloom",
	}},
	{level: 8, pkg: "cmd/seen"},

	// For tests and benchmarks.
	{level: 0, pkg: "internal/corpus"},
	{level: 1, pkg: "internal/vfs/memfs"},
	{level: 1, pkg: "internal/redistest"},
	{level: 1, pkg: "internal/crashtest"},
	{level: 3, pkg: "internal/filtertest"},
}

// testOnly are packages that only tests and benchmarks import.
var testOnly = []string{"internal/corpus", "internal/crashtest", "internal/filtertest", "internal/redistest", "internal/vfs/memfs"}

// testModules may be imported by any test.
var testModules = []string{
	"github.com/anishathalye/porcupine", "github.com/chromedp/cdproto", "github.com/cockroachdb/pebble/v2/vfs", "github.com/chromedp/chromedp", "github.com/getkin/kin-openapi", "github.com/google/go-cmp", "github.com/redis/rueidis",
	"golang.org/x/crypto/bcrypt",                                                            // slow passwords
	"github.com/klauspost/compress", "github.com/pierrec/lz4/v4", "github.com/ulikunitz/xz", // what compressed sets are made with
	"github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid",
}

// edge are the packages that talk to a terminal, a shell or a person: they may
// print and exit. All others are libraries, which return what they have to say.
var edge = []string{"cmd/", "internal/cli", "bench/", "examples/", "tools/"}

// outside are the folders of programs and modules that stand beside the product:
// nothing of it imports them, and what they import is their own business.
var outside = []string{"bench/", "examples/", "integration/", "tools/"}

// mayPanic lists the functions of libraries that panic, and why no input of a
// user makes a caller see it: a panic is for a bug of the calling code or of ours.
var mayPanic = map[string]string{
	"bloomfile.File.touch":           "thrown to guard, which every method defers: reading memory has no other way to fail",
	"bloomfile.caught":               "passes on what is not a failure of the mapping",
	"bloom.checkAnswers":             "the caller passed slices of unequal length, as where copy or an index would panic",
	"internal/web.site.open":         "http.ErrAbortHandler, by which a handler cuts an answer off that it cannot end",
	"sketch.newDense":                "the precision was checked before, so that the library cannot refuse it",
	"sketch.HyperLogLog.Cardinality": "the bytes given to the library are ours, so that it cannot refuse them",
}

// TestTree applies every rule to this tree.
func TestTree(t *testing.T) {
	tree, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, violation := range r.check(tree) {
				t.Errorf("%s\n\t(%s)", violation, r.why)
			}
		})
	}
}

// TestRulesCanFail applies every rule to small trees that break it, and only
// once: a rule that finds nothing there, or something else, would be a promise
// that nobody keeps.
func TestRulesCanFail(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if len(r.broken) == 0 {
				t.Error("the rule has no tree that breaks it")
			}
			for _, b := range r.broken {
				tree, err := load(b.fs())
				if err != nil {
					t.Fatal(err)
				}
				got := r.check(tree)
				if len(got) != 1 || !strings.Contains(got[0], b.want) {
					t.Errorf("%v\ngives %q\nwant one violation with %q", b.files, got, b.want)
				}
			}
		})
	}
}
