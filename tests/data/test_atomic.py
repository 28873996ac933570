"""Files written whole or not at all: modes, links, kills, full disks."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from rankfill.data.atomic import whole_file


def write(path, text):
    with whole_file(path) as temporary:
        temporary.write_text(text)


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "list [1].csv"
    path.write_text("before")
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def alone(path):
    """Nothing else is left in the folder."""
    return names(path.parent) == [path.name]


def fail(path, error):
    with whole_file(path) as temporary:
        temporary.write_text("half")
        temporary.with_name("more").write_text("besides")
        raise error


def test_a_new_file_obeys_the_umask(tmp_path):
    for umask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(umask)
        try:
            write(tmp_path / f"{umask}.csv", "x")
        finally:
            os.umask(before)
        assert (tmp_path / f"{umask}.csv").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_an_existing_file_keeps_its_mode(target, mode):
    target.chmod(mode)
    write(target, "after")
    assert target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == mode
    assert alone(target)


def test_nobody_else_can_look_while_it_is_written(target):
    with whole_file(target) as temporary:
        assert temporary.parent.stat().st_mode & 0o077 == 0
        temporary.write_text("after")


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path, dangling):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    real, link = folder / "real.csv", tmp_path / "link.csv"
    if not dangling:
        real.write_text("before")
    link.symlink_to(real)
    write(link, "after")
    assert link.is_symlink()
    assert real.read_text() == "after"
    assert alone(real)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_leaves_the_file_as_it_was(target, error):
    with pytest.raises(type(error)):
        fail(target, error)
    assert target.read_text() == "before"
    assert alone(target)


def test_a_full_disk_names_the_file_and_not_the_temporary_one(target):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as caught, whole_file(target) as temporary:
            temporary.write_text("x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(target)
    assert target.read_text() == "before"
    assert alone(target)


def test_a_missing_folder_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "nowhere" / "x.csv", "x")
    assert caught.value.filename == str(tmp_path / "nowhere" / "x.csv")


def test_errors_about_other_files_keep_their_names(target, tmp_path):
    with pytest.raises(FileNotFoundError) as caught, whole_file(target):
        (tmp_path / "input.csv").read_text()
    assert caught.value.filename == str(tmp_path / "input.csv")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(tmp_path, make):
    make(tmp_path / "x")
    with pytest.raises(ValueError, match="is not a file"):
        write(tmp_path / "x", "x")


KILLED = """
import sys, time
from rankfill.data.atomic import whole_file
with whole_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_but_not_what_a_living_one_writes(target):
    killed, living = (
        subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE) for _ in range(2)
    )
    try:
        for process in (killed, living):
            process.stdout.readline()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(names(target.parent)) == 3
        write(target, "after")
        assert len(names(target.parent)) == 2, "the target and the folder of the living writer"
    finally:
        living.kill()
        living.wait()
        killed.stdout.close()
        living.stdout.close()
    write(target.parent / "other.csv", "x")
    assert len(names(target.parent)) == 3, "other targets are none of its business"
    write(target, "again")
    assert names(target.parent) == [target.name, "other.csv"]


def test_many_writers_of_one_file_leave_one_of_their_texts(target):
    texts = [str(number) * 1000 for number in range(8)]

    def often(text):
        for _ in range(20):
            write(target, text)

    threads = [threading.Thread(target=often, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert target.read_text() in ("before", *texts)
        time.sleep(0.001)
    assert target.read_text() in texts
    assert alone(target)


def test_names_of_any_length_can_be_written(tmp_path):
    for name in ("x" * 255, "é" * 127, "日" * 85):
        write(tmp_path / name, "x")
    assert len(names(tmp_path)) == 3
