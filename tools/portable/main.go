// Command portable type-checks the packages of a module and all their imports for other
// platforms: portable FOLDER GOOS/GOARCH... . It only reads sources, because to compile all
// imported modules for every platform takes minutes.
package main

import (
	"fmt"
	"go/ast"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: portable FOLDER GOOS/GOARCH...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range os.Args[2:] {
		errs := check(os.Args[1], platform)
		for _, err := range errs {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
		}
		failed = failed || len(errs) > 0
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors that a compiler for platform finds in folder's packages.
func check(folder, platform string) (errs []error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return []error{fmt.Errorf("the platform must have the form GOOS/GOARCH")}
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Dir:  folder,
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor),
	}, "./...")
	if err != nil {
		return []error{err}
	}
	if len(loaded) == 0 {
		return []error{fmt.Errorf("there are no packages in %s", folder)}
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			errs = append(errs, err)
		}
	})
	for _, p := range loaded {
		errs = append(errs, withoutBody(p)...)
	}
	return errs
}

// withoutBody returns the functions of p that have no body, if p has no assembly for this
// platform. Type-checking alone does not find them.
func withoutBody(p *packages.Package) (errs []error) {
	for _, file := range p.OtherFiles {
		if strings.HasSuffix(file, ".s") {
			return nil
		}
	}
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil {
				errs = append(errs, fmt.Errorf("%s: %s has no body", p.Fset.Position(f.Pos()), f.Name.Name))
			}
		}
	}
	return errs
}
