package pages

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestMemoryOfMachinesAndContainers(t *testing.T) {
	const meminfo = "MemTotal:       24044516 kB\nMemFree:        20000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing is known": {nil, math.MaxUint64},
		"a machine":        {map[string]string{"proc/meminfo": meminfo}, 24044516 << 10},
		"rubbish": {map[string]string{
			"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "what\n0::\n:::\n5:memory\n", "sys/fs/cgroup/memory.max": "x",
		}, math.MaxUint64},
		"version 2 without a limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 24044516 << 10},
		"a container of version 2": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"a unit in a slice that has less": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/seen.service\n",
			"sys/fs/cgroup/system.slice/memory.max": "1073741824\n", "sys/fs/cgroup/system.slice/seen.service/memory.max": "2147483648\n",
		}, 1 << 30},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "11:cpu,cpuacct:/x\n5:memory:/docker/ab\n0::/\n",
			"sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 256 << 20},
		"version 1, the path of the host": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/docker/ab\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
		}, 256 << 20},
		"a limit above the machine's": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n",
		}, 24044516 << 10},
		"a path that leads out": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1048576\n",
		}, 1 << 20},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryOf(files); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if n := Machine(); n < 1<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
