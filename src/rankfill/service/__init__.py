"""An HTTP service that learns from every rating before it answers, and loses none. Needs the extra `rankfill[service]`.

events.py     what a caller may send, checked
log.py        what was acknowledged, in SQLite
snapshots.py  the model as of a sequence number, in files
learning.py   how a model goes on learning, or stands in for that
writer.py     the one thread that commits, learns and publishes
turns.py      many readers or one writer
refit.py      fitting anew in the background
answers.py    what readers get;  topic_lists.py  what goes together
connections.py  connections that wait for no one
app.py        routes, limits, tokens;  openapi.py, metrics.py, page/: what their names say
"""

from rankfill.service.run import Settings, serve

__all__ = ["Settings", "serve"]
