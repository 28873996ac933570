"""Files of every layout, and what is said about those that cannot be read."""

import csv
import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfill.data import Ratings, read_batches, read_pairs, read_ratings, read_titles
from rankfill.data.tables import open_table
from rankfill.kernels import get_threads, set_threads

USERS, ITEMS, VALUES, TIMES = [3, 1, 3, 20], [7, 7, -5, 900], [4.5, 1.0, -2.0, 3.0], [100, 90, 2_000_000_000_000, 0]
EXPECTED = Ratings.from_arrays(USERS, ITEMS, VALUES, TIMES)


@pytest.fixture
def write(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines(delimiter=",", header="", newline="\n"):
    rows = [delimiter.join(map(str, row)) for row in zip(USERS, ITEMS, VALUES, TIMES, strict=True)]
    return newline.join([*([header.replace(",", delimiter)] if header else []), *rows]) + newline


HEADER = "userId,movieId,rating,timestamp"


@pytest.mark.parametrize("delimiter", [",", "\t", "::", ";", "|"])
@pytest.mark.parametrize("header", ["", HEADER])
@pytest.mark.parametrize("name", ["ratings.csv", "ratings.dat", "u1.base"])
def test_the_separator_is_found_whatever_the_name_of_the_file(write, delimiter, header, name):
    ratings = read_ratings(write(lines(delimiter, header), name))
    assert ratings == EXPECTED


@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("header", ["", HEADER])
def test_every_line_end_is_understood(write, newline, header):
    assert read_ratings(write(lines(header=header, newline=newline))) == EXPECTED


def test_mixed_line_ends_are_understood(write):
    first, second, *rest = lines().splitlines()
    assert read_ratings(write("\r\n".join([first, second]) + "\r\n" + "\n".join(rest))) == EXPECTED


def test_blank_lines_a_byte_order_mark_and_a_missing_last_line_end_do_no_harm(write):
    text = "\n\n" + lines(header=HEADER).replace("\n", "\n\n", 2).rstrip("\n")
    assert read_ratings(write(text)) == EXPECTED
    assert read_ratings(write("\N{BYTE ORDER MARK}" + lines(header=HEADER))) == EXPECTED
    assert read_ratings(write("\N{BYTE ORDER MARK}" + lines())) == EXPECTED


@pytest.mark.parametrize("name", ["ratings.csv.gz", "ratings"])
def test_gzip_is_recognised_by_content(write, name):
    assert read_ratings(write(gzip.compress(lines("::").encode()), name)) == EXPECTED


def test_a_name_with_stars_brackets_and_quotes_is_that_one_file(write):
    write("9,9,9\n", "x1.csv")
    for name in ("x*.csv", "x[1].csv", "x'1.csv", "x?.csv"):
        assert read_ratings(write(lines(), name)) == EXPECTED


def test_extra_columns_are_passed_over_and_names_may_come_in_any_order(write):
    text = "rating,comment,timestamp,item id,USER_ID\n" + "".join(
        f'{value},"said, ""{user}""",{time},{item},{user}\n'
        for user, item, value, time in zip(USERS, ITEMS, VALUES, TIMES, strict=True)
    )
    assert read_ratings(write(text)) == EXPECTED


def test_columns_name_the_columns_where_there_is_a_header(write):
    path = write(lines(header="who,what,how,when"))
    assert read_ratings(path, columns=("who", "what", "how", "when")) == EXPECTED
    assert read_ratings(path, columns=("who", "what", "how")).timestamps is None
    swapped = read_ratings(path, columns=("what", "who", "how"))
    assert swapped == Ratings.from_arrays(ITEMS, USERS, VALUES)


def test_columns_say_what_stands_where_without_a_header(write):
    path = write(lines())
    assert read_ratings(path, columns=("user", "item", "rating", "timestamp")) == EXPECTED
    assert read_ratings(path, columns=("item", "user", "rating")) == Ratings.from_arrays(ITEMS, USERS, VALUES)
    skipped = read_ratings(path, columns=("user", "item", "skip", "rating"))
    assert skipped == Ratings.from_arrays(USERS, ITEMS, TIMES)


def test_timestamps_can_be_left_out(write):
    assert read_ratings(write(lines(header=HEADER)), timestamps=False) == Ratings.from_arrays(USERS, ITEMS, VALUES)
    assert read_ratings(write("1,2,3.5,once upon a time\n"), timestamps=False).timestamps is None


def test_a_file_without_timestamps_keeps_the_order_of_its_lines(write):
    ratings = read_ratings(write("".join(f"{(7 * k) % 11},{k},{k}\n" for k in range(50))))
    assert ratings.values[ratings.stream_order()].tolist() == list(range(50))


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["2020-01-02", "1969-12-31"], [1577923200, -86400]),
        (["2020-01-01 10:00:00", "2020-01-01T10:00:00.75"], [1577872800, 1577872800]),
        (["2020-01-01T10:00:00Z", "2020-01-01 10:00:00+02:00"], [1577872800, 1577865600]),
    ],
)
def test_iso_dates_become_seconds_since_1970(write, texts, seconds):
    ratings = read_ratings(write(f"1,1,5,{texts[0]}\n2,1,3,{texts[1]}\n"))
    assert ratings.timestamps.tolist() == seconds


