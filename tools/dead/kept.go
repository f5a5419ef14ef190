package main

// forTests are the packages that only tests and benchmarks import, as in arch_test.go.
var forTests = []string{
	"seen/internal/corpus", "seen/internal/crashtest", "seen/internal/filtertest", "seen/internal/redistest", "seen/internal/vfs/memfs",
}

// kept lists declarations that only tests use but that stay, with the reason. A helper
// for the tests of one package belongs in a _test.go file of that package, not in this
// list.
var kept = map[string]string{
	"seen/internal/kernel.fetchRef":    "the program uses it where there is no assembly (kernel_noasm.go)",
	"seen/internal/pages.Live":         "the tests of bloom prove with it that arrays are unmapped; only pages has the count",
	"seen/internal/resp.AppendCommand": "the clients of redistest, crashtest and bench share it with the tests of the parser",
}
