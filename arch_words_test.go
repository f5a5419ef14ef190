package seen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file holds the rules about the maps of the packages and the texts of errors; see arch_rules_test.go for the list.

// packageMaps are the documents that list every package.
var packageMaps = []string{"doc.go", "docs/DESIGN.md"}

// inMap finds the packages that a document names: an inner package anywhere, and
// another at the beginning of an indented line or in backquotes.
var inMap = regexp.MustCompile("(?m)(?:^//\t|`|\\b)(internal/[a-z0-9/]+)|(?:^//\t|`)([a-z]+(?:/[a-z]+)?)(?:\\s|`)")

func packagesAreMapped(s *source) (violations []string) {
	for _, doc := range packageMaps {
		text, ok := s.texts[doc]
		if !ok {
			violations = append(violations, doc+" is missing")
			continue
		}
		named := map[string]bool{}
		for _, m := range inMap.FindAllStringSubmatch(text, -1) {
			named[strings.TrimSuffix(m[1]+m[2], "/")] = true
		}
		all := s.packages()
		for _, pkg := range all {
			outside := goFile{path: pkg + "/"}.outside()
			if pkg != "." && !outside && !named[pkg] {
				violations = append(violations, fmt.Sprintf("%s does not list package %s", doc, pkg))
			}
		}
		for pkg := range named {
			if strings.HasPrefix(pkg, "internal/") && !slices.Contains(all, pkg) && !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, pkg+"/") }) {
				violations = append(violations, fmt.Sprintf("%s lists package %s, which does not exist", doc, pkg))
			}
		}
	}
	return violations
}

// errorsNameNoPackages looks at the texts with which errors are made.
func errorsNameNoPackages(s *source) (violations []string) {
	for _, f := range s.files {
		if f.test() || f.outside() || f.generator() || slices.Contains(testOnly, f.pkg()) {
			continue
		}
		prefix := f.ast.Name.Name + ": "
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "Errorf" && called.Sel.Name != "New" {
				return true
			}
			if text, ok := literal(call.Args[0]); ok && strings.HasPrefix(text, prefix) {
				violations = append(violations, fmt.Sprintf("%s: %q", s.at(f, call.Pos()), text))
			}
			return true
		})
	}
	return violations
}

// literal returns the text of a string that is written out.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