@pytest.mark.parametrize("odd", ["007", "ab", "+5", "5.0", "1e3", "1e2", "1_000", "0x10", "-0", " 5", "9" * 25, "5.7"])
@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_one_id_that_is_no_plain_number_makes_the_column_strings_kept_to_the_letter(write, odd, late):
    users = [str(k) for k in range(1, 1_500)]
    users.insert(1_400 if late else 1, odd)
    ratings = read_ratings(write("".join(f"{user},{k},3\n" for k, user in enumerate(users))))
    assert list(ratings.users) == sorted(users)
    assert not ratings.items.of_strings
    assert ratings.users.ids(ratings.user_indices[ratings.stream_order()]).tolist() == users


def test_large_numbers_after_small_ones_stay_numbers(write):
    users = [*range(1_000), 2**31, -(2**63), 2**63 - 1]
    ratings = read_ratings(write("".join(f"{user},5,3\n" for user in users)))
    assert list(ratings.users) == sorted(users)


FIELDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS, st.floats(-9, 9, width=32)), min_size=1, max_size=20))
def test_string_ids_of_any_letters_come_back_in_file_order(tmp_path_factory, rows):
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("user", "item", "rating"), *rows])
    path = tmp_path_factory.mktemp("strings") / "ratings.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    users, items = read_pairs(path)
    assert [*map(str, users)] == [user for user, _, _ in rows]
    assert [*map(str, items)] == [item for _, item, _ in rows]
    ratings = read_ratings(path, duplicates="last")
    expected = Ratings.from_arrays(users, items, [value for *_, value in rows], duplicates="last")
    assert ratings == expected
    np.testing.assert_array_equal(ratings.stream_order(), expected.stream_order())


def test_thread_count_and_size_do_not_change_what_is_read(write):
    random = np.random.default_rng(0)
    pairs = random.permutation(300_000)
    path = write("".join(f"u{p % 701:x},{p // 701},{p % 9 / 2},{p}\n" for p in pairs.tolist()))
    expected = Ratings.from_arrays([f"u{p % 701:x}" for p in pairs], pairs // 701, pairs % 9 / 2, pairs)
    before = get_threads()
    try:
        for threads in (1, 3):
            set_threads(threads)
            assert read_ratings(path) == expected
    finally:
        set_threads(before)


@pytest.mark.parametrize("rule", ["last", "first", "mean"])
def test_repeated_pairs_follow_the_rule(write, rule):
    path = write("b,1,5,30\na,1,4,20\nb,1,2,10\n")
    expected = Ratings.from_arrays(["b", "a", "b"], [1, 1, 1], [5, 4, 2], [30, 20, 10], duplicates=rule)
    assert read_ratings(path, duplicates=rule) == expected


def line_17(bad, header=HEADER):
    good = [f"{k},{k + 1},3.5,{k}" for k in range(2, 40)]
    return "\n".join([header, *good[:15], bad, *good[15:]]) + "\n"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("1,2,abc,4", "line 17 of ratings.csv: rating 'abc' is not a number; correct it or drop it"),
        ("1,2,nan,4", "line 17 of ratings.csv: rating 'nan' is not a finite 32-bit number"),
        ("1,2,-inf,4", "line 17 of ratings.csv: rating '-inf' is not a finite"),
        ("1,2,1e39,4", "line 17 of ratings.csv: rating '1e39' is not a finite"),
        ("1,2,,4", "line 17 of ratings.csv: the rating is empty; fill it in or drop it"),
        (",2,3,4", "line 17 of ratings.csv: the user is empty"),
        ("1,,3,4", "line 17 of ratings.csv: the item is empty"),
        ('1,"",3,4', "line 17 of ratings.csv: the item is empty"),
        ("1,2,3,", "line 17 of ratings.csv: the timestamp is empty"),
        ("1,2,3,soon", "line 17 of ratings.csv: timestamp 'soon' is neither whole seconds nor an ISO date"),
        ("1,2,3", "line 17 of ratings.csv has 3 columns, line 1 has 4; complete the line or drop it"),
        ("1", "line 17 of ratings.csv has 1 column, line 1 has 4"),
        ("1,2,3,4,5", "line 17 of ratings.csv has 5 columns, line 1 has 4"),
        ("10,11,3,4", "user 10 rates item 11 twice, on line 10 of ratings.csv and on line 17 of ratings.csv"),
    ],
)
def test_a_faulty_line_is_named_with_fault_and_remedy(write, bad, words):
    with pytest.raises(ValueError, match=words):
        read_ratings(write(line_17(bad)))


