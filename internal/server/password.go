package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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
		return bcrypt.CompareHashAndPassword([]byte(p.text), password) == nil
	}
	return subtle.ConstantTimeCompare([]byte(p.text), []byte(sum)) == 1
}
