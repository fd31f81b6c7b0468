"""``ddz rules``, ``ddz actions``, ``ddz agents``, ``ddz version``: what there is to choose from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from training.cli.console import console
from training.cli.help import RULES, unmarked

if TYPE_CHECKING:
    from ddz_env import Rules


def rules(
    preset: Annotated[
        str | None, typer.Argument(help="A preset, with options if wanted (bidding,doubling=true); all by default.")
    ] = None,
) -> None:
    """List the rule presets, or the rules of one."""
    from ddz_env import PRESETS, Rules

    if preset is None:
        _print_presets(PRESETS)
        return
    chosen, plain = Rules.preset(preset), Rules()
    table = _table(f"Rules {preset}", "option", "value", "standard, where it differs")
    for field in dataclasses.fields(Rules):
        value, usual = getattr(chosen, field.name), getattr(plain, field.name)
        table.add_row(field.name, _text(value), "" if value == usual else _text(usual))
    console().print(table)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print_presets(presets: dict[str, Rules]) -> None:
    """One row a preset: what differs from the standard rules."""
    from ddz_env import Rules

    table = _table("Rule presets", "preset", "differs from standard in")
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
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
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
    noun = "action" if len(parsed.actions) == 1 else "actions"
    console().print(f"{parsed}: {parsed.category}; {noun} {stages}", markup=False)


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

    table = _table(f"{NUM_ACTIONS} actions", "ids", "category", "first", "last", "kickers")
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


def agents(name: Annotated[str | None, typer.Argument(help="An agent; all of them by default.")] = None) -> None:
    """List the named agents, or the options of one."""
    from ddz_env.registry import agent_names

    if name is not None:
        _print_options(name)
        return
    table = _table("Agents", "name", "what it is, and its options with their defaults")
    for known in agent_names():
        table.add_row(known, Text.assemble(_summary(known), (_defaults(known), "dim")), end_section=True)
    screen = console()
    screen.print(table)
    screen.print(
        "Options follow a colon: isuct:iterations=2000,trees=4; ddz agents NAME explains them.  Every agent takes "
        "bidder=AGENT, who bids and doubles in its place.  Your own: mymodule:MyAgent, from the current directory.",
        style="dim",
        markup=False,
    )


def _defaults(name: str) -> str:
    """A line with an agent's options, as they would be written; empty if it has none or is not available."""
    from ddz_env.registry import agent_options

    try:
        written = ", ".join(f"{option.name}={option.written}" for option in agent_options(name))
    except ImportError:
        return ""
    return f"\n{written}" if written else ""


def _summary(name: str) -> str:
    """The first paragraph of an agent's documentation."""
    import inspect

    from ddz_env.registry import agent_factory

    try:
        return unmarked(" ".join((inspect.getdoc(agent_factory(name)) or "").partition("\n\n")[0].split()))
    except ImportError as error:
        return f"not available: {error}"


def _print_options(name: str) -> None:
    """One row an option: what it is by default, what it may be, and what it means."""
    from ddz_env.registry import agent_options

    options, screen = agent_options(name), console()
    screen.print(_summary(name), markup=False)
    if not options:
        screen.print(f"{name} has no options.", markup=False)
        return
    table = _table(f"Options of {name}", "option", "default", "values", "meaning")
    for option in options:
        table.add_row(*map(escape, (option.name, option.written, option.values, unmarked(option.meaning))))
    screen.print(table)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in headings:
        table.add_column(heading, style="cyan" if heading == headings[0] else None, no_wrap=heading == headings[0])
    return table


def version() -> None:
    """Print the version."""
    from ddz_env import __version__

    typer.echo(f"ddz-env {__version__}")
