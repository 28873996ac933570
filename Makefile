# make quickstart   installs into .venv, trains on a small film club, shows results in quickstart/
# make test         everything the gate runs: lint, types, import contracts, C++ tests, Python tests
# make sanitize     C++ tests under the address, undefined-behaviour and thread sanitizers
# make bench        installs the peers into .venv-bench and compares with them (see benchmarks/)
# make stubs        regenerates the types of the compiled module after its bindings changed

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml CMakeLists.txt $(shell find cpp -name tests -prune -o -name '*.[ch]pp' -print)
CXX_BUILD := build/cpp

.PHONY: quickstart test bench lint cpp-test python-test sanitize stubs format clean

quickstart: $(VENV)/installed
	$(BIN)/rankfill quickstart --output quickstart

test: lint cpp-test python-test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: $(VENV)/bin/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# The tools alone: installing '.[test]' would build the kernels a second time.
$(VENV)/test-tools: $(VENV)/installed
	@mkdir -p build
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["test"], sep="\n")' > build/test-tools.txt
	$(BIN)/python -m pip install --quiet --requirement build/test-tools.txt
	@touch $@

lint: $(VENV)/test-tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(find cpp -name '*.cpp' -o -name '*.hpp')
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m nanobind.stubgen -q -m rankfill.kernels._native -o build/_native.pyi
	diff build/_native.pyi src/rankfill/kernels/_native.pyi || (echo 'The bindings changed: run make stubs'; exit 1)

cpp-test: $(VENV)/test-tools
	$(BIN)/cmake -S . -B $(CXX_BUILD) -DCMAKE_BUILD_TYPE=Release > $(CXX_BUILD).log || (cat $(CXX_BUILD).log; exit 1)
	$(BIN)/cmake --build $(CXX_BUILD) --parallel 2
	$(BIN)/ctest --test-dir $(CXX_BUILD) --output-on-failure

python-test: $(VENV)/test-tools
	$(BIN)/python -m pytest -n 2

sanitize: $(VENV)/test-tools
	for kind in address,undefined thread; do \
	  $(BIN)/cmake -S . -B build/sanitize-$$kind -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRANKFILL_SANITIZE=$$kind && \
	  $(BIN)/cmake --build build/sanitize-$$kind --parallel 2 && \
	  $(BIN)/ctest --test-dir build/sanitize-$$kind --output-on-failure || exit 1; \
	done

bench:
	benchmarks/install_rivals.sh .venv-bench
	.venv-bench/bin/python -m benchmarks.kernels
	.venv-bench/bin/python -m benchmarks.compare like-ml-10m --scale-down 10
	@echo 'With MovieLens at hand: RANKFILL_DATA=… .venv-bench/bin/python -m benchmarks.compare ml-1m'

stubs: $(VENV)/test-tools
	$(BIN)/python -m nanobind.stubgen -q -m rankfill.kernels._native -o src/rankfill/kernels/_native.pyi

format: $(VENV)/test-tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find cpp -name '*.cpp' -o -name '*.hpp')

clean:
	rm -rf $(VENV) build quickstart
