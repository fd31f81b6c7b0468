"""``ddz agents``, ``rules`` and ``actions``: whom one may choose, and what the game is here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ddz_env import Move, Rules
from ddz_env.core.actions import NUM_ACTIONS, action_name
from ddz_env.core.docstrings import docstring
from ddz_env.core.errors import DouDizhuError, plural
from ddz_env.core.options import as_written
from ddz_env.playing.registry import LEVELS, agent_factory, agent_names
from ddz_training.apps.cli.commands import unmarked
from ddz_training.apps.cli.console import remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import Preset
from ddz_training.experiments.experiment import Spare, Table

with lazily():
    from ddz_training.apps import documentation, strengths, tables


class Facts(NamedTuple):
    """What the list says of an agent that no measurement says.

    Attributes:
        what: What it is, in a few words.
        needs: What it takes that not everybody has; empty for nothing.
    """

    what: str
    needs: str = ""


CHEATS, AUCTION, MINI = "all hands", "an auction", "Mini"
CHOICE: Mapping[str, Facts] = {
    "neural-ismcts": Facts("search with the policy"),
    "policy": Facts("trained policy"),
    "rollout": Facts("rollouts by rule agents"),
    "determinized-solver": Facts("rules, endgames solved"),
    "rules": Facts("rule agent"),
    "rules-tuned": Facts("rule agent, tuned"),
    "isuct": Facts("information-set UCT"),
    "duct": Facts("determinized UCT"),
    "expectiminimax": Facts("looks 4 moves ahead"),
    "random": Facts("random moves"),
}
"""Agents that anybody can play against."""
VARIANTS: Mapping[str, Facts] = {
    "policy-without": Facts("policy, an input hidden"),
    "rules-without": Facts("rules without one rule"),
    "random-staged": Facts("random by stages"),
}
"""Those that are for experiments."""
DEMANDING: Mapping[str, Facts] = {
    "solver": Facts("plays open cards exactly", CHEATS),
    "cheating-uct": Facts("UCT with open cards", CHEATS),
    "cheating-alpha-beta": Facts("alpha-beta, open cards", CHEATS),
    "rlcard-rule": Facts("RLCard's rule agent", "rlcard"),
    "payoff": Facts("bids by payoff", AUCTION),
    "payoff-search": Facts("bids by search", AUCTION),
    "determinized-minimax": Facts("exact, deal by deal", MINI),
    "expectimax": Facts("exact", MINI),
    "cheating-minimax": Facts("exact, open cards", MINI),
    "douzero": Facts("DouZero's networks", "its files"),
    "botzone": Facts("a bot of Botzone", "a program"),
}
"""Those that need something."""

_NOTE = (
    "wins %: games won against rules on duplicate deals, standard rules, 95 % interval; – is not measured. "
    "ms: milliseconds a move. Needs: all hands, it cheats; an auction, it plays the cards as rules do; Mini, --rules "
    "mini; rlcard, the extra of that name. ddz agents NAME explains one and its options, which follow a colon: "
    "isuct:iterations=2000,trees=4. Every agent takes bidder=AGENT, who bids and doubles in its place. Your own: "
    "mymodule:MyAgent, from the current directory. Levels, easy, medium, hard and master, are names for some of these: "
    "ddz agents easy says for which."
)


def agents(name: Annotated[str | None, typer.Argument()] = None) -> None:
    """List the agents with their strength, time and needs, or explain one and its options.

    Options:
        name: An agent; all of them by default.

    Example:
        ddz agents
        ddz agents isuct
    """
    if name is None:
        _list()
    else:
        _explain(name)


def _list() -> None:
    """A line an agent: who can be played at once, the strongest first, then experiments, then the others."""
    measured, names = strengths.strengths(), agent_names()
    foreign = {name: Facts(_summary(name)) for name in names if name not in {**CHOICE, **VARIANTS, **DEMANDING}}
    lines, sections = [], []
    for group in (CHOICE, VARIANTS, DEMANDING, foreign):
        known = [(name, facts) for name, facts in group.items() if name in names]
        known.sort(key=lambda one: -measured[one[0]].wins.mean if one[0] in measured else 0.0)
        lines += [(name, facts.what, *_cells(measured.get(name)), facts.needs) for name, facts in known]
        sections.append(len(lines) - 1)
    show(
        Table("Agents", ("agent", "what it is", "wins %", "ms", "needs"), lines, _NOTE, [Spare("ms")]),
        sections=sections,
    )


def _cells(strength: strengths.Strength | None) -> tuple[str, str]:
    """The win rate against the rule agent, and milliseconds a move."""
    if strength is None:
        return "–", "–"
    wins = "50" if not strength.wins.half_width > 0 else strength.wins.both(".0f", to="–")
    return wins, f"{strength.ms:.2g}" if strength.ms < 10 else f"{strength.ms:.0f}"


def _summary(name: str) -> str:
    """The first paragraph of an agent's documentation."""
    try:
        return unmarked(" ".join(docstring(agent_factory(name)).partition("\n\n")[0].split()))
    except ImportError as error:
        return f"not available: {error}"


