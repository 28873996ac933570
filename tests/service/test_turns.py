"""Many read or one writes."""

import threading
import time

from rankfill.service.turns import Turns


def begun(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_readers_do_not_wait_for_one_another_and_a_patient_one_lets_the_writer_go_first():
    turns, order, release = Turns(), [], threading.Event()

    def slow():
        with turns.reading(patient=True):
            order.append("slow")
            release.wait(10)

    def write():
        with turns.writing():
            order.append("written")

    def second():
        with turns.reading(patient=True):
            order.append("second")

    first = begun(slow)
    while not order:
        time.sleep(0.001)
    writer = begun(write)
    while not turns._waiting:
        time.sleep(0.001)
    patient = begun(second)
    with turns.reading():
        order.append("quick")
    time.sleep(0.05)
    assert order == ["slow", "quick"]
    release.set()
    for thread in (first, writer, patient):
        thread.join(10)
    assert order == ["slow", "quick", "written", "second"]


def test_nobody_reads_while_somebody_writes():
    turns, pair, torn = Turns(), [0, 0], []

    def read():
        for _ in range(300):
            with turns.reading():
                torn.append(pair[0] != pair[1])

    readers = [begun(read) for _ in range(4)]
    for number in range(100):
        with turns.writing():
            pair[0] = number
            time.sleep(0)
            pair[1] = number
    for reader in readers:
        reader.join(30)
    assert len(torn) == 1200
    assert not any(torn)
