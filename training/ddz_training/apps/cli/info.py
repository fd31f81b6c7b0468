"""``ddz rules``, ``ddz actions`` and ``ddz --version``: what the game is here."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import tell
from ddz_training.apps.cli.experiment import show
from ddz_training.apps.cli.help import RULES

if TYPE_CHECKING:
    from ddz_env import Rules
    from ddz_training.experiments.experiment import Table


def rules(
    preset: Annotated[
        str | None, typer.Argument(help="A preset, with options if wanted (bidding,doubling=true); all by default.")
    ] = None,
) -> None:
    """List the rule presets, or the rules of one."""
    from ddz_env import PRESETS, Rules
    from ddz_training.experiments.experiment import Table

    if preset is None:
        _print_presets(PRESETS)
        return
    chosen, plain = Rules.preset(preset), Rules()
    lines = []
    for field in dataclasses.fields(Rules):
        value, usual = getattr(chosen, field.name), getattr(plain, field.name)
        lines.append((field.name, _text(value), "" if value == usual else _text(usual)))
    show(Table(f"Rules {preset}", ("option", "value", "standard, where it differs"), lines))


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print_presets(presets: dict[str, Rules]) -> None:
    """One row a preset: what differs from the standard rules."""
    from ddz_env import Rules
    from ddz_training.experiments.experiment import Table

    lines = []
    for name, chosen in presets.items():
        changes = [
            f"{field.name}={_text(getattr(chosen, field.name))}"
            for field in dataclasses.fields(Rules)
            if field.name not in ("name", "categories", "deck") and getattr(chosen, field.name) != field.default
        ]
        changes += [field for field in ("categories", "deck") if getattr(chosen, field) != getattr(Rules(), field)]
        lines.append((name, "; ".join(changes) or "–"))
    show(Table("Rule presets", ("preset", "differs from standard in"), lines, "ddz rules PRESET shows one in full."))


def actions(
    move: Annotated[list[str] | None, typer.Argument(help="A move or an action id to explain.")] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
) -> None:
    """List the action table, or explain a move or an action id."""
    from ddz_env import Move
    from ddz_env.core.actions import NUM_ACTIONS, action_name

    if not move:
        show(_action_table())
        return
    text = " ".join(move)
    if text.isdecimal() and len(text) <= 3 and not _is_cards(text, rules) and int(text) < NUM_ACTIONS:
        tell(f"action {int(text)}: {action_name(int(text))}")
        return
    parsed = Move.parse(text, rules)
    stages = ", ".join(f"{action} ({action_name(action)})" for action in parsed.actions)
    noun = "action" if len(parsed.actions) == 1 else "actions"
    tell(f"{parsed}: {parsed.category}; {noun} {stages}")


def _is_cards(text: str, rules: str) -> bool:
    """Whether digits are a move (33 is a pair, 17 is not)."""
    from ddz_env import Move
    from ddz_env.core.errors import DouDizhuError

    try:
        Move.parse(text, rules)
    except DouDizhuError:
        return False
    return True


def _action_table() -> Table:
    from ddz_env.core.actions import BID_BASE, CATEGORIES, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS, action_name
    from ddz_training.experiments.experiment import Table

    lines = []
    for index, category in enumerate(CATEGORIES):
        groups = [group for group in MAIN_GROUPS if group.category == index]
        size = {1: "solos", 2: "pairs"}.get(category.kicker_size, "")
        counts = sorted({group.kicker_count for group in groups})
        number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        ids = f"{groups[0].id}–{groups[-1].id}" if len(groups) > 1 else str(groups[0].id)
        lines.append((ids, category.name, groups[0].name, groups[-1].name, f"{number} {size}" if size else ""))
    for first, last, name in ((KICKER_BASE, BID_BASE - 1, "kicker rank"), (BID_BASE, NUM_ACTIONS - 1, "auction")):
        lines.append((f"{first}–{last}", name, action_name(first), action_name(last), ""))
    return Table(f"{NUM_ACTIONS} actions", ("ids", "category", "first", "last", "kickers"), lines)


def show_version() -> None:
    """Print the version."""
    from ddz_env import __version__

    typer.echo(f"ddz-env {__version__}")
