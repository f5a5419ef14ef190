# Every task of the project; CONTRIBUTING.md explains them. Needs Go and make;
# what else a task needs it installs by itself (scripts/deps).

GO ?= go
FUZZTIME ?= 2s
CLIFLAGS ?=
FILTERFLAGS ?=
SERVERFLAGS ?=

# Where make install puts the command, its manual and its completions. DESTDIR is put
# before it in a package.
PREFIX ?= /usr/local
# What make dist builds for.
DIST ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# What --version prints: the tag, or the commit where there is none.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# What the race detector watches: packages whose callers or innards run in several
# goroutines, without long tests of what does not; and of packages in which little
# does, the tests that do so.
CONCURRENT = ./once ./internal/stream/... ./internal/store ./internal/server/... ./internal/cli/...
ONE_AT_A_TIME = CrashAnywhere|CrashTestCanFail|KilledRuns|DiskFullAnywhere|DamagedDatabase|LongLine|CompareAgainstTruth|Scripts|MemoryLimit|KeepTheirErrorRate|HTTPManyKeys|ManyFilters
FILTERS = ./bloom ./bloomfile ./internal/redisbloom ./interop ./sketch
TESTS_OF_FILTERS = Concurrent|Shared|Snapshot|Readers|CuckooMoves|Outlives|Release|Many|Pipe|Truncation|Mapped
TESTS_OF_CLUSTER = Concurrent|ExactlyOneNew|Linearizable|Late|NetworkFaults|Reshard|Deadline|CallersAgain

# Modules of their own beside the product, which it does not inherit from.
BESIDE = $(patsubst %/go.mod,%,$(wildcard bench/go.mod integration/*/go.mod examples/*/go.mod))

# Type-checked, not run: other word sizes, byte orders and systems.
PLATFORMS = linux/arm64 linux/386 linux/s390x darwin/arm64 windows/amd64

# As the product is built, so it is tested; two ways would be compiled twice.
export CGO_ENABLED = 0
export GOFLAGS := $(GOFLAGS) -trimpath

# Where scripts/deps unpacks what it may not install.
export PATH := $(PATH):$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/seen/programs/bin

RACE = GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -race -timeout 20m
STATICCHECK = $(GO) tool -modfile=tools/go.mod staticcheck

.PHONY: build install dist demo deps quick test race fuzz soak bench compare pictures gen check portable emulated cover clean

build:
	$(GO) build -ldflags '-X seen/internal/cli.stamp=$(VERSION)' -o bin/seen ./cmd/seen

# Run make build as yourself and only this as root, which may have no Go.
install: $(if $(wildcard bin/seen),,build)
	scripts/install-files bin/seen '$(DESTDIR)$(PREFIX)'

# Makes archives, Debian packages, bills of materials and checksums in dist.
dist:
	GO='$(GO)' scripts/dist '$(VERSION)' $(DIST)

# De-duplicates the two sample inputs; examples/README.md says what they are.
demo: build
	bin/seen uniq --stats -o bin/debian-files.txt examples/debian-files.txt.gz
	bin/seen uniq --stats -o bin/crawl.txt examples/crawl.txt.gz
	@echo; echo 'Each line once, in input order; the first of bin/crawl.txt:'
	@head -n 3 bin/crawl.txt

deps:
	@scripts/deps test

# The tests to run while working: all but browsers, engines, crash rounds, statistics
# and the modules beside the product.
quick:
	@test -z "$$(gofmt -l .)" || { echo 'not formatted (gofmt -w):'; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) test -short ./...

test: deps
	@set -e; for module in $(BESIDE); do \
		echo "tests in $$module"; \
		(cd $$module && $(GO) vet ./... && $(GO) test ./...); \
	done
	$(GO) test -tags noasm ./internal/kernel
	$(GO) test ./...

# The race detector has every process wait for a second before it ends; the tests
# of the command start hundreds.
race: deps
	$(RACE) -skip '$(ONE_AT_A_TIME)' $(CONCURRENT)
	$(RACE) -run '$(TESTS_OF_FILTERS)' $(FILTERS)
	$(RACE) -run '$(TESTS_OF_CLUSTER)' ./cluster

fuzz:
	scripts/fuzz $(FUZZTIME)

# The tests that take minutes to hours, in files with the build tag soak.
soak: deps
	cd integration/powerloss && $(GO) test -v -tags soak -run Soak -timeout 1h .
	$(GO) test -tags soak -run Soak -timeout 6h ./...

# Prints the comparisons with other programs, with other Go modules and with Redis.
# CLIFLAGS, FILTERFLAGS and SERVERFLAGS choose: CLIFLAGS=-help tells.
bench:
	@scripts/deps bench
	$(GO) run -C bench ./cli $(CLIFLAGS)
	$(GO) run -C bench ./filters $(FILTERFLAGS)
	$(GO) run -C bench ./server $(SERVERFLAGS)
	$(GO) run -C bench ./cluster $(CLUSTERFLAGS)

# One table of the comparison, which the README quotes.
compare:
	@$(GO) run -C bench ./cli -works uniq/urls -scale 0.25 -programs awk -runs 3

# Makes the pictures of pages in docs/web anew.
pictures: deps
	$(GO) test ./internal/server -run Browser -screenshots $(CURDIR)/docs/web

gen:
	$(GO) generate ./...

check:
	@test -z "$$(gofmt -l .)" || { echo 'not formatted (gofmt -w):'; gofmt -l .; exit 1; }
	@set -e; for module in $$(find . -name go.mod); do \
		echo "go mod tidy -diff in $$(dirname $$module)"; \
		(cd "$$(dirname $$module)" && $(GO) mod tidy -diff); \
	done
	$(GO) test -run 'Tree|Rules' .
	$(GO) vet -tags soak ./...
	$(STATICCHECK) -tags soak ./...
	$(GO) run -C tools ./dropped .. ./...
	$(GO) run -C tools ./dead .. ./...
	$(GO) -C tools test ./...
	@set -e; for module in $(BESIDE); do \
		echo "vet and staticcheck in $$module"; \
		(cd $$module && $(GO) vet ./... && $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...); \
	done
	$(MAKE) --no-print-directory portable build
	@bin/seen --version | grep -qF '$(VERSION)' || { echo 'bin/seen does not know its version'; exit 1; }

portable:
	$(GO) run -C tools ./portable .. $(PLATFORMS)
	$(GO) vet -tags noasm $$($(GO) list -f '{{if .SFiles}}{{.ImportPath}}{{end}}' ./...)

# The reference code where it is the only one, on a processor without assembly of
# ours and on one with the other byte order: kernels and hashes, and that files
# written here are read there.
emulated:
	@scripts/deps emulated
	@set -e; for arch in arm64:aarch64 s390x:s390x; do \
		echo "tests on $${arch%:*}"; \
		GOARCH=$${arch%:*} $(GO) test -exec qemu-$${arch#*:}-static ./internal/kernel ./internal/keyhash; \
		GOARCH=$${arch%:*} $(GO) test -exec qemu-$${arch#*:}-static -run 'Conform|Golden|Codec|Model|Union' ./bloom ./bloomfile ./sketch; \
	done

cover:
	$(GO) test -coverprofile=bin/cover.out -coverpkg=./... ./...
	$(GO) tool cover -func=bin/cover.out

clean:
	rm -rf bin dist
