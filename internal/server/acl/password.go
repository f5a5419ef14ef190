package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// passwordHash is what is kept of a password: its SHA-256 in hexadecimal, as Redis
// has it, or its bcrypt hash, which is dear to try passwords on.
type passwordHash struct{ text string }

func hashPassword(password string) passwordHash {
	sum := sha256.Sum256([]byte(password))
	return passwordHash{hex.EncodeToString(sum[:])}
}

func (p passwordHash) slow() bool { return strings.HasPrefix(p.text, "$2") }

// maxBcryptCost bounds the time that one attempt takes to about a second.
const maxBcryptCost = 14

// work returns about how much work it is to try a password on the hash, in the unit of
// bcrypt: doublings are the cost. Other hashes are none.
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

// waste does as much work as trying a password on bcrypt hashes of so much work does.
func waste(work uint64, password []byte) {
	for cost := bcrypt.MinCost; cost < 64 && work>>cost > 0; cost++ {
		if work&(1<<cost) == 0 {
			continue
		}
		for c, times := min(cost, maxBcryptCost), uint64(1)<<max(cost-maxBcryptCost, 0); times > 0; times-- {
			// Nobody has this hash; what comes out does not matter.
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

// matches reports whether it is the hash of a password; sum is the SHA-256 of that.
func (p passwordHash) matches(password []byte, sum string) bool {
	if p.slow() {
		return bcrypt.CompareHashAndPassword([]byte(p.text), password) == nil // any error is a password that does not match
	}
	return subtle.ConstantTimeCompare([]byte(p.text), []byte(sum)) == 1
}
