package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// dead finds every kind of declaration that only tests use, and nothing else.
func TestDead(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.24\n",
		"main.go": `package main

import "example/internal/a"

func main() { a.Used(a.One) }
`,
		"internal/a/a.go": `package a

type kind int

const (
	One kind = iota
	Two
)

const lost = 1

var kept = 2

type orphan struct{}

type speaker interface {
	speak()
	mark()
}

type person struct{}

func (person) speak()  {}
func (*person) silent() { helper() }
func (person) mark()   {}

func Used(kind) { speaker(person{}).speak(); generic(1) }

func generic[T any](T) {}

func unused[T any](T) { helper() }

func helper() int { return 1 }
`,
		"internal/a/a_test.go": `package a

import "testing"

func Test(t *testing.T) { (&person{}).silent(); unused(lost + kept); _ = orphan{} }
`,
		"internal/help/help.go": "package help\n\nfunc Tests() {}\n",
		"public/public.go": `package public

type T struct{}

func (T) Exported() { reached() }

func (T) hidden() int { return 1 }

func Generic[E any](E) {}

func reached() {}
`,
	} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stays := map[string]string{"example/internal/a.kept": "a reason", "example/internal/a.Used": "it is used"}
	found, err := dead([]string{"example/internal/help"}, stays, folder, "./...")
	want := []string{
		"internal/a/a.go:10:7: nothing but tests uses example/internal/a.lost",
		"internal/a/a.go:14:6: nothing but tests uses example/internal/a.orphan",
		"internal/a/a.go:24:16: nothing but tests uses example/internal/a.person.silent",
		"internal/a/a.go:31:6: nothing but tests uses example/internal/a.unused",
		"internal/a/a.go:33:6: nothing but tests uses example/internal/a.helper",
		"public/public.go:7:10: nothing but tests uses example/public.T.hidden",
		"tools/dead/kept.go lists example/internal/a.Used, which does not exist or has other uses",
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
}
