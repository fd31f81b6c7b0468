"""The generated parts of the docs: tables computed from the code, written between markers.

A generated block in a page looks like ``<!-- table: actions -->`` ... ``<!-- end -->``; ``ddz docs`` rewrites every
block, ``ddz docs --check`` (and a test) refuses a page that is out of date.  ``<!-- table: search-gains without games;
all * -->`` leaves out a column, by its heading, and the rows that begin so (``*`` is any text).  A block named like
``<!-- site: mini-pairs -->`` is on the built site only: programs that lie in the checkout, and further results.
Tables of experiments are computed from the results in the checkout's ``docs/results/``, also those of the README and of
the model card, which lies beside the shipped weights.  The notebooks' badges and install lines get the repository's
address, which only ``pyproject.toml`` has.
"""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import importlib
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.observation import OBSERVATION, STATE
from ddz_env.core.options import as_written, meanings
from ddz_env.core.rules import PRESETS, Rules, differing_options
from ddz_env.envs.outputs import INFOS
from ddz_env.playing.registry import GROUP, agent_names
from ddz_training.apps import integrations, strengths, tables
from ddz_training.data.dataset import columns_table
from ddz_training.data.games import RecordedGame
from ddz_training.experiments import training_curves
from ddz_training.experiments.experiment import Table
from ddz_training.experiments.registry import load_experiments
from ddz_training.measure.benchmark import leaderboard
from ddz_training.measure.markdown import markdown_table

_BLOCK = re.compile(
    r"(<!-- table: (?P<name>[\w-]+)(?: without (?P<without>(?:(?!-->).)+?))? -->\n).*?((?:# )?<!-- end -->)", re.DOTALL
)
"""In the head of a model card, which is YAML, the markers come after ``# ``."""
_ON_SITE = re.compile(r"(?m)^<!-- site: ([\w-]+) -->$")
_REPOSITORY = re.compile(r'(?m)^Repository = "https://github\.com/([^"]+)"$')
_ADDRESSED = re.compile(r"(colab\.research\.google\.com/github/|clone --depth 1 https://github\.com/)[^/\s]+/[\w.-]+")
"""What names the repository: the badges and the install lines of the notebooks."""


class StaleDocsError(DouDizhuError):
    """A page's generated tables are out of date, or name a table that does not exist."""


def info_table() -> str:
    """What every info holds, as numbers and as text."""
    rows = [(f"`{info.key}`", info.numbers, f"`{info.text_key}`", info.text, info.meaning) for info in INFOS]
    return markdown_table(("key", "number (`np.int64`)", 'key with `infos="text"`', "value", "meaning"), rows)


def preset_table() -> str:
    """What each preset sets, option by option, where presets differ."""
    rows: list[list[object]] = [
        [f"`{option}`", *(getattr(rules, option) for rules in PRESETS.values())] for option in differing_options()
    ]
    rows.append(["quads with kickers", *("quad+2 solos" in rules.categories for rules in PRESETS.values())])
    rows.append(["shuttles", *("shuttle" in rules.categories for rules in PRESETS.values())])
    names = [f"`{name}`" for name in PRESETS]
    return markdown_table(("option", *names), ([_plain(cell) for cell in row] for row in rows))


