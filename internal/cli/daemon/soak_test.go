//go:build soak && unix

package daemon

import "testing"

// TestSoakKilledServer kills a server 500 times.
func TestSoakKilledServer(t *testing.T) { killServer(t, 500, 2) }
