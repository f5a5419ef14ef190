package args

import (
	"bytes"
	"testing"
)

func TestWords(t *testing.T) {
	words := bytes.Fields([]byte("BF.INSERT key capacity 5 Items items"))
	if at := Find(words, 1, "ITEMS"); at != 4 {
		t.Errorf("ITEMS was found at %d", at)
	}
	if at := Find(words, 5, "CAPACITY"); at != -1 {
		t.Errorf("CAPACITY was found at %d, behind the place where it is", at)
	}
	if Is([]byte("ITEM"), "ITEMS") || !Is([]byte("iTeMs"), "ITEMS") {
		t.Error("words are told apart wrongly")
	}
	if Letter(words[4], 0) != 'I' || Letter(words[4], 5) != 0 {
		t.Error("letters are read wrongly")
	}
	if got := WrongArity(words); got != "ERR wrong number of arguments for 'bf.insert' command" {
		t.Error(got)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "10": true, "0": false, "11": false, "+5": false, "": false, "5.0": false} {
		if _, ok := Int([]byte(text), 1, 10); ok != want {
			t.Errorf("Int(%q, 1, 10) = %v", text, ok)
		}
	}
	for text, want := range map[string]bool{"0.5": true, "1e-300": true, "0": false, "1": false, "nan": false, "-0.5": false, "": false} {
		if _, ok := Fraction([]byte(text)); ok != want {
			t.Errorf("Fraction(%q) = %v", text, ok)
		}
	}
}
