module seen/integration/powerloss

go 1.26.0

require (
	github.com/hanwen/go-fuse/v2 v2.12.1
	seen v0.0.0
)

require golang.org/x/sys v0.49.0 // indirect

// The packages beside this one, until a version of them is published.
replace seen => ../..