def _plain(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def meaning_table(what: str, kind: type[Any]) -> str:
    """The fields of a dataclass with their meaning, from its docstring."""
    meaning = meanings(kind)
    lines = ((f"`{field.name}`", meaning[field.name]) for field in dataclasses.fields(kind))
    return markdown_table((what, "meaning"), _safe(lines))


def agent_options_tables() -> str:
    """The options of every agent that has some, each under a heading."""
    every = {name: tables.options_of(name) for name in agent_names()}
    return "\n\n".join(f"### `{name}`\n\n{_page_table(table)}" for name, table in every.items() if table.lines)


def agents_table() -> str:
    """What each named agent is, from the first paragraph of its docstring; nothing that it needs is imported."""
    agents = sorted((entry.name, _summary(entry.module, entry.attr)) for entry in metadata.entry_points(group=GROUP))
    return markdown_table(("agent", "what it is"), _safe((f"`{name}`", about) for name, about in agents))


def opening(text: str | None) -> str:
    """The first paragraph of a text, on one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _summary(module: str, name: str) -> str:
    """The first paragraph of the docstring of a module's class or function, read from the source."""
    found = find_spec(module)
    if found is None or found.origin is None:
        raise StaleDocsError(f"the package does not have the module {module}")
    source = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    kinds = ast.ClassDef | ast.FunctionDef
    [defined] = [node for node in source.body if isinstance(node, kinds) and node.name == name]
    return opening(ast.get_docstring(defined))


ROOMS = {"ddz_env": "ddz_env", "ddz_agents": "agents/ddz_agents", "ddz_training": "training/ddz_training"}
"""The packages, and where they lie in a checkout."""


def folders_table() -> str:
    """The folders of each package, from the first sentences of their docstrings."""
    rows = []
    for package, folder in ROOMS.items():
        [where] = getattr(find_spec(package), "submodule_search_locations", None) or [folder]
        for file in (Path(where) / "__init__.py", *sorted(Path(where).glob("*/__init__.py"))):
            about = opening(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))))
            path = "/".join((folder, *file.parent.relative_to(where).parts))
            rows.append((f"`{path}/`", re.split(r"(?<=\.) ", about)[0]))
    return markdown_table(("folder", "what it holds"), _safe(rows))


def experiment_table() -> str:
    """What each experiment repeats or measures."""
    rows = ((f"`{one.name}`", one.source, opening(one.about)) for one in load_experiments())
    return markdown_table(("experiment", "source", "what"), _safe(rows))


def config_table(config: type[Any]) -> str:
    """The settings of a training, those of a part of them behind its name."""
    return markdown_table(("setting", "default", "meaning"), _safe(_settings(config)))


def _settings(config: type[Any], before: str = "") -> Iterable[tuple[str, str, str]]:
    meaning = meanings(config)
    for field in dataclasses.fields(config):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if dataclasses.is_dataclass(default):
            yield from _settings(type(default), f"{before}{field.name}.")
        else:
            yield f"`{before}{field.name}`", as_written(default) or "none", meaning.get(field.name, "")


def _page_table(table: Table) -> str:
    return markdown_table(table.header, _safe(table.lines))


def _safe(lines: Iterable[Iterable[str]]) -> Iterable[list[str]]:
    """Cells of a docstring's text as Markdown: without roles, and with bars that do not end them."""
    role = re.compile(r":\w+:`~?([^`<]*?)(?: <[^>]*>)?`")
    return ([role.sub(r"`\1`", cell).replace("``", "`").replace("|", "\\|") for cell in line] for line in lines)


def _named(place: str) -> Any:
    """What ``module:name`` names, imported when it is needed."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def input_table(network: str) -> str:
    """What a network reads."""
    inputs = _named(f"ddz_agents.neural.columns:{network.upper()}_INPUTS")
    return markdown_table(("input", "columns", "what"), inputs.rows())


TABLES: dict[str, Callable[[], str]] = {
    "actions": lambda: _page_table(tables.action_table()),
    "observation": lambda: _page_table(tables.layout_table("Observation", OBSERVATION)),
    "state": lambda: _page_table(tables.layout_table("State", STATE)),
    "infos": info_table,
    "presets": preset_table,
    "preset-differences": lambda: _page_table(tables.preset_differences()),
    "options": lambda: meaning_table("option", Rules),
    "agents": agents_table,
    "agent-options": agent_options_tables,
    "experiments": experiment_table,
    "folders": folders_table,
    "data-columns": columns_table,
    "data-games": lambda: meaning_table("field", RecordedGame),
    "commands": lambda: str(_named("ddz_training.apps.cli:commands_table")()),
    "config-selfplay": lambda: config_table(_named("ddz_training.learn.ppo.config:SelfPlayConfig")),
    "config-sb3": lambda: config_table(_named("ddz_training.learn.sb3.train:Sb3Config")),
    "inputs-policy": lambda: input_table("policy"),
    "inputs-rest": lambda: input_table("rest"),
    "inputs-critic": lambda: input_table("critic"),
}
"""Tables of the code.  Those of trainings need PyTorch."""


def sabotage_table(results: Path) -> str:
    """What ``python -m tests.sabotage --out`` counted."""
    document = json.loads((results / "sabotage.json").read_text(encoding="utf-8"))
    rows = [
        (outcome["kind"], outcome["left_out"] or f"{outcome['tried']:,}", outcome["failed"], outcome["promise"])
        for outcome in document["outcomes"]
    ]
    table = markdown_table(("what was tried", "attempts", "did not hold", "what must hold"), rows)
    machine = document["machine"]
    where = f"{machine['system']}, Python {machine['python']}, {machine['cores']} cores"
    return f"{table}\n\n{where}, seed {document['seed']}."


def _measured(results: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The machine and the contenders of the file that ``make bench ARGS='--json FILE'`` writes, with their medians."""
    document = json.loads((results / "speeds.json").read_text(encoding="utf-8"))
    rows = [{**row, "median": median(row["values"])} for row in document["measurements"]]
    return document["machine"], rows


