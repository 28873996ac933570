"""A fresh process for one measurement, so that no system meets what another left behind.

    echo '{"call": "benchmarks.harness.measures:fit", "arguments": {…}}' | python -m benchmarks.harness.child

It calls the function and prints what that returns as JSON. Whatever the systems print goes to the error stream.
"""

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RANKFILL_THREADS")

Result = dict[str, Any]


def in_child(
    call: str,
    arguments: dict[str, Any],
    threads: int,
    environment: dict[str, str] | None = None,
    *,
    limit: float = 3600,
    scratch: Path | None = None,
) -> Result:
    """Runs "module:function" with these arguments in a child; {"failed": why} when it does not come back well.

    What the child leaves behind goes to the folder `scratch`, for the caller to remove.
    """
    variables = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads)), **(environment or {})}
    if scratch is not None:
        variables["TMPDIR"] = str(scratch)
    command = [sys.executable, "-m", "benchmarks.harness.child"]
    job = json.dumps({"call": call, "arguments": arguments})
    try:
        done = subprocess.run(
            command, input=job, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {limit:g} s"}
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        return {"failed": words[-1] if words and done.returncode > 0 else f"ended with code {done.returncode}"}
    result: Result = json.loads(done.stdout)
    return result


def call_here(call: str, arguments: dict[str, Any]) -> Result:
    """The same in this process."""
    module, _, function = call.partition(":")
    result: Result = getattr(importlib.import_module(module), function)(**arguments)
    return result


def plain(value: Any) -> Any:
    """Numbers that JSON knows: NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):
        return plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main() -> None:
    job = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print to the descriptor, past sys.stdout
    json.dump(plain(call_here(job["call"], job["arguments"])), answer)
    answer.flush()
    os._exit(0)  # a virtual machine or a pool of threads may not want to end


if __name__ == "__main__":
    main()
