"""python -m benchmarks NAME …: runs one of the experiments; without a name, lists them."""

import importlib
import pkgutil
import sys

from benchmarks import experiments


def main() -> None:
    found = [module.name for module in pkgutil.iter_modules(experiments.__path__)]
    runnable = {name: importlib.import_module(f"benchmarks.experiments.{name}") for name in found}
    runnable = {name: module for name, module in runnable.items() if hasattr(module, "main")}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in runnable:
        for each, module in runnable.items():
            print(f"{each:20} {(module.__doc__ or '').splitlines()[0]}")
        sys.exit(0 if not name else f"there is no experiment {name!r}; choose one of the above")
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2:]]
    runnable[name].main()


if __name__ == "__main__":
    main()
