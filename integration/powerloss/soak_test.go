//go:build soak

package powerloss

import (
	"testing"
	"time"
)

// TestSoakPowerLoss cuts the power at 300 moments.
func TestSoakPowerLoss(t *testing.T) { powerLoss(t, 10, 30, 3*time.Second, 100) }
