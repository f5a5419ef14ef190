//go:build !noasm

package keyhash

import (
	"os"
	"testing"
)

// everyPath runs a test with the assembly, where this processor has it, and
// without.
func everyPath(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	test(t)
	if inAssembly {
		defer func() { inAssembly = true }()
		inAssembly = false
		test(t)
	}
}

func TestAssemblyAvailable(t *testing.T) {
	if !inAssembly && os.Getenv("SEEN_REQUIRE_AVX2") != "" {
		t.Fatal("this machine lacks BMI2, which SEEN_REQUIRE_AVX2 says it must have")
	}
	keys := [][]byte{[]byte("a key"), make([]byte, 241)}
	if n := manyKeys(make([]uint64, 2), keys); inAssembly != (n == 1) {
		t.Errorf("%d of two keys were hashed in assembly, of which one is short enough; inAssembly is %v", n, inAssembly)
	}
}
