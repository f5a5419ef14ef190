package seen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule is one promise about the tree.
type rule struct {
	name   string
	why    string
	check  func(*source) []string // one sentence for each violation
	broken []broken               // trees that break it, see TestRulesCanFail
}

// maxLines is the length of a Go file beyond which it holds more than one idea.
const maxLines = 600

var rules = []rule{
	{
		name:  "imports go one way",
		why:   "a reader may start at the bottom and never has to look up; the list is in arch_test.go",
		check: importsGoOneWay,
		broken: []broken{
			inFile("sizing/a.go", "package sizing\nimport _ \"seen/bloom\"", "sizing may not import seen/bloom"),
			inFile("bloom/a.go", "package bloom\nimport _ \"seen/sketch\"", "bloom may not import seen/sketch"),
			inFile("sizing/a.go", "package sizing\nimport _ \"os\"", "mathematics does no I/O"),
			inFile("internal/stream/a.go", "package stream\nimport _ \"seen/bloom\"", "knows no filter"),
			inFile("internal/stream/input/a.go", "package input\nimport _ \"seen/internal/stream\"", "may not import seen/internal/stream"),
			inFile("bloom/a.go", "package bloom\nimport _ \"seen/internal/corpus\"", "may not import seen/internal/corpus"),
			inFile("bloom/a.go", "package bloom\nimport _ \"seen/integration/colly\"", "may not import seen/integration/colly"),
			inFile("bloom/a_test.go", "package bloom\nimport _ \"seen/internal/cli\"", "may not import seen/internal/cli"),
			inFile("bloom/a.go", "package bloom\nimport _ \"seen/bench/filters\"", "may not import seen/bench/filters"),
			inFile("internal/new/a.go", "package new", "internal/new is not in the list"),
		},
	},
	{
		name:  "modules stand where they are needed",
		why:   "whoever imports a package should get what it needs and no more; the list is in arch_test.go",
		check: modulesStandWhereNeeded,
		broken: []broken{
			inFile("sizing/a.go", "package sizing\nimport _ \"gonum.org/v1/gonum/stat\"", "sizing may not import gonum.org/v1/gonum/stat"),
			inFile("bloom/a.go", "package bloom\nimport _ \"pgregory.net/rapid\"", "bloom may not import pgregory.net/rapid"),
			inFile("bloom/a_test.go", "package bloom\nimport _ \"github.com/stretchr/testify/assert\"", "may not import github.com/stretchr"),
		},
	},
	{
		name:  "the policy is current",
		why:   "policy for what does not exist hides what does",
		check: policyIsCurrent,
		broken: []broken{
			{without("sizing/a.go"), "package sizing does not exist"},
			{without("internal/keyhash/module0.go"), "internal/keyhash does not import github.com/dchest/siphash"},
			{without("panic0.go"), "does not panic"},
		},
	},
	{
		name:  "each package has one doc comment",
		why:   "it says what the package is for, and what it is not; two contradict each other one day",
		check: packageDocs,
		broken: []broken{
			inFile("a/a.go", "package a", "a has 0 package comments"),
			{map[string]string{"a/a.go": "// Package a is.\npackage a", "a/b.go": "// Package a was.\npackage a"}, "a has 2 package comments"},
			inFile("a/a.go", "// This package is.\npackage a", "does not begin with \"Package a \""),
			inFile("cmd/x/a.go", "// Package main is.\npackage main", "does not begin with \"Command x \""),
		},
	},
	{
		name:  "exported names have doc comments",
		why:   "they are the manual of the libraries",
		check: exportedDocs,
		broken: []broken{
			inFile("a/a.go", "package a\nfunc F() {}", "F has no doc comment"),
			inFile("a/a.go", "package a\n// Does it.\nfunc F() {}", "the comment of F does not begin with its name"),
			inFile("a/a.go", "package a\n// T is.\ntype T struct{}\nfunc (*T) M() {}", "M has no doc comment"),
			inFile("a/a.go", "package a\ntype T int", "T has no doc comment"),
			inFile("a/a.go", "package a\nvar A, b = 1, 2", "A has no doc comment"),
			inFile("a/a.go", "package a\nconst (\n\tA = 1\n)", "A has no doc comment"),
		},
	},
	{
		name:  "files are short",
		why:   "a file holds one idea; split it by ideas, not by size",
		check: filesAreShort,
		broken: []broken{
			inFile("a/a.go", "package a\n"+strings.Repeat("\n", maxLines), fmt.Sprintf("%d lines", maxLines+1)),
			inFile("a/a_test.go", "package a\n"+strings.Repeat("\n", maxLines), fmt.Sprintf("%d lines", maxLines+1)),
		},
	},
	{
		name:  "packages are named for what they hold",
		why:   "a package for anything ends up with everything",
		check: packageNames,
		broken: []broken{
			inFile("internal/util/a.go", "package util", "internal/util"),
			inFile("pkg/bloom/a.go", "package bloom", "pkg/bloom"),
			inFile("a/hash_avx2/a.go", "package hash_avx2", "hash_avx2"),
			inFile("bloom/a.go", "package filters", "package filters in the folder bloom"),
		},
	},
	{
		name:  "nothing is left for later",
		why:   "what is to be done stands in the tracker, with a reason; the tree holds what works",
		check: nothingLeftForLater,
		broken: []broken{
			inFile("a/a.go", "package a\n\n// TO"+"DO: more", "a/a.go:3"),
			inFile("Makefile", "all: # FIX"+"ME", "Makefile:1"),
			inFile("docs/GUIDE.md", "XX"+"X", "docs/GUIDE.md:1"),
		},
	},
	{
		name:  "libraries do not print, log or exit",
		why:   "they return what they have to say; who calls them decides what becomes of it",
		check: librariesAreQuiet,
		broken: []broken{
			inFile("bloom/a.go", "package bloom\nimport \"fmt\"\nfunc f() { fmt.Println() }", "fmt.Println"),
			inFile("bloom/a.go", "package bloom\nimport format \"fmt\"\nfunc f() { format.Printf(\"\") }", "fmt.Printf"),
			inFile("bloom/a.go", "package bloom\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"),
			inFile("bloom/a.go", "package bloom\nimport \"os\"\nvar w = os.Stderr", "os.Stderr"),
			inFile("bloom/a.go", "package bloom\nimport _ \"log\"", "log"),
			inFile("bloom/a.go", "package bloom\nimport _ \"log/slog\"", "log/slog"),
			inFile("bloom/a.go", "package bloom\nfunc f() { println() }", "println"),
		},
	},
	{
		name:  "libraries know no flags",
		why:   "options are the business of the command; a library that reads them serves no other caller",
		check: librariesKnowNoFlags,
		broken: []broken{
			inFile("bloom/a.go", "package bloom\nimport _ \"flag\"", "bloom/a.go imports flag"),
			inFile("internal/store/a.go", "package store\nimport _ \"github.com/spf13/pflag\"", "imports github.com/spf13/pflag"),
			inFile("internal/cli/flagvalue/a.go", "package flagvalue\nimport _ \"github.com/spf13/pflag\"", "imports github.com/spf13/pflag"),
		},
	},
	{
		name:  "libraries panic only on bugs",
		why:   "input is answered with an error; a function that panics on a bug is named with the reason in arch_test.go",
		check: librariesPanicOnBugs,
		broken: []broken{
			inFile("bloom/a.go", "package bloom\nfunc f() { panic(1) }", "bloom/a.go:2: bloom.f panics"),
			inFile("bloom/a.go", "package bloom\nfunc (t *T[K]) f() { func() { panic(1) }() }", "bloom.T.f panics"),
			inFile("bloom/a.go", "package bloom\nvar f = func() { panic(1) }", "bloom. panics"),
		},
	},
	{
		name:  "dependencies are justified",
		why:   "docs/DESIGN.md says, under Dependencies, for each module that we import why it is better than our own code",
		check: dependenciesAreJustified,
		broken: []broken{
			{map[string]string{"go.mod": "module seen\nrequire a.org/b v1.0.0\n", "a.go": "package a\nimport _ \"a.org/b/c\""}, "a.org/b"},
			{map[string]string{"go.mod": "module seen\n", "docs/DESIGN.md": "## Dependencies\n\n- `a.org/b`: it is good\n"}, "nothing imports it"},
			{map[string]string{"go.mod": "module seen\n", "a.go": "package a\nimport _ \"a.org/b\""}, "go.mod requires no module"},
		},
	},
	{
		name:  "directives are directives",
		why:   "a space after the slashes turns a directive into prose that does nothing",
		check: directivesAreDirectives,
		broken: []broken{
			inFile("a/a.go", "package a\n\n// go:noescape\nfunc f()", "a/a.go:3"),
			inFile("a/a.go", "package a\n\n// +build linux\n", "a/a.go:3"),
		},
	},
	{
		name:  "one word for one thing",
		why:   "the error rate is called error rate, a seed is called seed; two words look like two things",
		check: oneWord,
		broken: []broken{
			inFile("bloom/a.go", "package bloom\nfunc f(fpRate, maxFpp float64) {}", "maxFpp"),
			inFile("bloom/a.go", "package bloom\nvar FPR float64", "FPR"),
			inFile("bloom/a.go", "package bloom\nvar hashSalt int", "hashSalt"),
		},
	},
	{
		name:  "packages are on the maps",
		why:   "doc.go and docs/DESIGN.md are where a newcomer begins; they list every package and none that has gone",
		check: packagesAreMapped,
		broken: []broken{
			mapped("// Package seen is.\n//\n//\tbloom  filters\npackage seen", "`bloom`, `internal/frame`", "doc.go does not list package internal/frame"),
			mapped("// Package seen is.\n//\n//\tbloom  filters\n//\tinternal/frame  bytes\npackage seen", "`bloom`", "docs/DESIGN.md does not list package internal/frame"),
			mapped("// Package seen is.\n//\n//\tbloom  filters\n//\tinternal/frame  bytes\npackage seen", "`bloom`, `internal/frame`, `internal/old`", "lists package internal/old, which does not exist"),
		},
	},
	{
		name:  "errors name no packages",
		why:   "an error says what is wrong with which value; callers say what they were doing, and users know no packages",
		check: errorsNameNoPackages,
		broken: []broken{
			inFile("bloom/a.go", "package bloom\nimport \"fmt\"\nvar err = fmt.Errorf(\"bloom: capacity is %d\", 0)", "bloom/a.go:3"),
			inFile("bloom/a.go", "package bloom\nimport \"errors\"\nvar err = errors.New(\"bloom: full\")", "bloom/a.go:3"),
		},
	},
	{
		name:  "texts are plain English",
		why:   "engineers scan; write subject, verb, object, with common words",
		check: textsArePlain,
		broken: []broken{
			inFile("docs/GUIDE.md", "It is no filter.", "docs/GUIDE.md:1"),
			inFile("docs/GUIDE.md", "\nThe bits lie in a file.", "docs/GUIDE.md:2"),
			inFile("bloom/a.go", "package bloom\nvar e = \"whoever adds keys\"", "bloom/a.go:2"),
			inFile("bloom/a.go", "package bloom\n\n// f need not be locked.\nfunc f() {}", "bloom/a.go:3"),
		},
	},
}

