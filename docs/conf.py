"""How Sphinx makes the site from these pages: ``make site``."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.search.en import SearchEnglish

from ddz_env import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for what makes the tables

from generate import on_site

project = "ddz-env"
author = "The ddz-env authors"
copyright = author
release = __version__

extensions = [
    "myst_parser",
    "sphinx_external_toc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.githubpages",
]
exclude_patterns = ["results"]

# Links to headings, by the names that a code host gives them.
myst_heading_anchors = 4

# The reference: what a module documents, in the order of its source, with the names that are defined there.
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
_OPTIONAL = (
    "datasets",
    "onnxruntime",
    "pyarrow",
    "pyspiel",
    "ray",
    "rlcard",
    "sb3_contrib",
    "stable_baselines3",
    "torch",
)
autodoc_mock_imports = [name for name in _OPTIONAL if find_spec(name) is None]
napoleon_use_ivar = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"ddz-env {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

_OUTSIDE = re.compile(r"\]\(((?:\.\./)+(?:agents|results|tests)/[^)#]*)(?:#[^)]*)?\)")
_PROJECT = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")


_MODULE = re.compile(r"(?m)^- `([\w.]+)`$")


def _lead_outside(_app: Any, _page: str, source: list[str]) -> None:
    """Links to files that are not pages, which a code host shows, become downloads, or the page that includes them."""
    text = _OUTSIDE.sub(r"](path:\1)", source[0])
    source[0] = _PROJECT.sub(lambda link: f"](/project/{link[1].lower()}.md", text)


def _fill(_app: Any, page: str, source: list[str]) -> None:
    """Programs, and the docstrings of the modules that the pages in ``reference/api`` list."""
    source[0] = on_site(source[0])
    if page.startswith("reference/api/"):
        source[0] = _MODULE.sub(_documented, source[0])


def _documented(match: re.Match[str]) -> str:
    """A module's heading and docstrings; a package's with what it offers from its modules."""
    spec = find_spec(match[1])
    packages = "   :imported-members:\n" if spec and spec.submodule_search_locations else ""
    return f"## {match[1]}\n\n```{{eval-rst}}\n.. automodule:: {match[1]}\n{packages}```\n"


class Search(SearchEnglish):
    """English, and Chinese by all parts of up to four characters, since there are no blanks between the words.

    What is searched for is taken apart likewise: from left to right, the longest part that any page has.
    """

    js_splitter_code = r"""
function splitQuery(query) {
  const found = [];
  const known = (part) => part in Search._index.terms || part in Search._index.titleterms;
  for (const run of query.match(/[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])[\p{Letter}\p{Number}_])+/gu) ?? []) {
    if (!/[\u4e00-\u9fff]/.test(run)) found.push(run);
    else for (let at = 0, size; at < run.length; at += size) {
      size = [4, 3, 2].find((n) => at + n <= run.length && known(run.slice(at, at + n))) ?? 1;
      found.push(run.slice(at, at + size));
    }
  }
  return found;
}
"""

    def split(self, input: str) -> list[str]:
        """The words that the index holds of a text."""
        runs = re.findall(r"[\u4e00-\u9fff]+", input)
        parts = {run[at : at + size] for run in runs for size in range(1, 5) for at in range(len(run) - size + 1)}
        return super().split(input) + sorted(parts)


def setup(app: Any) -> None:
    """Let Sphinx know of these."""
    app.add_search_language(Search)
    app.connect("source-read", _lead_outside)
    app.connect("source-read", _fill)
