"""Lines that cannot be read, left out on request: found, numbered and written to a file by DuckDB."""

from pathlib import Path
from typing import Any, Literal

from rankfill.data.tables import Table, TextTable, file_in_sql

OnError = Literal["stop", "skip"]
"""What a line that cannot be read does: end the reading with an error that names it, or be left out."""

_LONGEST_LINE = 1 << 24


def split_lines_into(database: Any, table: TextTable) -> str:
    """Makes the table `lines` of all lines with their numbers and fields; returns the relation of those that are whole.

    A line has to be a record of its own: a quoted field that goes over several lines is a fault here.
    """
    field = """(?:^|{d})("(?:[^"]|"")*"|[^{d}"]*)"""
    plain = """CASE WHEN starts_with(f, '"') THEN replace(f[2:-2], '""', '"') WHEN f <> '' THEN f END"""
    fields = f"list_transform(str_split(line, '{table.delimiter}'), lambda f: nullif(f, ''))"
    if len(table.delimiter) == 1:
        escaped = "\\" + table.delimiter if table.delimiter in "|" else table.delimiter
        quoted = f"list_transform(regexp_extract_all(line, '{field.format(d=escaped)}', 1), lambda f: {plain})"
        fields = f"CASE WHEN contains(line, '\"') THEN {quoted} ELSE {fields} END"
    compression = "gzip" if table.source.compressed else "none"
    source = (
        f"read_csv({file_in_sql(table.source.path)}, auto_detect=false, header=false, delim=chr(1), quote='', "
        f"escape='', columns={{'line': 'VARCHAR'}}, strict_mode=false, "
        f"max_line_size={_LONGEST_LINE}, compression='{compression}')"
    )
    first = table.sample[0][0] if table.header else 0
    database.execute(
        f"CREATE OR REPLACE TABLE lines AS SELECT n, line, {fields} AS fields FROM "
        f"(SELECT row_number() OVER () AS n, line FROM {source}) WHERE n > {first} AND line IS NOT NULL"
    )
    columns = ", ".join(f"fields[{k + 1}] AS c{k}" for k in range(len(table.names)))
    return f"(SELECT {columns} FROM lines WHERE {_whole(table)})"


def leave_out(database: Any, table: Table, roles: list[str], rejects: Path | None) -> int:
    """Takes the rows that cannot be read out of `loaded`, writes them to `rejects`, and returns how many there are."""
    faults = [f"WHEN {_unread(role)} THEN '{role} cannot be read'" for role in roles]
    reason = f"CASE {' '.join(faults)} END"
    if isinstance(table, TextTable):
        numbered = f"SELECT n, line, row_number() OVER () - 1 AS place FROM lines WHERE {_whole(table)}"
        bad = (
            f"SELECT n AS line, {reason} AS reason, numbered.line AS text FROM ({numbered}) AS numbered "
            f"JOIN loaded ON loaded.rowid = place WHERE {reason} IS NOT NULL UNION ALL "
            f"SELECT n, 'has ' || len(fields) || ' columns instead of {len(table.names)}, or an open quote', line "
            f"FROM lines WHERE NOT ({_whole(table)}) ORDER BY 1"
        )
    else:
        bad = f"SELECT rowid + 1 AS row, {reason} AS reason FROM loaded WHERE {reason} IS NOT NULL ORDER BY 1"
    database.execute(f"CREATE OR REPLACE TABLE rejects AS {bad}")
    (count,) = database.execute("SELECT count(*) FROM rejects").fetchone()
    if count:
        kept = " AND ".join(f"NOT ({_unread(role)})" for role in roles)
        database.execute(f"CREATE TABLE kept AS SELECT * FROM loaded WHERE {kept}; DROP TABLE loaded")
        database.execute("ALTER TABLE kept RENAME TO loaded")
        if rejects is not None:
            database.execute(f"COPY rejects TO '{str(rejects).replace(chr(39), chr(39) * 2)}' (HEADER)")
    database.execute("DROP TABLE rejects; DROP TABLE IF EXISTS lines")
    return int(count)


def _whole(table: TextTable) -> str:
    """Whether a line has all columns, perhaps a separator after the last, and no quote that is left open."""
    expected = len(table.names)
    closed = "(length(line) - length(replace(line, '\"', ''))) % 2 = 0" if len(table.delimiter) == 1 else "true"
    beyond = f"len(fields) = {expected + 1} AND fields[{expected + 1}] IS NULL"
    return f"({closed}) AND (len(fields) = {expected} OR {beyond})"


def _unread(role: str) -> str:
    return f'"{role}" IS NULL' + (f' OR NOT isfinite("{role}")' if role == "rating" else "")
