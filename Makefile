# Everything a clone needs: Python 3.10 or newer, make and a package registry.  `make help` lists the targets.
#
#   PYTHON   the interpreter that .venv is made from            (default: python3)
#   JOBS     worker processes of the test run                   (default: 2)
#   PIP_ARGS passed on to every `pip install`               (default: none; PyTorch's packages for Linux bring gigabytes
#            of CUDA: without a GPU, PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu")
#   ARGS     passed on by test, test-long, test-integrations, demo, bench and release-check (default: none)

PYTHON ?= python3
JOBS ?= 2
PIP_ARGS ?=
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
# Every installation goes through the constraints.
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -qq --constraint constraints.txt $(PIP_ARGS)

# What is installed, each with a stamp: `make demo` learns and plays; the rest needs everything.
EXTRAS := dev,data,mcp,minari,notebooks,onnx,peers,plot,render,train,web
SHOW := plot,train
DEMO := $(VENV)/.demo-installed
FULL := $(VENV)/.full-installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check test-long test-integrations bench docs site lint format dist release-check clean screenshots notebooks

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(FULL)  ## create .venv with the package (editable) and everything that tests and training need
	@echo "Compiling in the background; it may be interrupted (ddz warmup goes on) ..."
	@$(BIN)/ddz warmup > /dev/null 2>&1 &

demo: $(DEMO)  ## three minutes: a game, PPO from nothing, both kinds of search, a comparison, a report
	$(BIN)/ddz demo $(ARGS)

test: $(FULL) check  ## lint, check the types and run the default tests

check: $(FULL) lint
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

test-long: $(FULL)  ## run the long suite (more positions and games; tens of minutes)
	$(BIN)/python -m pytest -n $(JOBS) -m long $(ARGS)

test-integrations: $(FULL)  ## train with other libraries, each in its own environment under .integrations (an hour, gigabytes)
	$(BIN)/python -m tests.integrations $(ARGS)

bench: $(FULL)  ## measure the speeds, beside the peers
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(FULL)  ## make the pictures of the browser's page in docs/images (needs a Chromium)
	@$(PIP_INSTALL) --editable ".[browser]"
	$(BIN)/python -m tests.play.web.screenshots

notebooks: $(FULL)  ## run the notebooks and keep what they print
	DDZ_QUIET=1 $(BIN)/jupyter execute --inplace notebooks/*.ipynb

docs: $(FULL)  ## write the generated tables of docs/ anew
	$(BIN)/python docs/generate.py

site: $(FULL)  ## build the documentation and a demo into site/, ready for a static host; a warning or a broken link fails
	@$(PIP_INSTALL) --editable ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	$(BIN)/python docs/demo/record.py site/demo

lint: $(FULL)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(FULL)  ## let ruff repair and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: $(FULL)  ## build the wheel and the source distribution into dist/
	$(BIN)/python -m build --no-isolation --outdir dist .

release-check: $(FULL)  ## both archives in clean environments: every Python at hand, every extra (half an hour)
	$(BIN)/python -m tests.release $(ARGS)

clean:  ## remove .venv and everything that was built
	rm -rf $(VENV) build dist site .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find ddz_env agents training play papers benchmarks tests notebooks -name __pycache__ -type d -prune -exec rm -rf {} +

# pip is the last thing that venv creates: where it is missing, the environment is, too, or was cut short.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing ddz-env[$(SHOW)] into $(VENV) (a minute or two the first time) ..."
	@$(PIP_INSTALL) --editable ".[$(SHOW)]"
	@touch $@

$(FULL): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing ddz-env[$(EXTRAS)] into $(VENV) (a few minutes the first time) ..."
	@$(PIP_INSTALL) --editable ".[$(EXTRAS)]"
	@touch $(DEMO) $@