// mapped is a tree of two packages with the maps given.
func mapped(doc, design, want string) broken {
	return broken{map[string]string{"doc.go": doc, "docs/DESIGN.md": design, "bloom/a.go": "package bloom", "internal/frame/a.go": "package frame"}, want}
}

func importsGoOneWay(s *source) (violations []string) {
	for _, f := range s.files {
		from := f.pkg()
		if from == "." || f.outside() || f.generator() {
			continue
		}
		at := slices.IndexFunc(arrows, func(a arrow) bool { return a.pkg == from })
		if at < 0 {
			violations = append(violations, fmt.Sprintf("%s: package %s is not in the list", f.path, from))
			continue
		}
		for _, path := range f.imports() {
			if violation := arrows[at].forbids(path, f.test()); violation != "" {
				violations = append(violations, f.path+": "+violation)
			}
		}
	}
	return violations
}

// forbids says why a package, or a test of it, may not import path, which is
// ours or of the standard library; "" if it may.
func (a arrow) forbids(path string, test bool) string {
	own, ours := strings.CutPrefix(path, "seen/")
	if why := a.not[own]; why != "" && !test {
		return fmt.Sprintf("%s may not import %s: %s", a.pkg, path, why)
	}
	if !ours || own == a.pkg {
		return ""
	}
	if slices.Contains(testOnly, own) {
		if test {
			return ""
		}
		return fmt.Sprintf("%s may not import %s, which is for tests", a.pkg, path)
	}
	if strings.HasPrefix(own, a.pkg+"/") {
		return ""
	}
	to := slices.IndexFunc(arrows, func(a arrow) bool { return a.pkg == own })
	if to < 0 || arrows[to].level >= a.level {
		return fmt.Sprintf("%s may not import %s, which is not below it", a.pkg, path)
	}
	return ""
}

