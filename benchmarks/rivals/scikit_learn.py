"""scikit-learn: present so that the table says why it is absent."""

from benchmarks.rivals.base import Rival


class ScikitLearn(Rival):
    name = "scikit-learn NMF"
    package = "sklearn"

    def available(self) -> str | None:
        """Its factorisations know no unknown entries, its imputers no sparse matrices."""
        return super().available() or "NMF and TruncatedSVD take a missing rating for a zero, imputers need dense input"


ENTRY = ScikitLearn
