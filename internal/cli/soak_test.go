//go:build soak

package cli

import "testing"

// TestSoakLongLine sends lines of 1 GiB through the command.
func TestSoakLongLine(t *testing.T) { uniqLongLine(t, 1<<30) }