def test_lines_are_counted_as_an_editor_does(write):
    text = 'user,item,rating,note\n\n1,1,3,"two\nlines"\n\n2,1,x,\n'
    with pytest.raises(ValueError, match=r"line 6 of ratings.csv: rating 'x'"):
        read_ratings(write(text))
    with pytest.raises(ValueError, match=r"line 2 of ratings.dat: rating 'x'"):
        read_ratings(write("1::1::3\n2::1::x\n", "ratings.dat"))
    with pytest.raises(ValueError, match=r"line 1 of ratings.csv: rating 'x'"):
        read_ratings(write("1,1,x\n2,1,3\n"))


def test_the_first_of_several_faults_is_named(write):
    with pytest.raises(ValueError, match=r"line 2 of ratings.csv: timestamp 'x'"):
        read_ratings(write("1,1,3,5\n2,2,3,x\n3,3,y,6\nab,,z,w\n"))


@pytest.mark.parametrize(
    ("content", "columns", "words"),
    [
        ("", None, "ratings.csv is empty; it needs one record per line"),
        ("\n \n", None, "ratings.csv is empty"),
        (HEADER + "\n", None, "has a header but nothing below it"),
        ("a\nb\n", None, "has only one column"),
        ("1,2\n3,4\n", ("user", "item", "rating"), "first line of ratings.csv has 2 columns, needs user, item, rating"),
        ("user,item,grade\n1,2,3\n", None, r'no column looks like the rating among .*, or columns=\("user", "item"\)'),
        ("viewer,item,rating\n1,2,3\n", None, "no column looks like the user among viewer, item, rating; name them"),
        (HEADER + "\n1,2,3,4\n", ("user", "item", "rating"), "found user, item, rating"),
        ("1,2,3,4\n", ("user", "item", "rating", "rating"), "columns must say once where the rating stands"),
        ("1,2,3\n", ("user", "user", "rating"), "must say once where the user and the item stands"),
        ("1,2,3\n", ("user", "item", "rating", "timestamp"), "has 3 columns, needs user, item, rating, timestamp"),
        ('1,2,3\n"1,2,3\n', None, "after line 1: unexpected end of data; is a quote left open there?"),
        ("é,2,3\n".encode("latin-1"), None, "line 1 of ratings.csv is not UTF-8; convert the file, for example: iconv"),
        (b"PK\x03\x04rest", None, "neither text nor Parquet; rankfill reads text"),
        (b"a\0b,c,1\n", None, "neither text nor Parquet"),
        (gzip.compress(b"1,2,3\n" * 9, mtime=0)[:-12], None, "damaged gzip"),
        (b"PAR1 and no more", None, "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused_in_words(write, content, columns, words):
    with pytest.raises(ValueError, match=words):
        read_ratings(write(content), columns=columns)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*absent.csv; check the path"):
        read_ratings(tmp_path / "absent.csv")
    with pytest.raises(IsADirectoryError, match="is a folder; name the file"):
        read_ratings(tmp_path)


@pytest.fixture
def parquet(tmp_path):
    def parquet(**columns):
        path = tmp_path / "ratings.parquet"
        pl.DataFrame(columns, strict=False).write_parquet(path)
        return path

    return parquet


def test_parquet_gives_the_same_ratings(parquet):
    assert read_ratings(parquet(timestamp=TIMES, rating=VALUES, movieId=ITEMS, user=USERS)) == EXPECTED
    named = parquet(**{'the "user"': USERS, "i": ITEMS, "r": VALUES})
    assert read_ratings(named, columns=('the "user"', "i", "r")) == Ratings.from_arrays(USERS, ITEMS, VALUES)


def test_parquet_keeps_the_type_of_its_ids(parquet):
    ratings = read_ratings(parquet(user=["12", "7"], item=[1.0, 2.0], rating=[1, 2]))
    assert list(ratings.users) == ["12", "7"]
    assert list(ratings.items) == [1, 2]


def test_parquet_dates_become_seconds(parquet):
    dates = pl.Series(["2020-01-02", "1970-01-01"]).str.to_date()
    moments = pl.Series(["2020-01-02T00:00:01", "1969-12-31T23:59:59"]).str.to_datetime()
    for times, seconds in ((dates, [1577923200, 0]), (moments, [1577923201, -1])):
        assert read_ratings(parquet(user=[1, 2], item=[1, 1], rating=[1, 2], time=times)).timestamps.tolist() == seconds


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"user": [1, 2, None], "rating": [1.0, 2.0, 3.0]}, "row 3 of ratings.parquet: the user is empty"),
        ({"user": [1, 2.5, 3], "rating": [1.0, 2.0, 3.0]}, "row 2 of ratings.parquet: user '2.5' is no whole number"),
        (
            {"user": [1, 2, 3], "rating": [1.0, float("nan"), 3.0]},
            "row 2 of ratings.parquet: rating 'nan' is not a fin",
        ),
        ({"user": [1, 2, 3], "rating": ["1", "2", "x"]}, "row 3 of ratings.parquet: rating 'x' is not a number"),
        ({"user": ["a", "b", "a"], "rating": [1, 2, 3]}, "on row 1 of ratings.parquet and on row 3 of ratings.parquet"),
    ],
)
def test_faults_in_parquet_are_named_with_their_row(parquet, columns, words):
    with pytest.raises(ValueError, match=words):
        read_ratings(parquet(item=[1, 1, 1], **columns))


