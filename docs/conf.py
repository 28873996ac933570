"""The documentation site: `make docs` builds it, with the pictures of the gallery, into build/docs/html."""

import inspect
import logging
import re
from importlib.metadata import version as installed_version

import matplotlib as mpl
from docutils import nodes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

mpl.use("agg")
logging.getLogger("matplotlib").setLevel(logging.ERROR)

project = "rankfill"
author = "The rankfill developers"
project_copyright = "The rankfill developers, BSD 3-Clause"
version = release = installed_version("rankfill")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
default_role = "code_or_name"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "rankfill"
html_static_path = ["_static"]
html_css_files = ["rankfill.css"]
html_show_sourcelink = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def figures_of_rankfill(block, block_vars, gallery_conf):
    """What functions of rankfill have drawn in an example: pyplot, by which others are found, does not know it.

    Those of pyplot are marked as well. It forgets them once they are saved, and then they look like ours.
    """
    paths = []
    for value in block_vars["example_globals"].values():
        if not isinstance(value, Figure) or hasattr(value, "in_gallery"):
            continue
        value.in_gallery = True
        if value.canvas.manager is None:
            paths.append(next(block_vars["image_path_iterator"]))
            value.savefig(paths[-1])
    return figure_rst(paths, gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "image_scrapers": (figures_of_rankfill, "matplotlib"),
    "plot_gallery": "True",
    "abort_on_example_error": True,
}
suppress_warnings = ["config.cache"]


def code_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Docstrings put names of parameters and code between single backquotes: they are shown as code."""
    return [nodes.literal(rawtext, text)], []


def escape_attributes(app, what, name, obj, options, lines):
    """`shape (n_users, rank_)` in the type of an attribute is a name, not a link."""
    lines[:] = [re.sub(r"_(?=[,)])", r"\\_", line) if " : " in line else line for line in lines]


def signature_of_init(app, what, name, obj, options, signature, return_annotation):
    """Models take their settings in `__init__`; their `__new__` takes whatever comes."""
    if what != "class" or signature != "(*_, **__)":
        return None
    taken = [each.replace(annotation=each.empty) for each in inspect.signature(obj).parameters.values()]
    own = str(inspect.Signature(taken))
    return ("()" if own == signature else own), None


def setup(app):
    app.add_role("code_or_name", code_role)
    app.connect("autodoc-process-signature", signature_of_init)
    app.connect("autodoc-process-docstring", escape_attributes, priority=400)  # before numpydoc reads it
