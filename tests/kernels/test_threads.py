"""How many threads and which instruction set: by function, by environment variable, and the words of refusals."""

import os
import subprocess
import sys

import pytest

from rankfill import get_threads, set_threads
from rankfill.kernels import _native, instruction_set


@pytest.fixture(autouse=True)
def threads_as_before():
    before = get_threads()
    yield
    set_threads(before)


def in_fresh_process(code, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RANKFILL_")}
    return subprocess.run(
        [sys.executable, "-c", f"import rankfill.kernels as k; {code}"],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_set_threads_is_what_get_threads_says():
    for n in (1, 3, 8):
        set_threads(n)
        assert get_threads() == n


def test_none_means_every_core_this_process_may_use():
    set_threads(7)
    set_threads(None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert get_threads() == cores


@pytest.mark.parametrize("n", [0, -2])
def test_fewer_than_one_thread_is_refused_and_changes_nothing(n):
    set_threads(3)
    with pytest.raises(ValueError, match=rf"threads must be at least 1, found {n}; None uses all"):
        set_threads(n)
    assert get_threads() == 3


@pytest.mark.parametrize("n", [2.5, "two"])
def test_what_is_no_whole_number_of_threads_is_refused(n):
    with pytest.raises(TypeError, match=rf"threads must be a whole number or None for all cores, found {n!r}"):
        set_threads(n)


def test_environment_variables_set_both():
    done = in_fresh_process(
        "print(k.get_threads(), k.instruction_set())", RANKFILL_THREADS="5", RANKFILL_ISA="baseline"
    )
    assert done.stdout.split() == ["5", "baseline"], done.stderr


def test_without_environment_variables_all_cores_and_the_fastest_set():
    done = in_fresh_process("print(k.get_threads(), k.instruction_set())")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert done.stdout.split() == [str(cores), _native.instruction_sets()[-1]], done.stderr


@pytest.mark.parametrize("text", ["0", "-1", "many", "2.5"])
def test_nonsense_in_rankfill_threads_is_refused_in_words(text):
    done = in_fresh_process("", RANKFILL_THREADS=text)
    assert done.returncode != 0
    assert f"ValueError: RANKFILL_THREADS must be a whole number of at least 1, found '{text}'" in done.stderr


def test_instruction_set_the_machine_lacks_is_refused_with_those_it_has():
    done = in_fresh_process("", RANKFILL_ISA="altivec")
    assert done.returncode != 0
    assert "RANKFILL_ISA='altivec' does not run on this machine" in done.stderr
    assert "baseline" in done.stderr


def test_instruction_sets_go_from_the_slowest_to_the_fastest():
    assert _native.instruction_sets()[0] == "baseline"
    assert instruction_set() in _native.instruction_sets()
