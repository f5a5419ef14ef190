package seen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// source is the tree that rules look at: its Go files, parsed, and its other
// texts.
type source struct {
	set   *token.FileSet
	files []goFile
	texts map[string]string // every file that a rule may read, by its path
}

type goFile struct {
	path string // slash-separated, relative to the root
	text string
	ast  *ast.File
}

// pkg is the folder of the file: the import path without "seen/", "." for the
// root.
func (f goFile) pkg() string  { return path.Dir(f.path) }
func (f goFile) test() bool   { return strings.HasSuffix(f.path, "_test.go") }
func (f goFile) binary() bool { return f.ast.Name.Name == "main" }

// outside reports whether the file belongs to what stands beside the product.
func (f goFile) outside() bool {
	return slices.ContainsFunc(outside, func(o string) bool { return strings.HasPrefix(f.path, o) })
}

// library reports whether the file is part of a package that others import.
func (f goFile) library() bool {
	return !f.test() && !f.binary() && !slices.ContainsFunc(edge, func(e string) bool { return strings.HasPrefix(f.path, e) })
}

// generator reports whether the file belongs to a module that generates code
// and is no part of the product.
func (f goFile) generator() bool { return strings.Contains("/"+f.path, "/_") }

// imports yields the import paths of the file.
func (f goFile) imports() []string {
	var all []string
	for _, i := range f.ast.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// at names a position for a violation.
func (s *source) at(f goFile, pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, s.set.Position(pos).Line)
}

// packages returns the folders that hold Go files other than tests.
func (s *source) packages() []string {
	found := map[string]bool{}
	for _, f := range s.files {
		if !f.test() && !f.generator() {
			found[f.pkg()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// load reads a tree. What version control does not hold (bin) and what is data
// (testdata) is left out.
func load(root fs.FS) (*source, error) {
	s := &source{set: token.NewFileSet(), texts: map[string]string{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "bin", "testdata":
				return fs.SkipDir
			}
			return nil
		}
		isGo := path.Ext(name) == ".go"
		if !isGo && !isText(name) {
			return nil
		}
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s.texts[name] = string(b)
		if isGo {
			tree, err := parser.ParseFile(s.set, name, b, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			s.files = append(s.files, goFile{path: name, text: string(b), ast: tree})
		}
		return nil
	})
	return s, err
}

// isText reports whether a file that is not Go is one that people edit here.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".md", ".mod", ".sh", ".s", ".py", ".c", ".txtar", ".html":
		return true
	}
	return path.Base(name) == "Makefile" || path.Dir(name) == ".ci" || path.Dir(name) == "scripts"
}

// broken is a small tree that breaks one rule once.
type broken struct {
	files map[string]string
	want  string // part of the violation
}

func (b broken) fs() fs.FS {
	m := fstest.MapFS{}
	for name, text := range b.files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// inFile is the common case of one file.
func inFile(name, text, want string) broken {
	return broken{files: map[string]string{name: text}, want: want}
}
