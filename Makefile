# Needs Go, Node.js and make; everything else is fetched by them, pinned.

# How long each fuzz target runs: a duration, or a number of executions.
FUZZTIME ?= 1000000x

STATICCHECK   = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.13.2

# The race detector needs a C compiler on most systems.
RACE := $(if $(shell command -v $$(go env CC) 2>/dev/null),-race)

# The modules beside the root one.
MODULES = interop bench

.DEFAULT_GOAL := help
.PHONY: help run build test vet unit modules fuzz-short lint fuzz churn conformance bench

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

run: build ## start the demo server on loopback and print how to talk to it
	exec bin/mcpv demo --http

build: ## build bin/mcpv
	go build -trimpath -o bin/mcpv ./cmd/mcpv

test: vet unit modules fuzz-short conformance ## everything that has to pass

vet: ## go vet and staticcheck
	go vet ./...
	go run $(STATICCHECK) ./...

unit: ## the tests of the root module, shuffled, with the race detector where it works
	go test $(RACE) -shuffle=on -timeout 15m ./...

modules: ## the tests of the other modules: interop with other SDKs, the benchmarks' own
	set -e; for m in $(MODULES); do echo "== $$m"; (cd $$m && go vet ./... && go test -shuffle=on ./...); done
	cat interop/.cache/matrix.txt

# A few thousand executions find what is broken outright; 10^6 are for `make fuzz`.
fuzz-short:
	@$(call fuzz,2000x)

fuzz: ## run every fuzz target for FUZZTIME (1000000x)
	@$(call fuzz,$(FUZZTIME))

churn: ## connect and disconnect 10 000 times on each transport: nothing may stay behind
	go test ./mcp/mcptest -timeout 30m -run TestChurn -v -cycles 10000

lint: ## golangci-lint, built from source: takes minutes the first time
	go run $(GOLANGCI_LINT) run ./...

conformance: ## run the official conformance suite on server and client
	go run ./conformance/run

bench: ## compare CPU, memory and speed with other SDKs
	cd bench && go run .

# fuzz runs the targets of all packages, one after the other.
define fuzz
set -e; listed=$$(go test -list '^Fuzz' ./...); \
targets=$$(echo "$$listed" | awk '/^Fuzz/ {name[++n] = $$1} /^ok/ {for (i = 1; i <= n; i++) print $$2 ":" name[i]; n = 0}'); \
for target in $$targets; do \
	echo "== $$target $(1)"; \
	go test -run '^$$' -fuzzminimizetime 10x -fuzz "^$${target#*:}\$$" -fuzztime $(1) "$${target%%:*}"; \
done; \
echo "$$(echo "$$targets" | wc -l) fuzz targets, $(1) each, no crash"
endef
