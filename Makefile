# Everything here needs only Python 3.11+, make and a package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help install demo test check unit e2e e2e-all image bench docs format lock clean
help:  ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## make .venv with the grove command in it

# The locks pin name, version and hash: requirements.lock what the operator needs at run time, requirements-dev.lock
# what the embedded cluster, the testbed and developers need beside it. The three distributions of this repository are
# installed in place, without fetching anything.
$(STAMP): requirements.lock requirements-dev.lock pyproject.toml sandbox/pyproject.toml testbed/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Grove needs Python 3.11 or newer; say which: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e . -e sandbox -e testbed
	@touch $@

demo: $(STAMP)  ## watch a gang live its whole life: make demo [SCHEDULER=default|kai|koordinator|volcano|yunikorn]
	$(BIN)/grove demo --scheduler $(or $(SCHEDULER),default) $(ARGS)

test: check unit  ## lint, types, layers, and every test that needs no real cluster

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(STAMP)
	$(BIN)/pytest -q -n auto -m "not real" $(ARGS)

# Real control planes and schedulers, built once into the user's cache folder. K8S picks the Kubernetes release,
# SCHEDULER the one scheduler whose tests run alone. The upgrade to 1.37 begins with 1.36.
K8S ?= 1.37
# Real nodes are for all schedulers' runs and for that of the default one; where they cannot run, their tests say so.
NODES := $(if $(filter-out default,$(SCHEDULER)),,node)
e2e: $(STAMP)  ## the same truths on a real Kubernetes: make e2e [K8S=1.35|1.36|1.37] [SCHEDULER=default|kai|...]
	$(BIN)/grove-testbed build --k8s $(K8S) $(if $(SCHEDULER),control-plane $(NODES) $(filter-out default,$(SCHEDULER)))
	$(if $(NODES),$(BIN)/grove-testbed install-node-packages --if-possible)
	$(if $(NODES),if $(BIN)/grove-testbed can-run-nodes; then $(MAKE) --no-print-directory $(IMAGE); fi)
	$(if $(filter 1.37,$(K8S)),$(if $(filter-out default,$(SCHEDULER)),,$(BIN)/grove-testbed build control-plane@1.36))
	$(BIN)/pytest -q -m real --k8s $(K8S) $(addprefix --scheduler=,$(SCHEDULER)) $(SIDE_BY_SIDE) $(if $(RECORD),--record) --timeout 600 $(ARGS)

# A cluster waits more than it works. Tests that share one stay on the same worker.
SIDE_BY_SIDE := -n 3 --dist loadgroup --no-loadscope-reorder

e2e-all: $(STAMP)  ## on every release of Kubernetes that is supported
	for release in 1.35 1.36 1.37; do $(MAKE) e2e K8S=$$release || exit 1; done

bench: $(STAMP)  ## costs, as counts and as ratios measured side by side
	for b in decode pods runtime_costs operator_costs "operator_costs --real" kube_gangs; do $(BIN)/python -m benchmarks.$$b || exit 1; done

# The operator's image, as an OCI archive: make image [BASE=python:3.12-slim@sha256:...]. Without BASE, on Debian packages.
IMAGE := .cache/image/grove-operator.tar
IMAGE_SOURCES := $(wildcard deploy/Dockerfile deploy/build*) requirements.lock pyproject.toml README.md LICENSE $(shell find src -name '*.py' -o -name '*.yaml')
image: $(STAMP)  ## build the operator's image with buildah, and say how large it is
	base=$(or $(BASE),$$($(BIN)/grove-testbed base-image)) && \
	VERSION=$$($(BIN)/python -c 'import grove; print(grove.__version__)') REVISION=$$(git rev-parse HEAD) \
	  deploy/build-image.sh $(IMAGE) "$$base"

$(IMAGE): $(STAMP) $(IMAGE_SOURCES)
	$(MAKE) --no-print-directory image

docs: $(STAMP)  ## write the CRDs, the reference page and the table of schedulers
	$(BIN)/python -m grove.generate .

format: $(STAMP)  ## put the code into house style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --upgrade --no-header --no-emit-index-url --python-version 3.11
lock: $(STAMP)  ## renew both locks from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --group dev -c requirements.lock -o requirements-dev.lock
	echo hatchling | $(COMPILE) -c requirements-dev.lock - -o deploy/build.lock

clean:  ## remove what make made
	rm -rf $(VENV) .cache
