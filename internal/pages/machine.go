package pages

import "sync"

// Machine returns the bytes of memory that this process may have: those of the machine,
// or fewer if a container or a limit of the process gives it fewer; 0 if that is
// unknown. It is what was true when it was first called.
var Machine = sync.OnceValue(machine)
