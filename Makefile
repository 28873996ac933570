# make quickstart   installs into .venv, trains on a small film club, shows results in quickstart/
# make serve        the film club as a service with a page: http://127.0.0.1:8000
# make test         everything the gate runs: lint, types, import contracts, C++ tests, Python tests
# make test-deep    property tests with a hundred times the examples, others every time
# make fuzz         a hundred thousand damaged files and odd command lines
# make fuzz-asan  the same, thirty thousand of them, with kernels under the address sanitizer
# make test-kills   kills a service under load, and writers of stores, three hundred times and looks for what is lost
# make sanitize     C++ tests under the address, undefined-behaviour and thread sanitizers
# make docs         the documentation site, with the pictures of its gallery: build/docs/html/index.html
# make release-check  an sdist and a wheel, repaired, installed into a fresh environment without a compiler, and used
# make bench        installs the peers into .venv-bench and compares with them (see benchmarks/)
# make bench-large  ratings on disk at full size: half an hour, 30 GB of disk, 10 GB of memory
# make stubs        regenerates the types of the compiled module after its bindings changed

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml CMakeLists.txt $(shell find cpp -name tests -prune -o -name '*.[ch]pp' -print)
CXX_BUILD := build/cpp
# The packages of an extra, one per line.
tools-of = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"], sep="\n")'

.PHONY: quickstart serve docs docs-quick release-check test test-deep test-kills fuzz fuzz-asan bench bench-large lint cpp-test python-test sanitize stubs format clean

quickstart: $(VENV)/installed
	$(BIN)/rankfill quickstart --output quickstart

serve: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[service]'
	[ -f quickstart/ratings.csv ] || $(BIN)/rankfill quickstart --output quickstart
	$(BIN)/rankfill fit quickstart/ratings.csv --model passive-aggressive -o quickstart/served.rankfill
	$(BIN)/rankfill serve quickstart/served.rankfill --state quickstart/state --ratings quickstart/ratings.csv --titles quickstart/titles.csv

test: lint cpp-test python-test docs-quick

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: $(VENV)/bin/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# The tools alone: installing '.[test]' would build the kernels a second time.
$(VENV)/test-tools: $(VENV)/installed
	@mkdir -p build
	$(call tools-of,test) > build/test-tools.txt
	$(BIN)/python -m pip install --quiet --requirement build/test-tools.txt
	@touch $@

$(VENV)/docs-tools: $(VENV)/installed pyproject.toml
	@mkdir -p build
	$(call tools-of,docs) > build/docs-tools.txt
	$(BIN)/python -m pip install --quiet --requirement build/docs-tools.txt
	@touch $@

docs: $(VENV)/docs-tools
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs/html
	@echo 'open build/docs/html/index.html'

# The gate builds every page, without the pictures: tests/test_examples.py runs the scripts of the gallery.
docs-quick: $(VENV)/docs-tools
	$(BIN)/python -m sphinx -W --keep-going -q -b html -D plot_gallery=0 docs build/docs/quick

release-check: $(VENV)/installed
	@mkdir -p build
	$(call tools-of,release) > build/release-tools.txt
	$(BIN)/python -m pip install --quiet --requirement build/release-tools.txt
	tools/release_check.sh $(BIN)/python

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

# Two processes of one thread each: two of two threads would wait for each other. Tests of threads set their own number.
python-test: $(VENV)/test-tools
	RANKFILL_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-deep: $(VENV)/test-tools
	RANKFILL_EXAMPLES=100 $(BIN)/python -m pytest -n 2 -m hypothesis --ignore tests/fuzz

fuzz: $(VENV)/test-tools
	RANKFILL_EXAMPLES=300 $(BIN)/python -m pytest -n 2 tests/fuzz

# The sanitizer has to be there before Python is, and the C++ library beside it, so that it sees exceptions.
fuzz-asan: $(VENV)/test-tools
	$(BIN)/cmake -S . -B build/asan -DSKBUILD=2 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRANKFILL_SANITIZE=address \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)
	$(BIN)/cmake --build build/asan --parallel 2 --target _native
	RANKFILL_EXAMPLES=$(or $(RANKFILL_EXAMPLES),100) RANKFILL_ASAN=$$(ls build/asan/_native*.so) \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=tools \
	  $(BIN)/python -m pytest -p under_asan tests/fuzz

test-kills: $(VENV)/test-tools
	RANKFILL_KILLS=300 $(BIN)/python -m pytest tests/service/test_recovery.py tests/data/store/test_appending.py -k killed

sanitize: $(VENV)/test-tools
	for kind in address,undefined thread; do \
	  $(BIN)/cmake -S . -B build/sanitize-$$kind -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRANKFILL_SANITIZE=$$kind && \
	  $(BIN)/cmake --build build/sanitize-$$kind --parallel 2 && \
	  $(BIN)/ctest --test-dir build/sanitize-$$kind --output-on-failure || exit 1; \
	done

bench:
	benchmarks/install_rivals.sh .venv-bench
	.venv-bench/bin/python -m benchmarks kernels
	.venv-bench/bin/python -m benchmarks compare like-ml-10m --scale-down 10
	@echo 'With MovieLens at hand: RANKFILL_DATA=… .venv-bench/bin/python -m benchmarks compare ml-1m'

bench-large: $(VENV)/installed
	$(BIN)/python -m benchmarks store --shape netflix --json benchmarks/results/store.json
	$(BIN)/python -m benchmarks store --shape yahoo-music --json benchmarks/results/store.json

stubs: $(VENV)/test-tools
	$(BIN)/python -m nanobind.stubgen -q -m rankfill.kernels._native -o src/rankfill/kernels/_native.pyi

format: $(VENV)/test-tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find cpp -name '*.cpp' -o -name '*.hpp')

clean:
	rm -rf $(VENV) build quickstart