func modulesStandWhereNeeded(s *source) (violations []string) {
	for _, f := range s.files {
		at := slices.IndexFunc(arrows, func(a arrow) bool { return a.pkg == f.pkg() })
		if at < 0 {
			continue
		}
		allowed := arrows[at].modules
		if f.test() {
			allowed = slices.Concat(allowed, testModules)
		}
		for _, path := range f.imports() {
			if thirdParty(path) && moduleOf(path, allowed) == "" {
				violations = append(violations, fmt.Sprintf("%s: %s may not import %s", f.path, f.pkg(), path))
			}
		}
	}
	return violations
}

// thirdParty reports whether an import path is neither ours nor of the standard
// library, whose paths have no dot in their first element.
func thirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

// moduleOf returns the module among modules that holds the package path, or "".
func moduleOf(path string, modules []string) string {
	longest := ""
	for _, m := range modules {
		if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}

func policyIsCurrent(s *source) (violations []string) {
	imports := map[string][]string{} // package -> paths
	for _, f := range s.files {
		if !f.test() {
			imports[f.pkg()] = append(imports[f.pkg()], f.imports()...)
		}
	}
	for _, a := range arrows {
		paths, ok := imports[a.pkg]
		if !ok {
			violations = append(violations, fmt.Sprintf("package %s does not exist", a.pkg))
		}
		for _, m := range a.modules {
			imported := func(path string) bool { return moduleOf(path, []string{m}) != "" }
			if ok && !slices.ContainsFunc(paths, imported) {
				violations = append(violations, fmt.Sprintf("%s does not import %s", a.pkg, m))
			}
		}
	}
	found := map[string]bool{}
	panics(s, func(_ goFile, _ token.Pos, function string) { found[function] = true })
	for _, function := range slices.Sorted(maps.Keys(mayPanic)) {
		if !found[function] {
			violations = append(violations, fmt.Sprintf("%s is missing or does not panic", function))
		}
	}
	return violations
}

// without returns a tree for which the policy is current but for one file:
// a.go, of which each package has one, the file that imports the module of a
// number, or that with the panic of a number.
func without(missing string) map[string]string {
	files := map[string]string{}
	for _, a := range arrows {
		files[a.pkg+"/a.go"] = "package a"
		for i, m := range a.modules {
			files[fmt.Sprintf("%s/module%d.go", a.pkg, i)] = fmt.Sprintf("package a\nimport _ %q", m)
		}
	}
	for i, function := range slices.Sorted(maps.Keys(mayPanic)) {
		pkg, name, _ := strings.Cut(function, ".")
		if receiver, method, ok := strings.Cut(name, "."); ok {
			name = "(" + receiver + ") " + method
		}
		files[fmt.Sprintf("%s/panic%d.go", pkg, i)] = "package a\nfunc " + name + "() { panic(0) }"
	}
	for name := range files {
		if name == missing || path.Base(name) == missing {
			delete(files, name)
		}
	}
	return files
}

func packageDocs(s *source) (violations []string) {
	docs := map[string][]goFile{}
	for _, f := range s.files {
		if f.ast.Doc != nil && !f.test() {
			docs[f.pkg()] = append(docs[f.pkg()], f)
		}
	}
	for _, pkg := range s.packages() {
		files := docs[pkg]
		if len(files) != 1 {
			violations = append(violations, fmt.Sprintf("%s has %d package comments", pkg, len(files)))
			continue
		}
		want := "Package " + files[0].ast.Name.Name + " "
		if files[0].binary() {
			want = "Command " + path.Base(pkg) + " "
		}
		if !strings.HasPrefix(files[0].ast.Doc.Text(), want) {
			violations = append(violations, fmt.Sprintf("%s: the package comment does not begin with %q", files[0].path, want))
		}
	}
	return violations
}

func filesAreShort(s *source) (violations []string) {
	for _, f := range s.files {
		if n := strings.Count(f.text, "\n"); n > maxLines && !ast.IsGenerated(f.ast) && !f.generator() {
			violations = append(violations, fmt.Sprintf("%s has %d lines, more than %d", f.path, n, maxLines))
		}
	}
	return violations
}

func packageNames(s *source) (violations []string) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "pkg", "misc", "lib", "core", "base", "shared", "types"}
	names := map[string]string{}
	for _, f := range s.files {
		if !f.test() && !f.generator() {
			names[f.pkg()] = f.ast.Name.Name
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		name, folder := names[pkg], path.Base(pkg)
		bad := slices.ContainsFunc(strings.Split(pkg, "/"), func(part string) bool { return slices.Contains(forbidden, part) })
		switch {
		case bad || strings.ContainsAny(name, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
			violations = append(violations, fmt.Sprintf("%s is not the name of a thing", pkg))
		case name != "main" && pkg != "." && name != folder:
			violations = append(violations, fmt.Sprintf("package %s in the folder %s", name, pkg))
		}
	}
	return violations
}

// The words are put together here so that this file does not hold them.
var leftForLater = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|unimple` + `mented|not imple` + `mented)\b`)

func nothingLeftForLater(s *source) (violations []string) {
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		for i, line := range strings.Split(s.texts[name], "\n") {
			if mark := leftForLater.FindString(line); mark != "" {
				violations = append(violations, fmt.Sprintf("%s:%d: %s", name, i+1, mark))
			}
		}
	}
	return violations
}
