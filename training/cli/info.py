"""``ddz rules``, ``ddz actions``, ``ddz agents``, ``ddz version``: what there is to choose from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from training.cli.console import console

if TYPE_CHECKING:
    from ddz_env import Rules


def rules(
    preset: Annotated[str | None, typer.Argument(help="A preset; all of them by default.")] = None,
) -> None:
    """List the rule presets, or everything in one."""
    from ddz_env import PRESETS, Rules

    if preset is None:
        _print_presets(PRESETS)
        return
    chosen, plain = Rules.preset(preset), Rules()
    table = Table(title=f"Rules {preset}", title_justify="left", title_style="bold")
    table.add_column("option", style="cyan")
    table.add_column("value")
    table.add_column("standard, where it differs", style="dim")
    for field in dataclasses.fields(Rules):
        value, usual = getattr(chosen, field.name), getattr(plain, field.name)
        table.add_row(field.name, _text(value), "" if value == usual else _text(usual))
    console().print(table)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print_presets(presets: dict[str, Rules]) -> None:
    """One row a preset: what differs from the standard rules."""
    from ddz_env import Rules

    table = Table(title="Rule presets", title_justify="left", title_style="bold")
    table.add_column("preset", style="cyan")
    table.add_column("differs from standard in")
    for name, chosen in presets.items():
        changes = [
            f"{field.name}={_text(getattr(chosen, field.name))}"
            for field in dataclasses.fields(Rules)
            if field.name not in ("name", "categories", "deck") and getattr(chosen, field.name) != field.default
        ]
        changes += [field for field in ("categories", "deck") if getattr(chosen, field) != getattr(Rules(), field)]
        table.add_row(name, "; ".join(changes) or "–")
    screen = console()
    screen.print(table)
    screen.print("ddz rules PRESET shows one in full.", style="dim")


def actions(
    move: Annotated[list[str] | None, typer.Argument(help="A move or an action id to explain.")] = None,
    rules: Annotated[str, typer.Option(help="Rules preset under which a move is read.")] = "standard",
) -> None:
    """List the action table, or explain a move or an action id."""
    from ddz_env import Move
    from ddz_env.actions import NUM_ACTIONS, action_name

    if not move:
        console().print(_action_table())
        return
    text = " ".join(move)
    if text.isdecimal() and len(text) <= 3 and not _is_cards(text, rules) and int(text) < NUM_ACTIONS:
        console().print(f"action {int(text)}: {action_name(int(text))}", markup=False)
        return
    parsed = Move.parse(text, rules)
    stages = ", ".join(f"{action} ({action_name(action)})" for action in parsed.actions)
    console().print(f"{parsed}: {parsed.category}; actions {stages}", markup=False)


def _is_cards(text: str, rules: str) -> bool:
    """Whether digits are a move (33 is a pair, 17 is not)."""
    from ddz_env import Move
    from ddz_env.errors import DouDizhuError

    try:
        Move.parse(text, rules)
    except DouDizhuError:
        return False
    return True


def _action_table() -> Table:
    from ddz_env.actions import BID_BASE, CATEGORIES, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS, action_name

    table = Table(title=f"{NUM_ACTIONS} actions", title_justify="left", title_style="bold")
    for heading in ("ids", "category", "first", "last", "kickers"):
        table.add_column(heading)
    for index, category in enumerate(CATEGORIES):
        groups = [group for group in MAIN_GROUPS if group.category == index]
        size = {1: "solos", 2: "pairs"}.get(category.kicker_size, "")
        counts = sorted({group.kicker_count for group in groups})
        number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        ids = f"{groups[0].id}–{groups[-1].id}" if len(groups) > 1 else str(groups[0].id)
        table.add_row(ids, category.name, groups[0].name, groups[-1].name, f"{number} {size}" if size else "")
    for first, last, name in ((KICKER_BASE, BID_BASE - 1, "kicker rank"), (BID_BASE, NUM_ACTIONS - 1, "auction")):
        table.add_row(f"{first}–{last}", name, action_name(first), action_name(last), "")
    return table


def agents() -> None:
    """List the agents that have a name."""
    from ddz_env.registry import BUILT_IN, agent_names

    table = Table(title="Agents", title_justify="left", title_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("what it is")
    for name in agent_names():
        table.add_row(name, _summary(BUILT_IN[name]) if name in BUILT_IN else "of another distribution")
    screen = console()
    screen.print(table)
    screen.print(
        "Options follow a colon: isuct:iterations=2000.  Your own: mymodule:MyAgent, from the current directory.",
        style="dim",
        markup=False,
    )


def _summary(path: str) -> str:
    """The first line of the documentation of ``module:attribute``."""
    import importlib
    import inspect

    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        return f"not available: {error}"
    return (inspect.getdoc(found) or "").partition("\n")[0]


def version() -> None:
    """Print the version."""
    from ddz_env import __version__

    typer.echo(f"ddz-env {__version__}")
