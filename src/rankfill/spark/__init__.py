"""Training and answering on a Spark cluster, through data frames and Arrow alone.

Models that learn in half passes (`PassiveAggressive`, `ALS`, `CoordinateDescent` by rows, `Bias`) run the code they run
on one machine: Spark carries their steps to blocks of rows. What is fitted is an ordinary model, equal to the bit to
the one fitted here. The names are loaded when first used, so that the processes of the cluster import no more than
their task needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
