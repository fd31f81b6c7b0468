"""Tables of what the code says, which the command line shows and the pages have: actions, presets, agents' options."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from ddz_env.core import actions
from ddz_env.core.observation import Layout
from ddz_env.core.observation.layout import HISTORY, WORD
from ddz_env.core.options import Option, as_written
from ddz_env.core.rules import PRESETS, Rules, differing_options
from ddz_training.experiments.experiment import Table


def action_table() -> Table:
    """One line a category: ids, how many, an example."""
    rows: list[tuple[str, ...]] = []
    for index, category in enumerate(actions.CATEGORIES):
        groups = [group for group in actions.MAIN_GROUPS if group.category == index]
        segments = [segment for segment in actions.SEGMENTS if segment.category == index]
        lengths = f"{segments[0].length}–{segments[-1].length}" if len(segments) > 1 else "–"
        kickers = "–"
        if category.kicker_size:
            what = "solo" if category.kicker_size == 1 else "pair"
            each = "each link" if len(segments) > 1 else ""
            kickers = f"{category.kickers_per_link} {what}{'s' if category.kickers_per_link > 1 else ''} {each}".strip()
        ids = f"{groups[0].id}–{groups[-1].id}" if len(groups) > 1 else str(groups[0].id)
        example = groups[0].name.removeprefix(category.name).strip() or "pass"
        rows.append((ids, category.name, str(len(groups)), lengths, kickers, f"`{example}`"))
    bases = (actions.KICKER_BASE, actions.BID_BASE, actions.DOUBLE_BASE, actions.NUM_ACTIONS)
    for (base, end), what in zip(itertools.pairwise(bases), ("kicker rank", "bid", "doubling"), strict=True):
        rows.append((f"{base}–{end - 1}", what, str(end - base), "–", "–", f"`{actions.action_name(base)}`"))
    title = f"{actions.NUM_ACTIONS} actions"
    return Table(title, ("ids", "category", "count", "length", "kickers", "first"), rows)


def layout_table(title: str, layout: Layout) -> Table:
    """The features of a vector; the moves further back, which are alike, share a row."""
    rows = [row for row in layout.rows() if not re.fullmatch(r"(move|actor)_([2-9]|1\d)", row[1])]
    if (last := layout.offsets.get(f"actor_{HISTORY}")) is not None:
        place = next(number for number, row in enumerate(rows) if row[1] == "actor_1") + 1
        meaning = f"the same of the completed moves 2 to {HISTORY} back, {2 * WORD} bytes a move"
        older = f"{layout.offsets['move_2']}..{last}", f"move_2, actor_2 … actor_{HISTORY}", "likewise", meaning
        rows.insert(place, older)
    return Table(f"{title}, {layout.size} bytes", ("bytes", "feature", "range", "meaning"), rows)


def preset_differences() -> Table:
    """What each preset changes of the standard rules."""
    standard = Rules()
    rows = []
    for name, rules in PRESETS.items():
        options = (option for option in differing_options() if getattr(rules, option) != getattr(standard, option))
        changes = [f"`{option}={as_written(getattr(rules, option))}`" for option in options]
        changes += [
            f"other {field}" for field in ("categories", "deck") if getattr(rules, field) != getattr(standard, field)
        ]
        rows.append((f"`{name}`", ", ".join(changes) or "–"))
    note = "ddz show rules PRESET shows one in full."
    return Table("Rule presets", ("preset", "differs from `standard` in"), rows, note)


def options_table(what: str, options: Iterable[Option]) -> Table:
    """The options of an agent or an experiment."""
    lines = [(f"`{one.name}`", one.written, one.values, one.meaning) for one in options]
    return Table(f"Options of {what}", ("option", "default", "values", "meaning"), lines)
