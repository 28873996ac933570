"""Docstrings in the numpydoc format, taken apart: the command line prints them, a test compares them with the code."""

import inspect
import re
from typing import NamedTuple

_HEADING = re.compile(r"^([A-Z]\w*)\n-{3,}$", flags=re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(0-9−–-])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|eq|al|vs)\.$")


class Entry(NamedTuple):
    """One parameter or attribute: what stands behind the colon, and the lines below it as one line."""

    kind: str
    description: str

    @property
    def first_sentence(self) -> str:
        """
        >>> Entry("float", "Pull towards zero, cf. Koren (2009). By default chosen.").first_sentence
        'Pull towards zero, cf. Koren (2009).'
        """
        sentence = ""
        for part in _SENTENCE_END.split(self.description):
            sentence = f"{sentence} {part}".lstrip()
            if not _ABBREVIATION.search(part):
                break
        return sentence


class Docstring(NamedTuple):
    """A summary in one line, the paragraphs below it, and the sections by their headings."""

    summary: str
    text: str
    sections: dict[str, str]

    def entries(self, heading: str) -> dict[str, Entry]:
        """The entries of a section such as Parameters by their names; of several before one colon, each."""
        found: dict[str, Entry] = {}
        for entry in re.split(r"\n(?=\S)", self.sections.get(heading, "")):
            head, _, body = entry.partition("\n")
            names, _, kind = head.partition(" : ")
            for name in filter(None, (each.strip(" *") for each in names.split(","))):
                found[name] = Entry(kind.strip(), " ".join(body.split()))
        return found


def parse(doc: str | None) -> Docstring:
    """
    >>> doc = parse('''The first line.
    ...
    ... Some more.
    ...
    ... Parameters
    ... ----------
    ... rank : int, default=32
    ...     Number of factors.
    ...     More fit finer tastes.
    ... ''')
    >>> doc.summary, doc.text
    ('The first line.', 'Some more.')
    >>> doc.entries("Parameters")["rank"]
    Entry(kind='int, default=32', description='Number of factors. More fit finer tastes.')
    """
    introduction, *parts = _HEADING.split(inspect.cleandoc(doc or ""))
    summary, _, text = introduction.strip().partition("\n\n")
    sections = {heading: body.strip("\n") for heading, body in zip(parts[::2], parts[1::2], strict=True)}
    return Docstring(" ".join(summary.split()), text.strip(), sections)
