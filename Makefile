# Everything a fresh machine needs: Python 3.11 or newer, make, and a package index that pip knows.
#
#   make demo    set up, and let the embedded model judge eight of the starter cases: up to a minute
#   make test    set up, check style and types, run the tests (SHUFFLE=1: in an order by chance, whose seed is printed)
#   make test-slow  the long ones: browsers, PostgreSQL, Ray, kills, local models, long refits
#   make check   style and types only
#   make rehearse  a study of 6,300 votes by simulated people, through storms, on both databases
#   make hf      add casewise-hf, with PyTorch and transformers, for models named casewise-hf/... (docs/how-to/local-models.md)
#   make docs    build the site of the documents into build/site, and check it (opens from disk)
#   make bench   measure speed and memory (half an hour); writes into benchmarks/results
#   make coverage  how often intervals hold the truth, by formula; writes benchmarks/results
#   make hostile   the same on published runs, resampled (half an hour)
#   make published  make the tables of published outputs on the first pages anew
#   make images  photograph the report and a study for docs/images (needs Debian's Chromium)
#   make release check that version, tag, citation, changes and the wheel agree; the wheel is in dist/
#   make release-check  what is worth running before a release only: a study under storms, each installer
#   make lock    renew requirements.lock from pyproject.toml and study/pyproject.toml

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
HF := $(VENV)/.hf
DOCS := $(VENV)/.docs
LOCKED := $(VENV)/locked.txt

.PHONY: demo test test-slow check style docs hf bench coverage hostile rehearse published images release release-check lock clean

demo: $(READY)
	@echo "The embedded model judges 8 of the 56 starter cases: up to a minute on two cores (all: casewise run)"
	@$(BIN)/casewise run --limit 8
	@echo "So that a shell finds casewise: . $(BIN)/activate"

# By files: those that share a browser, a model or a run of their own stay on one worker. In the order
# of the folders, the last of which are quick, so that all workers end at about the same time. Commands
# run in the tests' process, or are forked from one that has imported all (tests/support/starts.py).
# Compiled files are kept, whatever the environment says: else each worker and each start compiles all.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

# In shuffled order where SHUFFLE is 1, or the seed of an earlier order; in the order of the files else.
SHUFFLE ?=
ifneq ($(SHUFFLE),)
PYTEST += -p randomly
ifneq ($(SHUFFLE),1)
PYTEST += --randomly-seed=$(SHUFFLE)
endif
endif

# More workers than cores: a third of the time a test waits, for a server, a browser or a clock.
# Types are checked beside the tests, and what mypy says stands below theirs.
test: style
	@$(BIN)/mypy > $(VENV)/types.txt 2>&1 & types=$$!; \
	$(PYTEST) -n 3 -m "not slow"; failed=$$?; \
	wait $$types || failed=1; cat $(VENV)/types.txt; exit $$failed

test-slow: $(READY)
	$(PYTEST) -n 2 -m slow

check: style
	$(BIN)/mypy

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

release-check: $(HF)
	$(MAKE) rehearse SPEED=2
	$(BIN)/python .ci/try_install.py

# With SPEED=2 its simulated people are twice as quick, and the load is double.
SPEED ?= 1
rehearse: $(READY)
	$(BIN)/python benchmarks/rehearse.py --speed $(SPEED)

# Ratios within one run; no test depends on them.
bench: $(READY)
	$(BIN)/python benchmarks/speed.py --write

hf: $(HF)

# PyTorch has builds for processors and for several GPUs, so it is no part of the lock. An exact version
# takes the build that the package index offers first; of a range, pip would compare them all. What is
# locked stays as it is.
$(HF): $(LOCKED) hf/pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint $(LOCKED) \
		"torch==2.13.0" "transformers==5.23.0" "accelerate==1.15.0" "gguf==0.19.0"
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e ./hf
	@touch $(HF)

# Strict: a warning ends it. Material's notice of its successor, which can't be installed everywhere yet, is left out.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/check_site.py

$(DOCS): $(LOCKED)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint $(LOCKED) \
		"mkdocs==1.6.1" "mkdocs-material==9.8.1" "mkdocstrings==1.0.8" "mkdocstrings-python==2.0.11"
	@touch $(DOCS)

$(LOCKED): $(READY)
	sed -e '/--hash=/d' -e 's/ *\\$$//' requirements.lock > $(LOCKED)

coverage: $(READY)
	$(BIN)/python benchmarks/hostile.py ../shared/data --full --jobs 2 --write --part drawn

hostile: $(READY)
	$(BIN)/python benchmarks/hostile.py ../shared/data --full --jobs 2 --write --part runs commands analyses

published: $(READY)
	$(BIN)/python docs/make_published.py

$(READY): requirements.lock pyproject.toml study/pyproject.toml
	@test -n "$(PYTHON)" || { echo "casewise needs Python 3.11 or newer (set PYTHON=...)" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@# Older pips take a package that is locked for one that is not, where it is also asked for with extras.
	$(BIN)/python -m pip install --disable-pip-version-check --quiet "pip>=25.3"
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e . -e ./study
	@touch $(READY)

images: $(READY)
	$(BIN)/python docs/make_screenshots.py

release: $(READY)
	rm -rf dist
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --no-build-isolation --wheel-dir dist . ./hf ./study
	$(BIN)/python .ci/check_release.py dist/casewise-*.whl

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml study/pyproject.toml --extra local --extra cluster --extra mask --extra dev --universal --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-package casewise --upgrade --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
