# Everything a fresh machine needs: Python 3.11 or newer, make, and a package index that pip knows.
#
#   make demo    set up, and let the embedded model judge the starter cases
#   make test    set up, check style and types, run the tests (a quarter of an hour on two cores)
#   make test-slow  the long ones: refits, simulations, rehearsals, matrices of faults
#   make check   style and types only
#   make rehearse  a study of 6,300 votes by simulated people, through storms, on both databases
#   make hf      add PyTorch and transformers, for models named casewise-hf/... (docs/local-models.md)
#   make bench   measure speed beside what is possible (half an hour; docs/speed.md)
#   make scale   measure growth to 1e5 judgements run and 1e6 scored (an hour; writes docs/scale.md)
#   make reliability  every fault of a provider, and kills; writes docs/reliability.md (four minutes)
#   make coverage  how often each interval holds the truth; writes its table into docs/statistics.md
#   make figures draw the figures of docs/acting.md again
#   make images  photograph the report, the page of revisions and a study for docs/images (needs Debian's Chromium)
#   make lock    renew requirements.lock from pyproject.toml

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
HF := $(VENV)/.hf

.PHONY: demo test test-slow check hf bench scale reliability coverage rehearse figures images lock clean

demo: $(READY)
	$(BIN)/casewise run

# By files: those that share a browser, a model or a run of their own stay on one worker. In the order
# of the folders, the last of which are quick, so that all workers end at about the same time. Commands
# run in the tests' process, or are forked from one that has imported all (tests/support/starts.py).
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

# More workers than cores: a third of the time a test waits, for a server, a browser or a clock.
test: check
	$(PYTEST) -n 3 -m "not slow"

test-slow: $(READY)
	$(PYTEST) -n 2 -m slow

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# With SPEED=2 its simulated people are twice as quick, and the load is double.
SPEED ?= 1
rehearse: $(READY)
	$(BIN)/python benchmarks/rehearse.py --speed $(SPEED)

# Ratios within one run; no test depends on them. Tables are printed, measurements in benchmarks/*.json.
bench: $(READY) $(HF)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/remote.py
	$(BIN)/python benchmarks/local.py
	$(BIN)/python benchmarks/score_rows.py --rows 10000 100000
	$(BIN)/python benchmarks/scale.py --runs 1000 4000 --alone 1000 4000 --most 40000 --no-docs

scale: $(READY)
	$(BIN)/python benchmarks/scale.py

hf: $(HF)

# PyTorch has builds for processors and for several GPUs, so it is no part of the lock. An exact version
# takes the build that the package index offers first; of a range, pip would compare them all. What is
# locked stays as it is.
$(HF): $(READY)
	sed -e '/--hash=/d' -e 's/ *\\$$//' requirements.lock > $(VENV)/locked.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint $(VENV)/locked.txt \
		"torch==2.13.0" "transformers==5.23.0" "accelerate==1.15.0" "gguf==0.19.0"
	@touch $(HF)

# A server fails as providers do; ends with 1 if anything is lost, doubled or invented.
reliability: $(READY)
	$(BIN)/python benchmarks/reliability.py --write

coverage: $(READY)
	$(BIN)/python benchmarks/coverage.py --jobs 2 --write

figures: $(READY)
	$(BIN)/python docs/make_figures.py

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "casewise needs Python 3.11 or newer (set PYTHON=...)" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@# Older pips take a package that is locked for one that is not, where it is also asked for with extras.
	$(BIN)/python -m pip install --disable-pip-version-check --quiet "pip>=25.3"
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@touch $(READY)

images: $(READY)
	$(BIN)/python docs/make_screenshots.py

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra local --extra annotate --extra cluster --extra mask --extra dev --universal --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --upgrade --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
