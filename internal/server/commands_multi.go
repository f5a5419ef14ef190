package server

// transaction is what a client has between MULTI and EXEC.
type transaction struct {
	open    bool
	running bool
}

// immediate reports whether a command runs at once within a transaction.
func (cmd *command) immediate() bool { return true }

func (c *conn) queue(parsed) {}

func (c *conn) reject(_ parsed, reason string) { c.out.Error(reason) }

func (c *conn) stranger() bool { return false }
