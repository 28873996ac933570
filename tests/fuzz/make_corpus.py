"""Writes the seeds of the fuzz tests, small tables of every kind: python tests/fuzz/make_corpus.py."""

import gzip
from pathlib import Path

import duckdb
import numpy as np

import rankfill as rf

CORPUS = Path(__file__).parent / "corpus"


def made_up() -> rf.Ratings:
    random = np.random.default_rng(0)
    users, items = np.divmod(random.permutation(8 * 6)[:30], 6)
    return rf.Ratings.from_arrays(users + 1, 10 * items, random.integers(1, 6, 30).astype(np.float32))


def rows(ratings: rf.Ratings, strings: bool) -> list[tuple[str, str, str]]:
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    names = ("üser, {}", 'té"{}') if strings else ("{}", "{}")
    return [
        (names[0].format(user), names[1].format(item), f"{value:g}")
        for user, item, value in zip(users, items, ratings.values, strict=True)
    ]


def text(table: list[tuple[str, str, str]], delimiter: str, header: bool = True, end: str = "\n") -> bytes:
    def field(word: str) -> str:
        return '"' + word.replace('"', '""') + '"' if {delimiter, '"'} & set(word) else word

    lines = [["user", "item", "rating"]] * header + [list(map(field, row)) for row in table]
    return "".join(delimiter.join(line) + end for line in lines).encode()


def main() -> None:
    CORPUS.mkdir(exist_ok=True)
    ratings = made_up()
    numbers, strings = rows(ratings, strings=False), rows(ratings, strings=True)
    (CORPUS / "numbers.csv").write_bytes(text(numbers, ","))
    (CORPUS / "strings.csv").write_bytes(b"\xef\xbb\xbf" + text(strings, ",", end="\r\n"))
    (CORPUS / "numbers.tsv").write_bytes(text(numbers, "\t", header=False))
    (CORPUS / "numbers.dat").write_bytes(text(numbers, "::", header=False))
    (CORPUS / "strings.csv.gz").write_bytes(gzip.compress(text(strings, ","), mtime=0))
    with duckdb.connect() as database:
        path = CORPUS / "numbers.parquet"
        values = ", ".join(f"({user}, {item}, {rating})" for user, item, rating in numbers)
        table = f'SELECT * FROM (VALUES {values}) t("user", item, rating)'
        database.execute(f"COPY ({table}) TO '{path}' (FORMAT parquet)")


if __name__ == "__main__":
    main()
