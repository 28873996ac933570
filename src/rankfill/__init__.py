"""rankfill fills in huge, mostly empty matrices: ratings in; predictions, recommendations and readable topics out.

The public names are listed in `__init__.pyi` and loaded when first used: the command line answers at once, and
matplotlib comes only with the first picture.
"""

from importlib.metadata import version

import lazy_loader

__version__ = version("rankfill")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