def _speed(row: dict[str, Any]) -> str:
    """A median with three digits."""
    value = row["median"]
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f} {row['unit']}"


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:,.1f} ×" if row["beside"] else ""


def speeds_table(results: Path) -> str:
    """A line a contender, its measurement named in the first, and the machine and the versions below them."""
    machine, rows = _measured(results)
    titles = ["", *(row["title"] for row in rows)]
    lines = [
        ("" if title == before else title, row["name"] + " (peer)" * bool(row["beside"]), _speed(row), _ratio(row))
        for (before, title), row in zip(itertools.pairwise(titles), rows, strict=True)
    ]
    system = machine["system"].partition("-")[0]
    where = f"{machine['cores']} cores, {machine['cpu']}, {system}, Python {machine['python']}"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    table = markdown_table(("what", "contender", "median", "ours ÷ peer"), lines)
    return "\n\n".join([table, where, versions, f"Load at the start: {machine['load']}."])


def speed_ratios_table(results: Path) -> str:
    """A line a peer: ours, the peer, and the ratio."""
    _, rows = _measured(results)
    ours = {row["name"]: row for row in rows}
    lines = [
        (row["title"], _speed(ours[row["beside"]]), _speed(row), row["name"], _ratio(row))
        for row in rows
        if row["beside"]
    ]
    return markdown_table(("what", "ddz-env", "peer", "which", "ratio"), lines)


_PAGES: dict[str, Callable[[Path], str]] = {
    **training_curves.PAGES,
    **leaderboard.PAGES,
    "sabotage": sabotage_table,
    "speeds": speeds_table,
    "speed-ratios": speed_ratios_table,
}


def experiment_tables(results: Path = Path("docs/results")) -> list[str]:
    """The names of the blocks that are computed from results, and of the programs that are shown beside them."""
    every = [name for experiment in load_experiments() for name in (*experiment.tables, *experiment.pages)]
    return [*every, *_PAGES, *integrations.pages(results)]


def block(name: str, results: Path) -> str:
    """A generated block of a page.

    Args:
        name: The name in the page's marker.
        results: Where the results of experiments are.

    Raises:
        StaleDocsError: If there is no such block.
    """
    if name in TABLES:
        return TABLES[name]()
    try:
        if make_page := (_PAGES | integrations.pages(results)).get(name):
            return make_page(results)
        for experiment in load_experiments():
            if make := experiment.block(name, results):
                return make()
    except FileNotFoundError as error:
        path = Path(error.filename)
        return f"*There are no results yet: this table is computed from `{path.parent.name}/{path.name}`.*"
    known = ", ".join((*TABLES, *experiment_tables(results)))
    raise StaleDocsError(f"no table is called {name!r}; there are {known}")


