#!/bin/sh
# Makes a virtual environment with rankfill as it stands here and the systems it is compared with:
#
#     benchmarks/install_rivals.sh [folder, by default .venv-bench]
#
# They are the extra `bench` of pyproject.toml, one command a system, so that one that cannot be had stops no other, and
# LIBMF, which needs flags of its own. `python -m benchmarks.rivals` says what is there. Spark needs java besides.
# Run it again after rankfill has changed: what is installed here is a copy.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/.venv-bench}
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv" || exit 1

try() {
    echo "installing $*"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || echo "FAILED: $*"
}

"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip
# The version may be the same while the sources are not; and the build shall not meet that of another environment.
"$venv/bin/python" -m pip uninstall --quiet --yes rankfill 2>/dev/null
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -C build-dir="$root/build/bench" "$root" || exit 1
extra='import sys, tomllib; print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")'
for requirement in $("$venv/bin/python" -c "$extra" "$root/pyproject.toml"); do
    try "$requirement"
done

# Without these flags LIBMF neither vectorises nor uses OpenMP; a wheel in the cache may have been built without them.
if grep -qw avx /proc/cpuinfo 2>/dev/null; then vectors=-DUSEAVX; else vectors=-DUSESSE; fi
# Older setuptools read CFLAGS for C++ too, newer ones CXXFLAGS.
export CFLAGS="-O3 -march=native $vectors -DUSEOMP -fopenmp"
export CXXFLAGS="$CFLAGS" LDFLAGS="-fopenmp"
try --no-cache-dir --no-binary libmf --force-reinstall --no-deps libmf

cd "$root" && "$venv/bin/python" -m benchmarks.rivals
