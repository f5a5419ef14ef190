package server

import "seen/internal/server/args"

var lastSaveCommand = command{
	name: "lastsave", arity: 1, flags: flagLoading | flagStale | flagFast | flagAlone, categories: []string{"admin", "dangerous"}, handle: lastSave,
	since: "1.0.0", complexity: "O(1)", summary: "Returns when the last checkpoint ended, in seconds since 1970.",
}

var saveCommand = command{
	name: "save", arity: 1, flags: flagAdmin | flagNoScript | flagNoAsyncLoading | flagNoMulti | flagAlone, handle: save,
	since: "1.0.0", complexity: "O(n), n bytes that have changed", summary: "Writes a checkpoint and replies when it is complete.",
}

var bgSaveCommand = command{
	name: "bgsave", arity: -1, flags: flagAdmin | flagNoScript | flagNoAsyncLoading | flagAlone, handle: bgSave,
	since: "1.0.0", complexity: "O(1)", summary: "Starts a checkpoint.", syntax: "[SCHEDULE]",
}

func lastSave(c *call) { c.out.Int(c.store().LastCheckpoint().Unix()) }

func save(c *call) {
	if err := c.store().Checkpoint(c.server.cutting); err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.OK()
}

func bgSave(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && !args.Is(c.args[1], "SCHEDULE") {
		c.out.Error(args.SyntaxError)
		return
	}
	if c.store().Checkpointing() {
		if len(c.args) == 2 {
			c.out.Simple("Background saving scheduled")
		} else {
			c.out.Error("ERR Background save already in progress")
		}
		return
	}
	s := c.server
	s.running.Go(func() {
		if err := s.store.Checkpoint(s.cutting); err != nil {
			s.event(Failure, "the checkpoint started by BGSAVE failed", "error", err.Error())
		}
	})
	c.out.Simple("Background saving started")
}
