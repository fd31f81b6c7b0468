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

from api_pages import MODULES

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
templates_path = ["templates"]

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
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "demo.html",  # leads to the recorded games, which `make site` puts beside the pages
        "sidebar/scroll-end.html",
    ]
}
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"ddz-env {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

_OUTSIDE = re.compile(r"\]\(((?:\.\./)+(?:agents|results|tests)/[^)#]*)(?:#[^)]*)?\)")
_PROJECT = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")
_SIGNATURES = re.compile(r"<!-- table: api-(\w+) -->.*<!-- end -->", re.DOTALL)


def _prepare(_app: Any, page: str, source: list[str]) -> None:
    """A page as the site has it."""
    folder, _, name = page.rpartition("/")
    source[0] = _whole_file(name) if folder == "project" else _lead_outside(_SIGNATURES.sub(_docstrings, source[0]))


def _whole_file(name: str) -> str:
    """A file at the top of the repository; the page in its place leads a code host's readers to it."""
    hidden = "---\nnosearch: true\n---\n\n" if name == "changelog" else ""
    return f"{hidden}```{{include}} ../../{name.upper()}.md\n:relative-docs: docs/\n```\n"


def _lead_outside(text: str) -> str:
    """Links to files that are not pages, which a code host shows, become downloads, or the page that includes them."""
    return _PROJECT.sub(lambda link: f"](/project/{link[1].lower()}.md", _OUTSIDE.sub(r"](path:\1)", text))


def _docstrings(page: re.Match[str]) -> str:
    """Whole docstrings, in place of the signatures that a page has."""
    return "\n".join(map(_documented, MODULES[page[1]]))


def _documented(module: str) -> str:
    """A module's heading and docstrings; a package's with what it offers from its modules."""
    spec = find_spec(module)
    packages = "   :imported-members:\n" if spec and spec.submodule_search_locations else ""
    return f"## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n{packages}```\n"


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
    app.connect("source-read", _prepare)
