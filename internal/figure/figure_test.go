package figure

import (
	"fmt"
	"math"
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
		Short(9_999): "9,999", Short(12_345_678): "12.35M",
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