def refreshed(text: str, results: Path = Path("docs/results")) -> str:
    """Return a page with its generated blocks rewritten.

    Args:
        text: The page.
        results: Where the results of experiments are.

    Raises:
        StaleDocsError: If a block names a table that does not exist, or leaves out what the table does not have.
    """

    def written(match: re.Match[str]) -> str:
        table = block(match["name"], results)
        return f"{match[1]}{_thinned(table, match['without']) if match['without'] else table}\n{match[4]}"

    return _BLOCK.sub(written, text)


def _thinned(table: str, without: str) -> str:
    """A table without some columns, by their headings, and without the rows that begin with some text."""
    names = [" ".join(name.split()) for name in without.split(";")]
    head = table.partition("\n")[0][2:-2].split(" | ")
    kept = [place for place, heading in enumerate(head) if heading not in names]
    starts, used, lines = tuple(name for name in names if name not in head), set(), []
    for line in table.splitlines():
        cells = re.split(r" \| ", line[2:-2]) if line.startswith("| ") else []
        if begins := [start for start in starts if cells and fnmatch.fnmatchcase(" | ".join(cells), f"{start}*")]:
            used.update(begins)
        else:
            lines.append(f"| {' | '.join(cells[place] for place in kept)} |" if cells else line)
    if unknown := [name for name in starts if name not in used]:
        raise StaleDocsError(f"a table with the columns {', '.join(head)} has neither column nor row {unknown[0]!r}")
    return "\n".join(lines)


def on_site(text: str, results: Path) -> str:
    """Return a page with the blocks that only the built site shows.

    Args:
        text: The page.
        results: Where the results of experiments are.

    Raises:
        StaleDocsError: If a marker names a table that does not exist.
    """
    return _ON_SITE.sub(lambda match: block(match[1], results), text)


MODEL_CARD = Path("agents/ddz_agents/neural/shipped/MODEL_CARD.md")
ABOVE = ("README.md", "README.zh.md", "CONTRIBUTING.md")
"""The generated pages outside ``docs/``, from the root of the checkout."""


def generated_pages(root: Path) -> list[Path]:
    """All pages and notebooks of a checkout that may have generated parts."""
    above = (root / name for name in ABOVE)
    below = (*sorted((root / "docs").rglob("*.md")), *sorted((root / "notebooks").glob("*.ipynb")))
    return [page for page in (*above, *below, root / MODEL_CARD) if page.is_file()]


def _addressed(text: str, page: Path) -> str:
    """A page whose badges and install lines have the repository's address."""
    projects = (folder / "pyproject.toml" for folder in page.absolute().parents)
    project = next((file for file in projects if file.is_file()), None)
    found = project and _REPOSITORY.search(project.read_text(encoding="utf-8"))
    return _ADDRESSED.sub(rf"\g<1>{found[1]}", text) if found else text


def _results_of(page: Path) -> Path:
    """Where the results for a page are: beside it, or in the ``docs`` of a folder above."""
    beside = page.parent / "results"
    above = [root / "docs" / "results" for root in page.absolute().parents]
    return next((folder for folder in (beside, *above) if folder.is_dir()), beside)


def refresh(pages: Iterable[Path], *, check: bool = False) -> list[Path]:
    """Rewrite the generated blocks of pages.

    Args:
        pages: Markdown files.
        check: Raise instead of writing.

    Returns:
        The pages that were out of date.

    Raises:
        StaleDocsError: If ``check`` and a page is out of date.
    """
    texts = {page: refreshed(page.read_text(encoding="utf-8"), _results_of(page)) for page in pages}
    return _rewrite({page: _addressed(text, page) for page, text in texts.items()}, check)


def refresh_strengths(*, check: bool = False) -> list[Path]:
    """Write the strengths that ``ddz agents`` shows (they are not a page) from the results of this checkout.

    The arguments, and what it returns and raises, are those of :func:`refresh`.
    """
    return _rewrite({strengths.FILE: strengths.written(strengths.measured(Path("docs/results")))}, check)


def _rewrite(texts: Mapping[Path, str], check: bool) -> list[Path]:
    """Write the files that have other texts, and return them."""
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        raise StaleDocsError(f"out of date: {', '.join(map(str, stale))}; run `ddz docs`")
    for path in stale:
        path.write_text(texts[path], encoding="utf-8")
    return stale
