// Command _asm writes the assembly of package kernel, and that of package keyhash,
// with their declarations. Run it with go generate in their folders.
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

func main() {
	of := flag.String("of", "", "package to write: kernel or keyhash")
	flag.Parse()
	ConstraintExpr("amd64,!noasm")
	switch *of {
	case "kernel":
		for _, op := range []operation{has, add} {
			for _, set := range []instructions{avx2{}, avx512{}} {
				batchHashes(set, op)
				batchKeys(set, op)
			}
			singleOf(op).emit()
		}
		guarded().emit()
		release()
		prefetchAt("prefetchSlots", 0, "prefetchSlots asks for n lines, which must be at least one.")
		prefetchAt("prefetchNext", 1<<lineShift, "prefetchNext asks for the lines behind n lines, which must be at least one.")
		search(&avx2{})
		search(avx512{})
	case "keyhash":
		sumMany()
	default:
		log.Fatalf("-of %q: there is kernel and keyhash", *of)
	}
	Generate()
}

// argument returns the place of an argument.
func argument(name string) operand.Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return b.Addr
}

// result returns the place of the only result.
func result() operand.Mem {
	b, err := ReturnIndex(0).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return b.Addr
}

// constant returns a read-only word.
func constant(name string, value uint64) operand.Mem {
	return data(name, func() { DATA(0, operand.U64(value)) })
}

var emitted = map[string]operand.Mem{}

// data returns read-only data, which put writes at the first use.
func data(name string, put func()) operand.Mem {
	m, ok := emitted[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		put()
		emitted[name] = m
	}
	return m
}
