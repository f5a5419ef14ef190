package interop

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"math"
	"strings"
	"testing"
)

// dragonflyHead is a header of Dragonfly, with bits or without.
func dragonflyHead(bits bool, sizes ...int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 1)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(2))
	for _, size := range sizes {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, 7), uint64(size))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(0.01))
		for range 3 {
			b = binary.LittleEndian.AppendUint64(b, 100)
		}
		if bits {
			b = append(b, make([]byte, size)...)
		}
	}
	return b
}

func poppyHead(level byte, capacity uint64, rate float64) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{2, level, 0, 0, 0, 0, 0, 0}, capacity)
	return append(binary.LittleEndian.AppendUint64(b, math.Float64bits(rate)), make([]byte, 40)...)
}

// gobMarshaler has its own encoding, as the filters of bits-and-blooms have.
type gobMarshaler struct{}

func (gobMarshaler) GobEncode() ([]byte, error) { return []byte("bits"), nil }

// TestRefused shows what is recognised and not opened: the error says what it is, and
// what to do.
func TestRefused(t *testing.T) {
	encoded := func(v any) []byte {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name, want string
		b          []byte
	}{
		{"dragonfly", "another hash", dragonflyHead(false, 64)}, {"dragonfly", "another hash", dragonflyHead(false, 64, 4096)},
		{"dragonfly", "another hash", dragonflyHead(true, 64)}, {"dragonfly", "another hash", dragonflyHead(true, 64, 128, 1024)},
		{"valkey-bloom", "restore it in Valkey", append(bytes.Clone(valkeyMark), 1, 2, 3)},
		{"poppy", "version 1", poppyHead(0, 1000, 0.001)}, {"poppy", "version 1", poppyHead(3, 1000, 0.001)},
		{"java-serialization", "toByteArray", []byte("\xac\xed\x00\x05sr\x00\x10java.util.BitSet")},
		{"python-pickle", "tobytes", []byte("\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00}.")},
		{"go-gob", "WriteTo", encoded(struct{ M, K uint }{1, 2})}, {"go-gob", "WriteTo", encoded(map[string][]uint64{"bits": {1}})},
		{"go-gob", "WriteTo", encoded(gobMarshaler{})},
		{"go-gob", "WriteTo", encoded(struct {
			Bits, AndSomeOther, FieldsWithLongNames, SoThatTheDefinition, TakesMoreThanAByte, ForItsLength []byte
		}{Bits: []byte{1}})},
	} {
		all := Detect(c.b)
		if len(all) == 0 || all[0].Spec.Name != c.name || all[0].Refused == "" {
			t.Errorf("% x is taken for %v, want %s", c.b[:min(20, len(c.b))], all, c.name)
			continue
		}
		f, err := Open(c.b, Spec{})
		var refused *RefusedError
		if f != nil || !errors.As(err, &refused) || refused.System != all[0].System || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), all[0].System) {
			t.Errorf("%s: %v, %v", c.name, f, err)
		}
		if _, err := ParseSpec(c.name); !errors.Is(err, ErrSpec) {
			t.Errorf("%s can be asked for: %v", c.name, err)
		}
	}
}

// TestNotRefused has what is near to them.
func TestNotRefused(t *testing.T) {
	odd := dragonflyHead(false, 64)
	binary.LittleEndian.PutUint64(odd[12+4:], 63)
	for name, b := range map[string][]byte{
		"dragonfly: 63 bytes": odd, "dragonfly: cut off": dragonflyHead(true, 64, 128)[:12+44+64+44+127], "dragonfly: the head alone": dragonflyHead(false),
		"dragonfly: much behind it": append(dragonflyHead(true, 64), 0), "poppy: level 4": poppyHead(4, 1000, 0.001), "poppy: rate 1": poppyHead(0, 1000, 1),
		"poppy: rate NaN": poppyHead(0, 1000, math.NaN()), "poppy: no keys": poppyHead(0, 0, 0.1), "poppy: short": poppyHead(0, 1000, 0.001)[:23],
		"java: another version": {0xac, 0xed, 0, 4, 's'}, "pickle: without an end": []byte("\x80\x04}"), "pickle: protocol 9": []byte("\x80\x09}."),
		"gob: short": {3, 0xff, 0x81}, "gob: cut off": {20, 0xff, 0x81, 3, 1, 1, 0, 0, 0}, "gob: a positive number": {8, 0xff, 0x82, 3, 1, 1, 0, 0, 0}, "gob: another number": {8, 0x7d, 3, 1, 1, 0, 0, 0, 0}, "gob: kind 8": {8, 0x7f, 8, 1, 1, 0, 0, 0, 0}, "nothing": nil,
	} {
		for _, c := range Detect(b) {
			if c.Refused != "" {
				t.Errorf("%s is taken for %s", name, c.Spec.Name)
			}
		}
	}
}

func FuzzRefused(f *testing.F) {
	f.Add(dragonflyHead(true, 64, 128))
	f.Add(poppyHead(1, 5, 0.5))
	f.Add([]byte{8, 0xff, 0x81, 3, 1, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range refusedFormats {
			if _, s, ok := c.detect(b); ok && s.Name != c.name {
				t.Fatalf("%s recognises a %v", c.name, s)
			}
		}
	})
}
