package remote

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"seen/internal/redistest"
)

// lab has the engines that the tests talk to.
var lab redistest.Lab

// withLab runs the tests, and stops the engines after them.
type withLab struct{ *testing.M }

func (m withLab) Run() int { return lab.Run(m.M, os.Stderr) }

// The client of a cluster looks for its nodes a while later again, even when closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(withLab{m},
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}
