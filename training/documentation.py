"""The generated parts of the docs: tables computed from the code, written between markers.

A generated block in a page looks like ``<!-- table: actions -->`` ... ``<!-- end -->``; ``ddz docs`` rewrites every
block, ``ddz docs --check`` (and a test) refuses a page that is out of date.  Tables of experiments are computed from
the results that lie beside the page, in ``results/``; the README and the model card, which lies beside the shipped
weights, have those of the checkout's ``docs/``.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ddz_env.actions import (
    BID_BASE,
    CATEGORIES,
    DOUBLE_BASE,
    KICKER_BASE,
    MAIN_GROUPS,
    NUM_ACTIONS,
    SEGMENTS,
    action_name,
)
from ddz_env.cards import RANK_NAMES
from ddz_env.errors import DouDizhuError
from ddz_env.observation import OBSERVATION, STATE, Layout
from ddz_env.options import _meanings
from ddz_env.registry import agent_options
from ddz_env.rules import PRESETS, Rules, differing_options
from training.experiments.full_games import points, points_range
from training.experiments.full_reports import REPORTS
from training.experiments.policy_strength import STRENGTH_HEADER, StrengthResult, strength_cells
from training.experiments.result_table import read_results
from training.experiments.search_gains import GAIN_HEADER, GainResult, gain_cells, in_order
from training.experiments.search_options import (
    WITHOUT_INFERENCE,
    DealResult,
    deal_result,
    option_cells,
    paired_gain,
)
from training.experiments.training_curves import STAGE_HEADER, load_training, stage_cells

_BLOCK = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class StaleDocsError(DouDizhuError):
    """A page's generated tables are out of date, or name a table that does not exist."""


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [list(header), *([str(cell) for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def action_table() -> str:
    """One line a category: ids, how many, an example."""
    rows: list[tuple[object, ...]] = []
    for index, category in enumerate(CATEGORIES):
        groups = [group for group in MAIN_GROUPS if group.category == index]
        segments = [segment for segment in SEGMENTS if segment.category == index]
        lengths = f"{segments[0].length}–{segments[-1].length}" if len(segments) > 1 else "–"
        kickers = "–"
        if category.kicker_size:
            what = "solo" if category.kicker_size == 1 else "pair"
            each = "each link" if len(segments) > 1 else ""
            kickers = f"{category.kickers_per_link} {what}{'s' if category.kickers_per_link > 1 else ''} {each}".strip()
        ids = f"{groups[0].id}–{groups[-1].id}" if len(groups) > 1 else str(groups[0].id)
        example = groups[0].name.removeprefix(category.name).strip() or "pass"
        rows.append((ids, category.name, len(groups), lengths, kickers, f"`{example}`"))
    rows.append((f"{KICKER_BASE}–{BID_BASE - 1}", "kicker rank", len(RANK_NAMES), "–", "–", "`kicker 3`"))
    rows.append(
        (f"{BID_BASE}–{DOUBLE_BASE - 1}", "bid", DOUBLE_BASE - BID_BASE, "–", "–", f"`{action_name(BID_BASE)}`")
    )
    last = NUM_ACTIONS - DOUBLE_BASE
    rows.append((f"{DOUBLE_BASE}–{NUM_ACTIONS - 1}", "doubling", last, "–", "–", f"`{action_name(DOUBLE_BASE)}`"))
    return _table(("ids", "category", "count", "length", "kickers", "first"), rows)


def _layout_table(layout: Layout) -> str:
    return _table(("bytes", "feature", "range", "meaning"), layout.rows())


def observation_table() -> str:
    """The observation vector, feature by feature."""
    return _layout_table(OBSERVATION)


def state_table() -> str:
    """The full state vector for centralized critics, feature by feature."""
    return _layout_table(STATE)


def preset_table() -> str:
    """What each preset sets, option by option, where presets differ."""
    rows: list[list[object]] = [
        [f"`{option}`", *(getattr(rules, option) for rules in PRESETS.values())] for option in differing_options()
    ]
    rows.append(["quads with kickers", *("quad+2 solos" in rules.categories for rules in PRESETS.values())])
    rows.append(["shuttles", *("shuttle" in rules.categories for rules in PRESETS.values())])
    names = [f"`{name}`" for name in PRESETS]
    return _table(("option", *names), ([_plain(cell) for cell in row] for row in rows))


def _plain(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def option_table() -> str:
    """The fields of :class:`Rules` with their meaning, from its docstring."""
    text = (Rules.__doc__ or "").split("Attributes:")[1]
    entries = re.findall(r"^ {8}(\w+): (.*?)(?=^ {8}\w+: |\Z)", text, re.DOTALL | re.MULTILINE)
    return _table(("option", "meaning"), ((f"`{name}`", " ".join(what.split())) for name, what in entries))


def agent_table(name: str) -> str:
    """The options of an agent."""
    lines = (
        (f"`{option.name}`", _default(option.default), option.values, option.meaning) for option in agent_options(name)
    )
    return _table(("option", "default", "values", "meaning"), lines)


def config_table(config: type[Any]) -> str:
    """The settings of a training, those of a part of them behind its name."""
    return _table(("setting", "default", "meaning"), _settings(config))


def _settings(config: type[Any], before: str = "") -> Iterable[tuple[str, str, str]]:
    told = _meanings(config)
    for field in dataclasses.fields(config):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if dataclasses.is_dataclass(default):
            yield from _settings(type(default), f"{before}{field.name}.")
        else:
            yield f"`{before}{field.name}`", _default(default), told.get(field.name, "")


def _default(value: object) -> str:
    """A default as the command line takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _selfplay_table() -> str:
    from training.ppo.config import SelfPlayConfig

    return config_table(SelfPlayConfig)


def experiment_table(name: str, results: Path) -> Callable[[], str] | None:
    """The table of an experiment by its name in a page; None if there is no such experiment.

    Args:
        name: One of :data:`MINI_TABLES`, :data:`OPTION_TABLES` and :data:`LEARNING_TABLES`, or ``full-`` and a report
            of :mod:`training.experiments.full_reports`, perhaps with a variant of its file.
        results: Where the files are.
    """
    if name in MINI_TABLES:
        return functools.partial(_mini_uct_table, results)
    if name in OPTION_TABLES:
        return functools.partial(_search_options_table, results / f"{name.replace('-', '_')}.csv")
    if name in LEARNING_TABLES:
        return functools.partial(LEARNING_TABLES[name], results)
    prefix, _, rest = name.partition("-")
    kind, _, variant = rest.partition("-")
    if prefix != "full" or kind not in REPORTS:
        return None
    source = REPORTS[kind].source + (f"_{variant.replace('-', '_')}" if variant else "")
    return functools.partial(_experiment_table, kind, results / f"full_{source}.csv")


def _mini_uct_table(results: Path) -> str:
    """Player 1's win rate on Mini as our searches are and as the paper's are."""
    from training.experiments.mini_uct import PAPER_RATES, deal_results, rate_cells

    lines = []
    for name, what in MINI_UCT_FILES.items():
        if not (results / name).exists():
            return f"*There are no results yet: this table is computed from `{results.name}/{name}`.*"
        settings, rows = read_results(results / name)
        games = settings["games"]
        lines.append((what, f"`{name}`", f"{games * len(rows):,}", *rate_cells(deal_results(rows), games)))
    header = ("finishing moves", "file", "games each", "information-set %", "determinized %")
    return _table(header, [*lines, ("paper", "", "", *PAPER_RATES.values())])


def _search_options_table(path: Path) -> str:
    """Options of the search at equal time, with the budgets that were calibrated."""
    if not path.exists():
        return f"*There are no results yet: this table is computed from `{path.parent.name}/{path.name}`.*"
    _, budget_rows = read_results(path.with_name(f"{path.stem}_budgets.csv"))
    budgets = {row["variant"]: row for row in budget_rows}
    settings, rows = read_results(path)
    results = [deal_result(row) for row in rows]
    lines = []
    for variant, opponent, *cells in option_cells(results):
        budget = budgets[variant]
        milliseconds = f"{float(budget['microseconds']) / 1000:.2f}"
        lines.append((variant, opponent, budget["iterations"], milliseconds, *cells))
    header = ("variant", "against", "iterations", "ms", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    plain = budgets["plain"]
    source = (
        f"Duplicate deals from number {min(result.deal for result in results):,} on under seed {settings['seed']}, "
        f"`{path.parent.name}/{path.name}`. `plain` has {int(plain['iterations']):,} iterations and "
        f"{float(plain['microseconds']) / 1000:.2f} ms a decision."
    )
    return "\n\n".join([_table(header, lines), " ".join([source, *_gains_by_inference(results)])])


def _gains_by_inference(results: Sequence[DealResult]) -> list[str]:
    """A sentence for each pair of rows that differ in inference alone."""
    played = dict.fromkeys((result.variant, result.opponent) for result in results)
    sentences = []
    for variant, opponent in played:
        base = WITHOUT_INFERENCE.get(variant)
        if base is not None and (base, opponent) in played:
            gain = paired_gain(results, variant, base, opponent)
            told = f"{points(gain)} points ({points_range(gain)}), paired by deal"
            sentences.append(f"Against `{opponent}`, {variant} over {base}: {told}.")
    return sentences


def _policy_strength_table(results: Path) -> str:
    """What the shipped policy wins, alone and in the search."""
    path = results / "policy_strength.csv"
    if not path.exists():
        return f"*There are no results yet: this table is computed from `{results.name}/{path.name}`.*"
    settings, rows = read_results(path)
    table = _table(STRENGTH_HEADER, strength_cells([StrengthResult.of_row(row) for row in rows]))
    first = min(int(row["deal"]) for row in rows)
    source = f"Duplicate deals from number {first:,} on under seed {settings['seed']}, `{results.name}/{path.name}`"
    return f"{table}\n\n{source}; the weights are `{settings['weights']}`."


def _search_gains_table(results: Path) -> str:
    """What the decisions of searches over the policy are worth."""
    path = results / "search_gains.csv"
    if not path.exists():
        return f"*There are no results yet: this table is computed from `{results.name}/{path.name}`.*"
    settings, rows = read_results(path)
    table = _table(GAIN_HEADER, gain_cells(in_order([GainResult.of_row(row) for row in rows])))
    source = f"`{results.name}/{path.name}`, seed {settings['seed']}, {settings['playouts']} games to value a move"
    return f"{table}\n\n{source}; the weights are `{settings['weights']}`."


def _policy_rates_table(results: Path) -> str:
    """Win rates of the shipped policy alone, for a page that has no room for more."""
    path = results / "policy_strength.csv"
    if not path.exists():
        return f"*There are no results yet: this table is computed from `{results.name}/{path.name}`.*"
    lines = strength_cells([StrengthResult.of_row(row) for row in read_results(path)[1]])
    return _table(("agents", "N", "win %"), ((f"{line[0]} v {line[1]}", *line[2:4]) for line in lines))


def _training_table(results: Path) -> str:
    """The stages of the training and what they took."""
    if not (results / "training_curves.csv").exists():
        return f"*There are no results yet: this table is computed from `{results.name}/training_curves.csv`.*"
    return _table(STAGE_HEADER, stage_cells(load_training(results)))


def _training_plot(results: Path) -> str:
    """The picture of the training's curves."""
    path = results.parent / "images" / "training_curves.png"
    if not path.exists():
        return f"*There is no plot yet: `ddz train curves` draws `{path.parent.name}/{path.name}`.*"
    return f"![Win rates during training]({path.parent.name}/{path.name})"


def _experiment_table(kind: str, path: Path) -> str:
    if not path.exists():
        return f"*There are no results yet: this table is computed from `{path.parent.name}/{path.name}`.*"
    settings, rows = read_results(path)
    header, cells = REPORTS[kind].table(rows)
    agents = "; ".join(f"{part}: `{spec}`" for part, spec in settings.get("agents", {}).items())
    source = f"{len(rows):,} games in `{path.parent.name}/{path.name}`" + (f". {agents}." if agents else ".")
    return f"{_table(header, cells)}\n\n{source}"


TABLES: dict[str, Callable[[], str]] = {
    "actions": action_table,
    "observation": observation_table,
    "state": state_table,
    "presets": preset_table,
    "options": option_table,
    "config-selfplay": _selfplay_table,
    **{f"agent-{name}": functools.partial(agent_table, name) for name in ("neural-ismcts", "policy")},
}
"""Every table of the code that a page may ask for; those of experiments are :data:`EXPERIMENT_TABLES`."""

OPTION_TABLES = ("search-options", "search-options-inference")
"""Tables of options at equal time; the second is of those that need more of it."""

MINI_TABLES = ("mini-uct",)
"""Tables of experiments on Mini."""

LEARNING_TABLES: dict[str, Callable[[Path], str]] = {
    "policy-strength": _policy_strength_table,
    "policy-rates": _policy_rates_table,
    "search-gains": _search_gains_table,
    "training-stages": _training_table,
    "training-plot": _training_plot,
}
"""Tables and the picture of learning, from the folder of results."""

MINI_UCT_FILES = {
    "mini_uct.csv": "taken at once, in simulations and by the agent",
    "mini_uct_plain.csv": "not taken at once (`--no-finish`): the paper to the letter",
}
"""The files of ``ddz reproduce mini-uct`` that the page compares, and what they differ in."""

EXPERIMENT_TABLES: tuple[str, ...] = (
    *(f"full-{name}" for name in REPORTS),
    *OPTION_TABLES,
    *MINI_TABLES,
    *LEARNING_TABLES,
)
"""Tables of experiments.  Of those on the full game a page may add a variant to the name: ``full-landlord-plain`` is
the table of ``results/full_landlord_plain.csv``."""


def refreshed(text: str, results: Path = Path("docs/results")) -> str:
    """Return a page with its generated blocks rewritten.

    Args:
        text: The page.
        results: Where the results of experiments are.

    Raises:
        StaleDocsError: If a block names a table that does not exist.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        table = TABLES.get(name) or experiment_table(name, results)
        if table is None:
            known = ", ".join((*TABLES, *EXPERIMENT_TABLES))
            raise StaleDocsError(f"no table is called {name!r}; there are {known}")
        return f"{match[1]}{table()}\n{match[3]}"

    return _BLOCK.sub(block, text)


MODEL_CARD = Path("agents/neural/shipped/MODEL_CARD.md")
README = Path("README.md")
"""The generated pages outside ``docs/``, from the root of the checkout."""


def generated_pages(root: Path) -> list[Path]:
    """All pages of a checkout that may have generated blocks."""
    pages = (root / README, *sorted((root / "docs").glob("*.md")), root / MODEL_CARD)
    return [page for page in pages if page.is_file()]


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
    stale = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        new = refreshed(text, _results_of(page))
        if new != text:
            stale.append(page)
            if not check:
                page.write_text(new, encoding="utf-8")
    if check and stale:
        raise StaleDocsError(f"out of date: {', '.join(map(str, stale))}; run `ddz docs`")
    return stale
