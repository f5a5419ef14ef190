package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"seen/sizing"
)

func TestNumbers(t *testing.T) {
	for is, want := range map[string]string{
		Rate(0): "0", Rate(1): "1", Rate(1e-6): "1e-6", Rate(8.89e-5): "8.89e-5",
		Rate(0.0213): "0.0213", Rate(0.5): "0.5", Rate(2.5e-10): "2.5e-10",
		ExactRate(1e-6): "1e-6", ExactRate(1.5e-12): "1.5e-12", ExactRate(0.01): "0.01",
		Bytes(0): "0 B", Bytes(1023): "1023 B", Bytes(1024): "1.00 KiB", Bytes(10240): "10.0 KiB",
		Bytes(1 << 20): "1.00 MiB", Bytes(1<<20 - 1): "1.00 MiB", Bytes(102300): "99.9 KiB",
		Bytes(102395): "100 KiB", Bytes(math.MaxUint64): "16.0 EiB",
		Comma(1234567): "1,234,567", Comma(math.MaxUint64): "18446744073709551615",
		Short(9_999): "9,999", Short(12_345_678): "12.3M",
		Short(0): "0", Short(10_000): "10k", Short(10_049): "10k", Short(12_345): "12.3k", Short(999_499): "999k", Short(999_500): "1M",
		Short(3_789_000): "3.79M", Short(1_000_000): "1M", Short(8_000_000_000): "8G", Short(math.MaxUint64): "18400000T",
		Percent(0): "0 %", Percent(0.1234): "12.3 %", Percent(1): "100 %", Percent(0.5): "50 %", Percent(8.9): "890 %", Percent(88.94): "8,890 %",
		Percent(9.9999): "1,000 %", Percent(1e-5): "0.001 %", Percent(1.234e-4): "0.0123 %", Percent(1.2e-9): "1.2e-7 %", Percent(0.0204): "2.04 %",
		Size(0): "0B", Size(4096): "4KiB", Size(30_000_000): "30MB", Size(64 << 20): "64MiB", Size(3 << 29): "1.5GiB", Size(1_500_000_000): "1.5GB",
		Size(500_000_000): "500MB", Size(1000): "1kB", Size(999): "999B", Size(1): "1B", Size(12_345_678): "12345678B",
		Size(512_000_000): "512MB", Size(1 << 40): "1TiB", Size(1 << 63): "8EiB", Size(math.MaxUint64): "18446744073709551615B",
		Exact(10_000_000): "10M", Exact(1500): "1500", Exact(2_000): "2k", Exact(3e12): "3T", Exact(7): "7",
		Estimate(sizing.Estimate{Value: 1234.4, StdErr: 2.1}):                    "1,234 ± 3",
		Estimate(sizing.Estimate{Value: 1234}):                                   "1,234",
		Estimate(sizing.Estimate{Value: math.Inf(1), StdErr: math.Inf(1)}):       "full",
		Estimate(sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()}):         "unknown",
		fmt.Sprint(SixDigits(1234567.8), SixDigits(1.23456789e-9), SixDigits(0)): "1.23457e+06 1.23457e-09 0",
	} {
		if is != want {
			t.Errorf("%q, want %q", is, want)
		}
	}
}

// What Size writes, ParseSize reads.
func TestSizesAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := rng.Uint64N(1 << (1 + rng.IntN(53)))
		switch rng.IntN(3) {
		case 0:
			n = n >> 40 << rng.IntN(40)
		case 1:
			n = n >> 40 * 100_000
		}
		if got, err := ParseSize(Size(n)); err != nil || got != n {
			t.Fatalf("%d is written as %s, which is %d, %v", n, Size(n), got, err)
		}
	}
}

func TestScientific(t *testing.T) {
	for p, want := range map[float64]string{
		8.884e-5: "8.88e-5", 0.0196: "1.96e-2", 1: "1.00e0", 0: "0.00e0", 1e-10: "1.00e-10",
		9.999e-10: "1.00e-9", 1e-100: "1.00e-100", 123456: "1.23e5",
		math.Inf(1): "+Inf", math.NaN(): "NaN",
	} {
		if got := Scientific(p); got != want {
			t.Errorf("Scientific(%v) = %q, want %q", p, got, want)
		}
	}
}
