package seen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// This file holds the rules that look into the code and its declarations; see
// arch_rules_test.go for the list.

// exportedDocs leaves out the methods of errors, which mean the same everywhere.
func exportedDocs(s *source) (violations []string) {
	for _, f := range s.files {
		if f.test() || f.binary() {
			continue
		}
		complain := func(name *ast.Ident, doc *ast.CommentGroup, named bool) {
			switch {
			case !name.IsExported():
			case doc == nil:
				violations = append(violations, fmt.Sprintf("%s: %s has no doc comment", s.at(f, name.Pos()), name.Name))
			case named && !beginsWith(doc.Text(), name.Name):
				violations = append(violations, fmt.Sprintf("%s: the comment of %s does not begin with its name", s.at(f, name.Pos()), name.Name))
			}
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				receiver := receiverName(d)
				if receiver == "" || ast.IsExported(receiver) && d.Name.Name != "Error" && d.Name.Name != "Unwrap" {
					complain(d.Name, d.Doc, true)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						doc := spec.Doc
						if doc == nil && !d.Lparen.IsValid() {
							doc = d.Doc
						}
						complain(spec.Name, doc, true)
					case *ast.ValueSpec:
						// A comment on the group, or behind the value, serves
						// constants and variables.
						doc := spec.Doc
						if doc == nil {
							doc = spec.Comment
						}
						if doc == nil {
							doc = d.Doc
						}
						for _, name := range spec.Names {
							complain(name, doc, false)
						}
					}
				}
			}
		}
	}
	return violations
}

// beginsWith reports whether a doc comment begins with the name, after an
// article if there is one.
func beginsWith(doc, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		doc = strings.TrimPrefix(doc, article)
	}
	rest, ok := strings.CutPrefix(doc, name)
	return ok && !regexp.MustCompile(`^\w`).MatchString(rest)
}

// receiverName returns the name of the type whose method d is, "" for a
// function.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// loud are the names of the standard library that a library has no use for.
var loud = map[string]*regexp.Regexp{
	"fmt": regexp.MustCompile(`^Print`),
	"os":  regexp.MustCompile(`^(Exit|Stdout|Stderr)$`),
}

func librariesAreQuiet(s *source) (violations []string) {
	for _, f := range s.files {
		if !f.library() || f.generator() {
			continue
		}
		named := map[string]string{} // name in this file -> import path
		for _, i := range f.ast.Imports {
			p := strings.Trim(i.Path.Value, `"`)
			if p == "log" || p == "log/slog" {
				violations = append(violations, fmt.Sprintf("%s: imports %s", s.at(f, i.Pos()), p))
			}
			if loud[p] == nil {
				continue
			}
			named[p] = p
			if i.Name != nil {
				delete(named, p)
				named[i.Name.Name] = p
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && named[x.Name] != "" && loud[named[x.Name]].MatchString(n.Sel.Name) {
					violations = append(violations, fmt.Sprintf("%s: uses %s.%s", s.at(f, n.Pos()), named[x.Name], n.Sel.Name))
				}
			case *ast.CallExpr:
				if x, ok := n.Fun.(*ast.Ident); ok && (x.Name == "println" || x.Name == "print") {
					violations = append(violations, fmt.Sprintf("%s: uses %s", s.at(f, n.Pos()), x.Name))
				}
			}
			return true
		})
	}
	return violations
}

// flagLibraries read the command line.
var flagLibraries = []string{"flag", "github.com/spf13/cobra", "github.com/spf13/pflag"}

// librariesKnowNoFlags holds for the packages below the command too.
func librariesKnowNoFlags(s *source) (violations []string) {
	for _, f := range s.files {
		if f.test() || f.generator() || f.outside() || f.binary() || f.pkg() == "internal/cli" {
			continue
		}
		for _, path := range f.imports() {
			if slices.Contains(flagLibraries, path) {
				violations = append(violations, fmt.Sprintf("%s imports %s", f.path, path))
			}
		}
	}
	return violations
}

