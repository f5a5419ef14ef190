package server

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	memory "seen/internal/pages"
)

type infoSection struct {
	name   string
	always bool // part of the default
	lines  func(s *Server, line func(name string, value any))
}

var infoSections = []infoSection{
	{"server", true, infoServer},
	{"clients", true, infoClients},
	{"memory", true, infoMemory},
	{"persistence", true, infoPersistence},
	{"stats", true, infoStats},
	{"replication", true, infoReplication},
	{"cpu", true, infoCPU},
	{"modules", true, infoModules},
	{"commandstats", false, infoCommands},
	{"errorstats", true, infoErrors},
	{"latencystats", false, infoLatencies},
	{"cluster", true, infoCluster},
	{"keyspace", true, infoKeyspace},
}

var infoCommand = command{
	name: "info", arity: -1, flags: flagLoading | flagStale | flagAlone, categories: []string{"dangerous"}, handle: info,
	since: "1.0.0", complexity: "O(1)", summary: "Describes the server.", syntax: "[section [section ...]]",
}

func info(c *call) {
	wanted := map[string]bool{"default": len(c.args) == 1}
	for _, arg := range c.args[1:] {
		wanted[strings.ToLower(string(arg))] = true
	}
	c.after(c.store().Shown())
	c.out.Verbatim("txt", c.server.info(wanted))
}

// info returns the sections of the wanted names; default, all and everything are names of
// several.
func (s *Server) info(wanted map[string]bool) string {
	var b strings.Builder
	for _, section := range infoSections {
		if !wanted[section.name] && !(wanted["default"] && section.always) && !wanted["all"] && !wanted["everything"] {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		title := strings.ToUpper(section.name[:1]) + section.name[1:]
		if section.name == "cpu" {
			title = "CPU"
		}
		fmt.Fprintf(&b, "# %s\r\n", title)
		section.lines(s, func(name string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", name, value) })
	}
	return b.String()
}

func infoServer(s *Server, line func(string, any)) {
	now := s.config.Now()
	up := now.Sub(s.began)
	line("redis_version", redisVersion)
	line("redis_git_sha1", "00000000")
	line("redis_mode", "standalone")
	line("seen_version", s.config.Version)
	line("os", runtime.GOOS+" "+runtime.GOARCH)
	line("arch_bits", 32<<(^uint(0)>>63))
	line("go_version", runtime.Version())
	line("process_id", os.Getpid())
	line("run_id", s.runID)
	line("tcp_port", s.port())
	line("server_time_usec", now.UnixMicro())
	line("uptime_in_seconds", int64(up/time.Second))
	line("uptime_in_days", int64(up/(24*time.Hour)))
	line("io_threads_active", 1)
}

func infoClients(s *Server, line func(string, any)) {
	waiting := 0
	for _, c := range s.clients.list() {
		waiting = max(waiting, c.outlet.waiting())
	}
	line("connected_clients", s.clients.count())
	line("cluster_connections", 0)
	line("maxclients", s.maxClients.Load())
	line("client_recent_max_output_buffer", waiting)
	line("client_buffers_total", s.buffers.Used())
	line("blocked_clients", 0)
	line("tracking_clients", 0)
}

func infoMemory(s *Server, line func(string, any)) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	used := s.store.Memory()
	line("used_memory", used)
	line("used_memory_human", human(used))
	line("used_memory_dataset", used)
	line("used_memory_heap", m.HeapAlloc)
	line("used_memory_rss", m.Sys+used)
	line("total_system_memory", memory.Machine())
	line("total_system_memory_human", human(memory.Machine()))
	line("maxmemory", s.store.MaxMemory())
	line("maxmemory_human", human(s.store.MaxMemory()))
	line("maxmemory_policy", "noeviction")
	line("mem_fragmentation_ratio", "1.00")
	line("mem_allocator", "go")
}

// human formats bytes as Redis does.
func human(bytes uint64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"K", "M", "G", "T"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%dB", bytes)
	}
	return fmt.Sprintf("%.2f%s", value, unit)
}

func infoPersistence(s *Server, line func(string, any)) {
	checkpointing, failed := 0, "ok"
	if s.store.Checkpointing() {
		checkpointing = 1
	}
	if s.store.Failed() != nil {
		failed = "err"
	}
	durable := s.store.Durable() // read first, so that the difference is not negative
	line("loading", 0)
	line("async_loading", 0)
	line("rdb_bgsave_in_progress", checkpointing)
	line("rdb_last_save_time", s.store.LastCheckpoint().Unix())
	line("rdb_last_bgsave_status", failed)
	line("aof_enabled", 1)
	line("aof_rewrite_in_progress", 0)
	line("aof_last_write_status", failed)
	stats, scrubbed, folder := s.store.Stats(), int64(-1), "ok"
	if !stats.Scrubbed.IsZero() {
		scrubbed = stats.Scrubbed.Unix()
	}
	if stats.Ground != nil {
		folder = "lost"
	}
	line("data_folder", folder)
	line("scrub_last_pass_time", scrubbed)
	line("scrub_damaged_files", stats.Damaged)
	line("log_last_operation", uint64(s.store.Last()))
	line("log_pending_operations", uint64(s.store.Last()-durable))
}

func infoStats(s *Server, line func(string, any)) {
	var calls, rejected, failed uint64
	for _, cmd := range s.table.commands {
		calls += cmd.stats.calls.Load()
		rejected += cmd.stats.rejected.Load()
		failed += cmd.stats.failed.Load()
	}
	line("total_connections_received", s.clients.total.Load())
	line("total_commands_processed", calls)
	line("total_net_input_bytes", s.received.Load())
	line("total_net_output_bytes", s.sent.Load())
	line("evicted_clients", s.clients.evicted.Load())
	line("rejected_connections", s.clients.rejected.Load())
	line("client_output_buffer_limit_disconnections", s.clients.slow.Load())
	line("total_error_replies", rejected+failed)
	line("acl_access_denied_auth", s.acl.Log.Denied("auth"))
	line("acl_access_denied_cmd", s.acl.Log.Denied("command"))
	line("acl_access_denied_key", s.acl.Log.Denied("key"))
	line("expired_keys", s.store.Stats().Expired)
	line("evicted_keys", 0)
	line("filters_past_error_rate", s.dashboard.PastRate())
	line("pubsub_channels", 0)
	line("pubsub_patterns", 0)
}

func infoReplication(s *Server, line func(string, any)) {
	line("role", "master")
	line("connected_slaves", 0)
	line("master_failover_state", "no-failover")
	line("master_replid", s.runID)
	line("master_repl_offset", uint64(s.store.Last()))
	line("second_repl_offset", -1)
	line("repl_backlog_active", 0)
}

func infoCPU(_ *Server, line func(string, any)) {
	user, system := processTimes()
	line("used_cpu_sys", fmt.Sprintf("%.6f", system.Seconds()))
	line("used_cpu_user", fmt.Sprintf("%.6f", user.Seconds()))
}

func infoCommands(s *Server, line func(string, any)) {
	for _, cmd := range s.table.commands {
		calls, nanos := cmd.stats.calls.Load(), cmd.stats.nanos.Load()
		rejected := cmd.stats.rejected.Load()
		if calls+rejected == 0 {
			continue
		}
		line("cmdstat_"+cmd.full, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, nanos/1000, float64(nanos)/1000/float64(max(calls, 1)), rejected, cmd.stats.failed.Load()))
	}
}

