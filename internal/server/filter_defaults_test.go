package server

import "testing"

func TestFilterSettings(t *testing.T) {
	for _, c := range []struct{ name, value, got, problem string }{
		{"bf-error-rate", "0.001", "0.001", ""},
		{"bf-error-rate", "0.9", "0.25", ""},
		{"bf-error-rate", "x", "0.01", "Invalid value for `bf-error-rate`"},
		{"bf-error-rate", "nan", "0.01", "Invalid value for `bf-error-rate`"},
		{"bf-error-rate", "0", "0.01", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"},
		{"bf-error-rate", "1", "0.01", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"},
		{"bf-error-rate", "inf", "0.01", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"},
		{"bf-initial-size", "1", "1", ""},
		{"bf-initial-size", "1073741824", "1073741824", ""},
		{"bf-initial-size", "0", "100", "Value for `bf-initial-size` must be in the range [1, 1073741824]"},
		{"bf-initial-size", "1073741825", "100", "Value for `bf-initial-size` must be in the range [1, 1073741824]"},
		{"bf-initial-size", "1.5", "100", "Invalid value for `bf-initial-size`"},
		{"bf-expansion-factor", "0", "0", ""},
		{"bf-expansion-factor", "32768", "32768", ""},
		{"bf-expansion-factor", "32769", "2", "Value for `bf-expansion-factor` must be in the range [0, 32768]"},
		{"bf-expansion-factor", "-1", "2", "Value for `bf-expansion-factor` must be in the range [0, 32768]"},
		{"cf-initial-size", "4", "4", ""},
		{"cf-initial-size", "3", "1024", "Value for `cf-initial-size` must be in the range [4, 1073741824]"},
		{"cf-bucket-size", "255", "255", ""},
		{"cf-bucket-size", "256", "2", "Value for `cf-bucket-size` must be in the range [1, 255]"},
		{"cf-bucket-size", "0", "2", "Value for `cf-bucket-size` must be in the range [1, 255]"},
		{"cf-max-iterations", "65535", "65535", ""},
		{"cf-max-iterations", "65536", "20", "Value for `cf-max-iterations` must be in the range [1, 65535]"},
		{"cf-expansion-factor", "0", "0", ""},
		{"cf-expansion-factor", "-5", "1", "Value for `cf-expansion-factor` must be in the range [0, 32768]"},
		{"cf-max-expansions", "65536", "65536", ""},
		{"cf-max-expansions", "65537", "32", "Value for `cf-max-expansions` must be in the range [1, 65536]"},
		{"cf-max-expansions", "many", "32", "Invalid value for `cf-max-expansions`"},
	} {
		s, problem := initialFilterDefaults().set(c.name, c.value)
		if got, ok := s.get(c.name); got != c.got || !ok {
			t.Errorf("%s is %q, %t after %q; want %q", c.name, got, ok, c.value, c.got)
		}
		if problem != c.problem {
			t.Errorf("%s to %q: %q; want %q", c.name, c.value, problem, c.problem)
		}
	}
}

// The two sizes of cuckoo filters limit each other.
func TestFilterSettingsOfCuckoosGoTogether(t *testing.T) {
	s, problem := initialFilterDefaults().set("cf-bucket-size", "100")
	if problem != "" {
		t.Fatal(problem)
	}
	const low = "Value for `cf-initial-size` must be in the range [200, 1073741824]"
	if _, problem := s.set("cf-initial-size", "199"); problem != low {
		t.Errorf("an initial size of 199 with buckets of 100: %q; want %q", problem, low)
	}
	if s, problem = s.set("cf-initial-size", "200"); problem != "" {
		t.Fatal(problem)
	}
	const high = "Value for `cf-bucket-size` must be in the range [1, 100]"
	if _, problem := s.set("cf-bucket-size", "101"); problem != high {
		t.Errorf("buckets of 101 with an initial size of 200: %q; want %q", problem, high)
	}
}

func TestFilterSettingNames(t *testing.T) {
	for _, name := range filterSettingNames {
		value, ok := initialFilterDefaults().get(name)
		if !ok {
			t.Errorf("%s is listed and cannot be read", name)
		}
		if s, problem := initialFilterDefaults().set(name, value); problem != "" || s != initialFilterDefaults() {
			t.Errorf("%s cannot be set to its default %q: %q", name, value, problem)
		}
	}
	if _, ok := initialFilterDefaults().get("bf-colour"); ok {
		t.Error("bf-colour is a setting")
	}
	if _, problem := initialFilterDefaults().set("bf-colour", "1"); problem == "" {
		t.Error("bf-colour can be set")
	}
}