@pytest.mark.parametrize(
    ("text", "columns", "users", "items"),
    [
        ("2,10\n1,10\n2,10\n", None, [2, 1, 2], [10, 10, 10]),
        ("user,item\n2,10\n", None, [2], [10]),
        ("viewer,show\n2,10\n", ("viewer", "show"), [2], [10]),
        ("movieId,userId,rating\n7,ann,3\n8,bob,x\n", None, ["ann", "bob"], [7, 8]),
        ("ann,tea\nbob,milk\n", None, ["ann", "bob"], ["tea", "milk"]),
        ("tea,ann,5\n", ("item", "user"), ["ann"], ["tea"]),
        ("1::007::\n", None, [1], ["007"]),
    ],
)
def test_pairs_come_in_the_order_of_the_file(write, text, columns, users, items):
    found_users, found_items = read_pairs(write(text), columns)
    assert found_users.tolist() == users
    assert found_items.tolist() == items


def test_an_unknown_header_over_pairs_of_numbers_asks_for_columns(write):
    with pytest.raises(ValueError, match=r"no column looks like the user or the item among viewer, show; name them"):
        read_pairs(write("viewer,show\n2,10\n"))


@pytest.mark.parametrize(
    ("content", "titles"),
    [
        ('movieId,title,genres\n1,"Usual Suspects, The",A|B\n20,Café,C\n', {1: "Usual Suspects, The", 20: "Café"}),
        ("1::Café (1995)::A|B\n20::x: y::C\n".encode("latin-1"), {1: "Café (1995)", 20: "x: y"}),
        (
            "1|Toy Story|01-Jan-1995||http://x|0|1\n2|Golden, Eye|01-Jan-1995||http://y|1|0\n",
            {1: "Toy Story", 2: "Golden, Eye"},
        ),
        ("item\ttitle\nb07\tOne\n007\tTwo\n", {"b07": "One", "007": "Two"}),
        ("7,Seven\n", {7: "Seven"}),
        ("code,name\n7,Seven\n8,Eight\n", {7: "Seven", 8: "Eight"}),
    ],
)
def test_titles_are_found_by_id(write, content, titles):
    assert read_titles(write(content, "titles")) == titles
    assert (
        read_titles(write(gzip.compress(content if isinstance(content, bytes) else content.encode()), "t.gz")) == titles
    )


