package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// passwordHash is the SHA-256 of a password in hexadecimal, as in Redis, or its bcrypt
// hash, which is slow to try passwords on.
type passwordHash struct{ text string }

func hashPassword(password string) passwordHash {
	sum := sha256.Sum256([]byte(password))
	return passwordHash{hex.EncodeToString(sum[:])}
}

func (p passwordHash) slow() bool { return strings.HasPrefix(p.text, "$2") }

// maxBcryptCost limits one attempt to about a second.
const maxBcryptCost = 14

// work returns the cost of trying a password on the hash: the number of bcrypt rounds, 0
// for other hashes.
func (p passwordHash) work() uint64 {
	if !p.slow() {
		return 0
	}
	cost, err := bcrypt.Cost([]byte(p.text))
	if err != nil {
		return 0
	}
	return 1 << cost
}

// waste takes as long as trying a password on bcrypt hashes of that work.
func waste(work uint64, password []byte) {
	for cost := bcrypt.MinCost; cost < 64 && work>>cost > 0; cost++ {
		if work&(1<<cost) == 0 {
			continue
		}
		for c, times := min(cost, maxBcryptCost), uint64(1)<<max(cost-maxBcryptCost, 0); times > 0; times-- {
			// No user has this hash; the result does not matter.
			_ = bcrypt.CompareHashAndPassword(fmt.Appendf(nil, "$2a$%02d$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", c), password)
		}
	}
}

// valid reports whether the text is a hash.
func (p passwordHash) valid() bool {
	if p.slow() {
		cost, err := bcrypt.Cost([]byte(p.text))
		return err == nil && cost <= maxBcryptCost && len(p.text) == 60
	}
	b, err := hex.DecodeString(p.text)
	return err == nil && len(b) == sha256.Size && p.text == strings.ToLower(p.text)
}

// matches reports whether it is the hash of a password with the SHA-256 sum.
func (p passwordHash) matches(password []byte, sum string) bool {
	if p.slow() {
		return bcrypt.CompareHashAndPassword([]byte(p.text), password) == nil // any error means that the password does not match
	}
	return subtle.ConstantTimeCompare([]byte(p.text), []byte(sum)) == 1
}
