"""Bad input, told in one line: what is wrong and how to mend it."""

import errno
import os
import re

import typer

from rankfill.shown import printable, shorten

# typer carries its own click in newer versions; the base of the errors of both is two steps above BadParameter.
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]

_LONGEST = 600
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

BAD_INPUT = (ValueError, TypeError, OSError, MemoryError, _UsageError)
"""An error that the user can mend. Any other error is a bug and shows its traceback."""


def tracebacks_wanted() -> bool:
    """The environment variable RANKFILL_TRACEBACK shows where an error comes from."""
    return bool(os.environ.get("RANKFILL_TRACEBACK"))


def in_words(error: BaseException) -> str:
    """One line for an error of any of the kinds of `BAD_INPUT`."""
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, MemoryError):
        return one_line(f"not enough memory: {error}" if str(error) else "not enough memory")
    if isinstance(error, OSError) and error.strerror:
        return one_line(_system(error))
    return one_line(as_options(str(error)))


def _usage(error: Exception) -> str:
    message = one_line(error.format_message()).rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "rankfill"
    return f"{message}{' See' if message.endswith('?') else '; see'} {command} --help"


def _system(error: OSError) -> str:
    path = error.filename2 or error.filename
    where = f"{path}: " if path else ""
    if isinstance(error, FileNotFoundError):
        return f"{where}there is no such file; check the path"
    if isinstance(error, IsADirectoryError):
        return f"{where}this is a folder; give a file"
    if isinstance(error, PermissionError):
        return f"{where}permission denied; choose another place, or change the permissions"
    if error.errno in _NO_ROOM:
        return f"{where}{(error.strerror or '').lower()}; free some space, or choose another place"
    return f"{where}{(error.strerror or '').lower()}"


def as_options(message: str) -> str:
    """Arguments of the library as options of the command line: columns=("a", "b") is --columns a,b."""
    return re.sub(r'\b(\w+)=(?:"([\w-]+)"|\(("[^()]*")\))', _option, message)


def _option(argument: re.Match[str]) -> str:
    name, word, several = argument.groups()
    value = word or several.replace('"', "").replace(" ", "")
    return f"--{name.replace('_', '-')} {value}"


def one_line(text: str) -> str:
    """The text on one line that one can read, whatever a file or a caller put into it."""
    return shorten(printable(" ".join(text.split())), _LONGEST)