def test_a_title_file_with_a_short_line_names_it(write):
    with pytest.raises(ValueError, match=r"line 3 of titles.csv has 1 columns, needs 2"):
        read_titles(write("id,title\n1,One\n2\n", "titles.csv"))


def test_titles_in_parquet_are_refused_in_words(parquet):
    with pytest.raises(ValueError, match="is Parquet; titles are read from text"):
        read_titles(parquet(id=[1], title=["One"]))


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("1;2;3,5\n4;5;6,5\n", ";"),
        ("a|b,c,5\nd|e,f,4\n", ","),
        ("a::b,c,5\nd::e,f,4\n", ","),
        ("1::x, y::A|B\n2::z::C\n", "::"),
        ("1,2,3,2020-01-01 10:00:00\n", ","),
        ('"a;b";"c,d";5\n', ";"),
    ],
)
def test_the_separator_that_cuts_lines_alike_wins(write, text, delimiter):
    assert open_table(write(text)).delimiter == delimiter


@pytest.mark.data
def test_movielens_1m_is_read_whole(data_folder):
    ratings = read_ratings(data_folder / "ml-1m" / "ratings.dat")
    assert (len(ratings), *ratings.shape) == (1_000_209, 6_040, 3_706)
    numbers = (data_folder / "ml-1m" / "ratings.dat").read_text().replace("::", " ").split()
    assert ratings == Ratings.from_arrays(*np.array(numbers, dtype=np.int64).reshape(-1, 4).T)


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ('"a,b","c ""d""",3', ("a,b", 'c "d"')),
        ('"a\nb",c,3', ("a\nb", "c")),
        ('a"b,c,3', ('a"b', "c")),
        (" a,c ,3", (" a", "c ")),
        ("'a',c,3", ("'a'", "c")),
        ("a\\,c,3", ("a\\", "c")),
        ("NULL,null,3", ("NULL", "null")),
        ("NaN,#,3", ("NaN", "#")),
    ],
)
def test_ids_are_kept_to_the_letter(write, line, pair):
    path = write(f"{HEADER.rpartition(',')[0]}\n{line}\n1,2,3\n")
    users, items = read_pairs(path)
    assert (users[0], items[0]) == pair
    assert pair[0] in read_ratings(path).users


def test_letters_after_a_closing_quote_are_refused_and_not_dropped(write):
    for read in (read_ratings, read_pairs, lambda path: list(read_batches(path))):
        with pytest.raises(ValueError, match=r"ratings.csv after line 1: ',' expected after '\"'"):
            read(write('user,item,rating\n"ab"x,c,3\nq,r,1\n'))


def test_what_a_message_shows_of_a_field_is_short_and_on_one_line(write):
    for field in ("x" * 5000, '"' + "x\n" * 5000 + '"'):
        with pytest.raises(ValueError, match="is not a number") as caught:
            read_ratings(write(f"user,item,rating\n1,2,{field}\n"))
        assert len(str(caught.value)) < 200
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValueError, match="and 988 more") as caught:
        read_ratings(write(",".join(f"c{k}" for k in range(1000)) + "\n" + ",".join(["1"] * 1000) + "\n"))
    assert len(str(caught.value)) < 300


def test_lines_too_long_for_a_table_are_refused(write):
    assert len(read_ratings(write(f"user,item,rating\n{'x' * 100_000},b,3\n")).users.ids()[0]) == 100_000
    with pytest.raises(ValueError, match="field larger than field limit"):
        read_ratings(write(f"user,item,rating\n{'x' * 3_000_000},b,3\n"))