def _explain(name: str) -> None:
    """What an agent is and reached, and a row an option: what it is by default, may be, and means."""
    level = next((level for level in LEVELS if level.name == name), None)
    if level is not None:
        remark(f"The level {name} is {level.agent}, {level.elo:+} Elo points where rules is 0.", None)
        name = level.agent.partition(":")[0]
    remark(_summary(name), None)
    if level is None and (strength := strengths.strengths().get(name)) is not None and name != "rules":
        won = f"{strength.wins.both(to='–')} % against rules (docs/results/{strength.source})"
        remark(f"With these options it wins {won}, {strength.ms:.2g} ms a move.")
    options = tables.options_of(name)
    if not options.lines:
        remark(f"{name} has no options.", None)
        return
    show(dataclasses.replace(options, lines=[tuple(map(unmarked, line)) for line in options.lines]))


# --- the game ----------------------------------------------------------------


def rules(preset: Annotated[str | None, typer.Argument()] = None) -> None:
    """List the rule presets, or the rules of one.

    Options:
        preset: A preset, with options if wanted (bidding,doubling=true); all by default.

    Example:
        ddz rules
        ddz rules bidding,doubling=true
    """
    if preset is None:
        show(tables.preset_differences())
        return
    chosen, plain = Rules.preset(preset), Rules()
    lines = []
    for field in dataclasses.fields(Rules):
        value, usual = getattr(chosen, field.name), getattr(plain, field.name)
        lines.append((field.name, _text(value), "" if value == usual else _text(usual)))
    show(Table(f"Rules {preset}", ("option", "value", "standard, where it differs"), lines))


def _text(value: object) -> str:
    return as_written(value).replace(",", ", ")


def actions(move: Annotated[list[str] | None, typer.Argument()] = None, rules: Preset = "standard") -> None:
    """List the action table, or explain a move or an action id.

    Options:
        move: A move or an action id to explain.

    Example:
        ddz actions
        ddz actions 333444+57
        ddz actions 42
    """
    if not move:
        show(tables.action_table())
        return
    text = " ".join(move)
    if text.isdecimal() and len(text) <= 3 and not _is_cards(text, rules) and int(text) < NUM_ACTIONS:
        tell(f"action {int(text)}: {action_name(int(text))}")
        return
    parsed = Move.parse(text, rules)
    stages = ", ".join(f"{action} ({action_name(action)})" for action in parsed.actions)
    tell(f"{parsed}: {parsed.category}; {'actions' if len(parsed.actions) > 1 else 'action'} {stages}")


def _is_cards(text: str, rules: str) -> bool:
    """Whether digits are a move (33 is a pair, 17 is not)."""
    try:
        Move.parse(text, rules)
    except DouDizhuError:
        return False
    return True


# --- for developers ----------------------------------------------------------


def docs(pages: Annotated[list[Path] | None, typer.Argument()] = None, check: bool = False) -> None:
    """Regenerate the tables of the docs pages (for developers, in a checkout).

    Options:
        pages: Pages; all those of this checkout by default.
        check: Fail if a page is out of date; write nothing.

    Example:
        ddz docs --check
    """
    chosen = pages or documentation.generated_pages(Path())
    if not chosen:
        raise documentation.StaleDocsError("there are no docs/**/*.md here: run this in a checkout, or name the pages")
    missing = [str(page) for page in chosen if not page.is_file()]
    if missing:
        raise documentation.StaleDocsError(f"no such page: {', '.join(missing)}")
    changed = documentation.refresh(chosen, check=check)
    if pages is None:
        changed += documentation.refresh_strengths(check=check)
    remark(f"{plural(len(chosen), 'page')}, {len(changed)} rewritten", None)
