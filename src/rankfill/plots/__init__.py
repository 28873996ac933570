"""Pictures of how a model learned and of what it found. They are plain `Figure`s: no window, no global state."""

from rankfill.plots.curves import learning_curve
from rankfill.plots.penalties import penalty_path
from rankfill.plots.quality import quality_bars
from rankfill.plots.reasons import reasons_plot
from rankfill.plots.topic_panels import topics_plot
from rankfill.plots.traces import trace_plot

__all__ = ["learning_curve", "penalty_path", "quality_bars", "reasons_plot", "topics_plot", "trace_plot"]