// panics calls report for every call of panic in a library, with the name of
// the declared function around it.
func panics(s *source, report func(f goFile, pos token.Pos, function string)) {
	for _, f := range s.files {
		if !f.library() || f.generator() {
			continue
		}
		for _, d := range f.ast.Decls {
			function := f.pkg() + "."
			if d, ok := d.(*ast.FuncDecl); ok {
				if receiver := receiverName(d); receiver != "" {
					function += receiver + "."
				}
				function += d.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if x, ok := call.Fun.(*ast.Ident); ok && x.Name == "panic" {
						report(f, call.Pos(), function)
					}
				}
				return true
			})
		}
	}
}

func librariesPanicOnBugs(s *source) (violations []string) {
	panics(s, func(f goFile, pos token.Pos, function string) {
		if mayPanic[function] == "" {
			violations = append(violations, fmt.Sprintf("%s: %s panics", s.at(f, pos), function))
		}
	})
	return violations
}

// justification is a line of the list of dependencies.
var justification = regexp.MustCompile("(?m)^- `([^`]+)`")

func dependenciesAreJustified(s *source) (violations []string) {
	_, section, _ := strings.Cut("\n"+s.texts["docs/DESIGN.md"], "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	justified := map[string]bool{}
	for _, m := range justification.FindAllStringSubmatch(section, -1) {
		justified[m[1]] = true
	}
	var required []string
	for line := range strings.Lines(s.texts["go.mod"]) {
		for _, word := range strings.Fields(line) {
			if thirdParty(word) && !strings.HasPrefix(word, "//") {
				required = append(required, word)
				break
			}
		}
	}
	used := map[string]bool{}
	for _, f := range s.files {
		if f.generator() || f.outside() {
			continue
		}
		for _, p := range f.imports() {
			if !thirdParty(p) {
				continue
			}
			if m := moduleOf(p, required); m != "" {
				used[m] = true
			} else {
				violations = append(violations, fmt.Sprintf("%s: go.mod requires no module with %s", f.path, p))
			}
		}
	}
	for _, m := range slices.Sorted(maps.Keys(used)) {
		if !justified[m] {
			violations = append(violations, fmt.Sprintf("docs/DESIGN.md, Dependencies: no line begins with \"- `%s`\"", m))
		}
	}
	for _, m := range slices.Sorted(maps.Keys(justified)) {
		if !used[m] {
			violations = append(violations, fmt.Sprintf("docs/DESIGN.md, Dependencies: %s is listed and nothing imports it", m))
		}
	}
	return violations
}

// notDirective matches a comment that was meant for a tool.
var notDirective = regexp.MustCompile(`^// +(go:[a-z]|\+build\b|nolint\b|lint:ignore\b)`)

func directivesAreDirectives(s *source) (violations []string) {
	for _, f := range s.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if notDirective.MatchString(c.Text) {
					violations = append(violations, fmt.Sprintf("%s: %s", s.at(f, c.Pos()), c.Text))
				}
			}
		}
	}
	return violations
}

// otherWords are words of other projects for what has a name here, as parts of
// an identifier.
var otherWords = regexp.MustCompile(`(^|[a-z0-9_])(F[Pp][PpRr]|Salt)([A-Z0-9_]|$)|^(fp[pr]|salt)([A-Z0-9_]|$)`)

func oneWord(s *source) (violations []string) {
	for _, f := range s.files {
		if f.generator() || f.outside() {
			continue // peers have their own words
		}
		reported := map[string]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if x, ok := n.(*ast.Ident); ok && x.Pos() != token.NoPos && otherWords.MatchString(x.Name) && !reported[x.Name] {
				reported[x.Name] = true
				violations = append(violations, fmt.Sprintf("%s: %s", s.at(f, x.Pos()), x.Name))
			}
			return true
		})
	}
	return violations
}
