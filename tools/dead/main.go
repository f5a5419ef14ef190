// Command dead finds declarations of a module that only its tests use: functions and
// methods that no program and no caller of a public package can reach, and types,
// constants and variables that no other code names. Run it as dead FOLDER PATTERN... .
// Packages under an internal folder are private. The exported names of all other packages
// count as used, and so do functions that assembly calls.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: dead FOLDER PATTERN...")
		os.Exit(2)
	}
	found, err := dead(forTests, kept, os.Args[1], os.Args[2:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dead:", err)
		os.Exit(2)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		fmt.Println("Delete each with its tests, move it to a _test.go file, or list it with a reason in tools/dead/kept.go.")
		os.Exit(1)
	}
}

// dead returns the declarations in the packages of folder that only tests use, sorted by
// position. The packages forTests count as tests; kept has the names that stay, with
// reasons.
func dead(forTests []string, kept map[string]string, folder string, patterns ...string) ([]string, error) {
	all, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: folder}, patterns...)
	if err != nil {
		return nil, err
	}
	var ours []*packages.Package
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		if !slices.Contains(forTests, p.PkgPath) {
			ours = append(ours, p)
		}
	}
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	unused, err := functions(ours)
	if err != nil {
		return nil, err
	}
	var found []string
	stays := maps.Clone(kept)
	for _, o := range append(unused, others(ours)...) {
		name := fullName(o)
		if kept[name] != "" {
			delete(stays, name)
			continue
		}
		at := all[0].Fset.Position(o.Pos())
		if relative, err := filepath.Rel(root, at.Filename); err == nil {
			at.Filename = relative
		}
		found = append(found, fmt.Sprintf("%s: nothing but tests uses %s", at, name))
	}
	for name := range stays {
		found = append(found, "tools/dead/kept.go lists "+name+", which does not exist or has other uses")
	}
	slices.Sort(found)
	return found, nil
}

// functions returns the functions and methods that nothing reaches from main, from
// initialization, from the exported names of public packages or from assembly.
func functions(ours []*packages.Package) (unused []types.Object, err error) {
	program, built := ssautil.AllPackages(ours, ssa.InstantiateGenerics)
	program.Build()
	var roots []*ssa.Function
	add := func(o types.Object) {
		f, ok := o.(*types.Func)
		if !ok {
			return
		}
		// A generic function is reached through its instances.
		if s := program.FuncValue(f.Origin()); s != nil && s.TypeParams().Len() == 0 {
			roots = append(roots, s)
		}
	}
	for i, p := range ours {
		roots = append(roots, built[i].Func("init"))
		if p.Name == "main" {
			roots = append(roots, built[i].Func("main"))
		}
		if public(p) {
			exported(p.Types.Scope(), add)
		}
		if err := calledByAssembly(p, add); err != nil {
			return nil, err
		}
	}
	reached := map[token.Pos]bool{}
	for f := range rta.Analyze(roots, false).Reachable {
		reached[f.Pos()] = true
	}
	for _, p := range ours {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				d, ok := d.(*ast.FuncDecl)
				if !ok || d.Body == nil || marks(d) || d.Name.Name == "init" || d.Name.Name == "_" {
					continue
				}
				if !reached[d.Name.Pos()] && !(public(p) && generic(d)) {
					unused = append(unused, p.TypesInfo.Defs[d.Name])
				}
			}
		}
	}
	return unused, nil
}

// exported calls add with the exported functions, and the exported methods of exported
// types.
func exported(scope *types.Scope, add func(types.Object)) {
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		add(o)
		if t, ok := o.(*types.TypeName); ok && !types.IsInterface(t.Type()) {
			for m := range types.NewMethodSet(types.NewPointer(t.Type())).Methods() {
				if m.Obj().Exported() {
					add(m.Obj())
				}
			}
		}
	}
}

// marks reports whether a method has no code: its existence marks its type.
func marks(d *ast.FuncDecl) bool { return d.Recv != nil && len(d.Body.List) == 0 }

func generic(d *ast.FuncDecl) bool { return d.Type.TypeParams != nil && d.Name.IsExported() }

// others returns the types, constants and variables that only their declaration names.
// It skips constants of a named type: they are values of an enumeration, which is kept
// complete.
func others(ours []*packages.Package) (unused []types.Object) {
	used := map[types.Object]bool{}
	for _, p := range ours {
		for _, o := range p.TypesInfo.Uses {
			used[o] = true
		}
	}
	for _, p := range ours {
		for _, name := range p.Types.Scope().Names() {
			o := p.Types.Scope().Lookup(name)
			switch o := o.(type) {
			case *types.Func:
				continue
			case *types.Const:
				if _, named := o.Type().(*types.Named); named {
					continue
				}
			}
			if !used[o] && !(public(p) && o.Exported()) {
				unused = append(unused, o)
			}
		}
	}
	return unused
}

func public(p *packages.Package) bool {
	return p.Name != "main" && !strings.Contains("/"+p.PkgPath+"/", "/internal/")
}

var assemblyCall = regexp.MustCompile(`(?:CALL|JMP)\s+·(\w+)\(SB\)`)

// calledByAssembly calls add with the functions that the assembly of a package calls.
func calledByAssembly(p *packages.Package, add func(types.Object)) error {
	for _, file := range p.OtherFiles {
		if filepath.Ext(file) != ".s" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range assemblyCall.FindAllSubmatch(text, -1) {
			if o := p.Types.Scope().Lookup(string(m[1])); o != nil {
				add(o)
			}
		}
	}
	return nil
}

// fullName returns package.Name, or package.Type.Method for a method.
func fullName(o types.Object) string {
	name := o.Name()
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		t := f.Signature().Recv().Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	return o.Pkg().Path() + "." + name
}
