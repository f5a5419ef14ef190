package keyhash

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func secret() (s [SecretSize]byte) {
	for i := range s {
		s[i] = byte(i)
	}
	return s
}

// The values are those of the algorithms' own reference programs: xxhsum -H3 for
// seed 0, and the test vectors published with SipHash-2-4 (key 00..0f, message
// 00..(n-1)).
func TestGoldenValues(t *testing.T) {
	message := make([]byte, 15)
	for i := range message {
		message[i] = byte(i)
	}
	for _, c := range []struct {
		hash Hash
		key  []byte
		want uint64
	}{
		{Hash{}, nil, 0x2d06800538d394c2},
		{Hash{}, []byte("a"), 0xe6c632b61e964e1f},
		{Hash{}, []byte("abc"), 0x78af5f94892f3950},
		{keyed(secret()), message, 0xa129ca6149be45e5},
		{keyed(secret()), nil, 0x726fdb47dd0e0e31},
	} {
		if got := c.hash.Sum(c.key); got != c.want {
			t.Errorf("%v of %q is %016x, want %016x", c.hash, c.key, got, c.want)
		}
		if c.hash.SumString(string(c.key)) != c.hash.Sum(c.key) {
			t.Errorf("%v: Sum and SumString differ for %q", c.hash, c.key)
		}
	}
}

func TestSeedsGiveOtherFunctions(t *testing.T) {
	for _, n := range []int{0, 1, 8, 16, 100, 200, 300, 5000} {
		key := make([]byte, n)
		a, b := Hash{}, Hash{Seed: 1}
		if a.Sum(key) == b.Sum(key) {
			t.Errorf("seeds 0 and 1 agree on %d zero bytes", n)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		hash Hash
		want string
	}{
		{Hash{}, ""},
		{Hash{Seed: 1 << 63}, ""},
		{keyed(secret()), ""},
		{Hash{Secret: secret()}, "has none"},
		{Hash{Algorithm: SipHash}, "not all zero"},
		{Hash{Algorithm: SipHash, Secret: secret(), Seed: 7}, "seed 7"},
		{Hash{Algorithm: NH, Secret: secret()}, ""},
		{Hash{Algorithm: NH}, "nh needs a secret"},
		{Hash{Algorithm: NH, Secret: secret(), Seed: 7}, "seed 7 was given for nh"},
		{Hash{Algorithm: 9}, "algorithm 9"},
	} {
		err := c.hash.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Validate of %v: %v, want %q", c.hash, err, c.want)
		}
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	for _, h := range []Hash{keyed(secret()), {Algorithm: NH, Secret: secret()}} {
		secretIsNotPrinted(t, h)
	}
}

func secretIsNotPrinted(t *testing.T, h Hash) {
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		h.String(), fmt.Sprint(h), fmt.Sprintf("%v %+v %#v %s", h, h, h, h), fmt.Sprintf("%+v", &h), string(encoded),
	} {
		for _, form := range []string{hex.EncodeToString(h.Secret[:4]), "1 2 3", "0x1, 0x2", "1,2,3"} {
			if strings.Contains(text, form) {
				t.Errorf("the secret shows in %q", text)
			}
		}
	}
}

func TestKeyID(t *testing.T) {
	if (Hash{Seed: 4}).KeyID() != 0 {
		t.Error("xxh3 has a key id")
	}
	other := secret()
	other[15]++
	a, b := keyed(secret()).KeyID(), keyed(other).KeyID()
	if a == b || a == 0 || a != 0x8f0eedbf35f899d3 {
		t.Errorf("key ids %x and %x", a, b)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, h := range []Hash{{}, {Seed: 3}, keyed(secret()), {Algorithm: NH, Secret: secret()}} {
		key := make([]byte, 40)
		if n := testing.AllocsPerRun(100, func() { h.Sum(key); h.SumString("text") }); n != 0 {
			t.Errorf("%v allocates %v times", h, n)
		}
	}
}

// keyed returns the SipHash function with the given secret.
func keyed(secret [SecretSize]byte) Hash { return Hash{Algorithm: SipHash, Secret: secret} }
