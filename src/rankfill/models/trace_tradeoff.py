"""The trace trade-off: ½ Σ_Ω (r − w)² + λ ‖W‖_* by factors whose rank grows until nothing is left to gain.

G. Zeng, H. Zhu, Q. Liu, P. Luo, E. Chen, T. Zhang, *Matrix Factorization with Scale-Invariant Parameters*, IJCAI 2015,
eq. 18 and 20 with theorem 4.2, after M. Journée, F. Bach, P.-A. Absil, R. Sepulchre, SIAM J. Optim. 2010. Their
F(X) = Σ (R − X)² + λ tr X over X ⪰ 0 counts every rating twice: with twice the λ of here, F = 4 J. The objective, the
certificate and the settings that all trace-norm models share are in `trace_norm.py`, the solver in `rank_growth.py`.
"""

from collections.abc import Iterator

from rankfill.linalg import LowRank
from rankfill.models.rank_growth import RankGrowth
from rankfill.models.trace_norm import Iterate, Offset, Problem, TraceNormModel, Weighting


class TraceTradeoff(TraceNormModel):
    """Convex completion by factors whose rank grows until nothing is left to gain: quick, and with a proof.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    penalty: How far singular values are pulled to zero; more gives a lower rank. None: the level of noise in the data.

    >>> from rankfill import Ratings, TraceTradeoff
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = TraceTradeoff(penalty=0.5, offset="none").fit(ratings)
    >>> model.predict(0, [2]).round()  # nobody likes the last one
    array([1.], dtype=float32)
    >>> model.history_[-1].gap < 1e-4  # within 0.01 % of the best possible
    True
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        offset: Offset = "bias",
        weighting: Weighting = "constant",
        gap: float | None = None,
        passes: int = 50,
        tol: float | None = 1e-5,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.offset: Offset = offset
        self.weighting: Weighting = weighting
        self.gap = gap
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    def _iterates(self, problem: Problem, start: LowRank) -> Iterator[Iterate]:
        growth = RankGrowth(problem, seed=self.seed)
        current = problem.iterate(start)
        if start.rank == 0:
            for penalty in self._falling_penalties(problem):
                current = growth.passed(current, penalty)
                yield current
        while True:
            current = growth.passed(current, self.penalty_)
            yield current
