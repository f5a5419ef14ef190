// Command dropped finds errors that a module drops: dropped FOLDER PATTERN... . Like
// errcheck, it finds them in _ = and in calls whose results are not used. It also finds
// errors that are compared with nil and then lost. A comment at the end of the line, or in
// the line above, counts as the reason to drop an error. Tests are not checked.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/packages"
)

// harmless are calls whose errors need no reason: writes to a buffer, whose Flush
// returns the first error of the writes before it.
var harmless = []string{
	"(*bufio.Writer).Write", "(*bufio.Writer).WriteByte", "(*bufio.Writer).WriteRune", "(*bufio.Writer).WriteString",
	"fmt.Fprint(*bufio.Writer)", "fmt.Fprintf(*bufio.Writer)", "fmt.Fprintln(*bufio.Writer)",
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: dropped FOLDER PATTERN...")
		os.Exit(2)
	}
	found, err := dropped(os.Args[1], os.Args[2:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dropped:", err)
		os.Exit(2)
	}
	for _, at := range found {
		fmt.Printf("%s: an error is dropped: return it, or say in a comment on the line why it does not matter\n", at)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// dropped returns where the packages in folder drop errors without a reason.
func dropped(folder string, patterns ...string) ([]string, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir:  folder,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	checker := errcheck.Checker{Exclusions: errcheck.Exclusions{
		Symbols: slices.Concat(errcheck.DefaultExcludedSymbols, harmless), TypeAssertions: true,
	}}
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		reasons := commented(p)
		var all []token.Position
		for _, e := range checker.CheckPackage(p).UncheckedErrors {
			// An error of writing to standard error cannot be reported anywhere else.
			if !strings.Contains(e.Line, "tderr,") || !strings.Contains(e.Line, "fmt.Fprint") {
				all = append(all, e.Pos)
			}
		}
		for _, at := range append(all, compared(p)...) {
			if !reasons[line{at.Filename, at.Line}] && !reasons[line{at.Filename, at.Line - 1}] {
				if name, err := filepath.Rel(root, at.Filename); err == nil {
					at.Filename = name
				}
				found = append(found, at.String())
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

type line struct {
	file   string
	number int
}

// commented returns the lines of a package with a comment.
func commented(p *packages.Package) map[line]bool {
	lines := map[line]bool{}
	for _, file := range p.Syntax {
		for _, group := range file.Comments {
			for _, c := range group.List {
				from, to := p.Fset.Position(c.Pos()), p.Fset.Position(c.End())
				for number := from.Line; number <= to.Line; number++ {
					lines[line{from.Filename, number}] = true
				}
			}
		}
	}
	return lines
}

// compared returns the calls whose error is compared with nil in the same expression, so
// that it cannot be reported.
func compared(p *packages.Package) (found []token.Position) {
	isError := types.Universe.Lookup("error").Type()
	for _, file := range p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok || b.Op != token.EQL && b.Op != token.NEQ {
				return true
			}
			call, ok := b.X.(*ast.CallExpr)
			if ok && !asks(call) && p.TypesInfo.Types[b.Y].IsNil() && types.Identical(p.TypesInfo.TypeOf(call), isError) {
				found = append(found, p.Fset.Position(b.Pos()))
			}
			return true
		})
	}
	return found
}

// asks reports whether the error of a call is only the answer to a question: a state
// that can be read again, such as that of a context, or the result of a check.
func asks(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return true
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	return strings.HasPrefix(strings.ToLower(name), "check")
}
