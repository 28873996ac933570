"""The bytes of a table before anything is read from them: packed, piped, damaged, in other codes and line ends."""

import gzip
import io
import os
import random
import sys
import threading
import zlib

import pytest

from rankfill.data import read_batches, read_pairs, read_ratings, read_titles
from rankfill.data.sources import checked_text, open_source

PLAIN = b"user,item,rating\n" + b"".join(b"%d,%d,%d\n" % (k, 7 * k % 50, k % 5 + 1) for k in range(300))


@pytest.fixture
def write(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def expected(write):
    return read_ratings(write(PLAIN, "expected.csv"))


READERS = [read_ratings, read_pairs, read_titles, lambda path: list(read_batches(path))]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("cut", [1, 4, 8, 100, 2000])
def test_a_gzip_file_cut_short_is_refused_by_name(write, read, cut):
    packed = gzip.compress(b"".join(os.urandom(1).hex().encode() + b",%d,3\n" % k for k in range(2000)))
    with pytest.raises(ValueError, match=r"f\.gz is a damaged gzip file; fetch or write it anew"):
        read(write(packed[:-cut], "f.gz"))


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("place", range(1, 9))
def test_a_wrong_checksum_or_length_is_refused_in_every_member(write, read, members, place):
    parts = [gzip.compress(part) for part in (PLAIN, b"1000,1,1\n", b"1001,1,1\n")[:members]]
    for member in range(members):
        damaged = bytearray(parts[member])
        damaged[-place] ^= 1
        with pytest.raises(ValueError, match="damaged gzip file"):
            read(write(b"".join([*parts[:member], damaged, *parts[member + 1 :]]), "f.gz"))


def test_no_flipped_bit_in_a_gzip_file_passes_as_other_numbers(write, expected):
    packed, rng = gzip.compress(PLAIN, mtime=0), random.Random(0)
    for _ in range(100):
        damaged = bytearray(packed)
        damaged[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
        try:
            found = read_ratings(write(damaged, "f.gz"))
        except ValueError:
            continue
        assert found == expected, "only what the header says about the file may change without harm"


def test_a_gzip_file_of_several_members_is_read_whole(write, expected):
    half = PLAIN.index(b"\n", len(PLAIN) // 2) + 1
    assert read_ratings(write(gzip.compress(PLAIN[:half]) + gzip.compress(PLAIN[half:]), "f.gz")) == expected


def test_a_gzip_file_grows_no_larger_than_its_readers_need(write):
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(50)) + bomb.flush()
    with pytest.raises(ValueError, match="neither text nor Parquet"):
        read_ratings(write(packed, "f.gz"))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("other", [b"\n", b"\r\n", b"\r"])
def test_a_line_end_unlike_the_others_swallows_nothing(write, end, other):
    text = b"user,item,rating" + end + b"1,2,3" + end + b"4,5,6" + other + b"77,8,9" + end + b"10,11,1" + end
    for read in (read_ratings, lambda path: next(iter(read_batches(path)))):
        assert read(write(text)).users.ids()[0] == 1
    assert read_ratings(write(text)).users.ids().tolist() == [1, 4, 10, 77]
    assert read_pairs(write(text))[0].tolist() == [1, 4, 77, 10]


@pytest.mark.parametrize("size", [2, 3, 5, 1 << 20])
def test_blocks_do_not_part_a_line_end_or_a_letter(write, monkeypatch, size):
    monkeypatch.setattr("rankfill.data.sources._BLOCK", size)
    text = "é,日\r\r\n\n\r\nü,1\r"
    assert checked_text(open_source(write(text.encode()))).read().decode() == "é,日\n\n\n\nü,1\n"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("byte", "words"), [(b"\0", "has a NUL byte"), (b"\xe9", "is not UTF-8; convert the file")])
def test_bytes_that_do_not_belong_in_text_are_found_anywhere(write, packed, byte, words):
    lines = [b"%d,1,2\n" % k for k in range(30_000)]
    for line in (1, 17, 25_003):
        damaged = b"".join([*lines[: line - 1], b"x" + byte + b"y,1,2\n", *lines[line:]])
        place = "ratings.csv is neither" if byte == b"\0" and line < 1000 else f"line {line} of ratings.csv {words}"
        for read in (read_ratings, read_pairs, lambda path: list(read_batches(path))):
            with pytest.raises(ValueError, match=place):
                read(write(gzip.compress(damaged) if packed else damaged))


def test_half_a_letter_at_the_end_is_found(write):
    with pytest.raises(ValueError, match=r"line 2 of ratings\.csv is not UTF-8"):
        read_ratings(write("1,2,3\n1,é".encode()[:-1]))


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-32"])
def test_wide_letters_are_refused(write, code):
    with pytest.raises(ValueError, match=r"is UTF-16; convert it|neither text nor Parquet"):
        read_ratings(write("\ufeffuser,item,rating\n1,2,3\n".encode(code)))


@pytest.mark.parametrize("content", [PLAIN, gzip.compress(PLAIN)], ids=["plain", "packed"])
def test_a_pipe_is_read_like_the_file(tmp_path, expected, content):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def feed():
        pipe.write_bytes(content)

    for read, wanted in ((read_ratings, expected), (lambda path: sum(map(len, read_batches(path))), len(expected))):
        thread = threading.Thread(target=feed)
        thread.start()
        assert read(pipe) == wanted
        thread.join()


def test_standard_input_is_read_like_a_file(monkeypatch, expected):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN)))
    assert read_ratings("-") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1,2,3\nx\n")))
    with pytest.raises(ValueError, match="line 2 of standard input has 1 column"):
        read_ratings("-")


def test_a_temporary_copy_goes_when_nobody_needs_it(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN)))
    batches = read_batches("-")
    assert sum(map(len, batches)) == sum(map(len, batches)) == 300, "as often as one likes"
    (kept,) = (path for path in tmp_path.iterdir() if path.is_file())
    assert kept.stat().st_mode & 0o077 == 0, "closed to others"
    del batches
    assert not kept.exists()


def test_devices_are_refused():
    with pytest.raises(ValueError, match="/dev/zero is a device or a socket"):
        read_ratings("/dev/zero")


def test_blank_lines_beyond_the_first_look_are_told(write):
    with pytest.raises(ValueError, match="begins with nothing but blank lines"):
        read_ratings(write(b"\n" * 70_000 + PLAIN))
    with pytest.raises(ValueError, match="begins with nothing but blank lines"):
        read_ratings(write(b"\n" * 65_530 + PLAIN))
    assert len(read_ratings(write(b"\n" * 60_000 + PLAIN))) == 300