func infoErrors(s *Server, line func(string, any)) {
	all := s.errors.all()
	for _, code := range slices.Sorted(maps.Keys(all)) {
		line("errorstat_"+strings.ReplaceAll(code, ":", "_"), fmt.Sprintf("count=%d", all[code]))
	}
}

func infoLatencies(s *Server, line func(string, any)) {
	for _, cmd := range s.table.commands {
		buckets := cmd.stats.histogram()
		if len(buckets) == 0 {
			continue
		}
		var parts []string
		for _, percent := range []float64{50, 99, 99.9} {
			want := percent / 100 * float64(cmd.stats.calls.Load())
			at := slices.IndexFunc(buckets, func(b latencyBucket) bool { return float64(b.calls) >= want })
			if at < 0 {
				at = len(buckets) - 1
			}
			parts = append(parts, fmt.Sprintf("p%v=%d", percent, buckets[at].micros))
		}
		line("latency_percentiles_usec_"+cmd.full, strings.Join(parts, ","))
	}
}

func infoCluster(_ *Server, line func(string, any)) { line("cluster_enabled", 0) }

// maxExpiryCount is the largest number of values for which INFO counts those with an
// expiry.
const maxExpiryCount = 100_000

func infoKeyspace(s *Server, line func(string, any)) {
	n := s.store.Len()
	if n == 0 {
		return
	}
	expires := 0
	if n <= maxExpiryCount {
		for _, v := range s.store.Names() {
			if !v.Expires().IsZero() {
				expires++
			}
		}
	}
	line("db0", fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, expires))
}

// port returns the port of the first TCP listener, else 0.
func (s *Server) port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tcpPort
}
