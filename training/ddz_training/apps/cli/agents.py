"""``ddz agents``: whom one may choose, and what each is like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ddz_training.apps.cli.console import remark
from ddz_training.apps.cli.experiment import show
from ddz_training.apps.cli.help import unmarked

if TYPE_CHECKING:
    from ddz_training.apps.strengths import Strength


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
    "isuct-moves": Facts("isuct, moves as nodes"),
    "isuct-redetermined": Facts("isuct, own hand hidden"),
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


def agents(name: Annotated[str | None, typer.Argument(help="An agent; all of them by default.")] = None) -> None:
    """List the agents with their strength, time and needs, or explain one and its options."""
    if name is None:
        _list()
    else:
        _explain(name)


def _list() -> None:
    """A line an agent: who can be played at once, the strongest first, then experiments, then the others."""
    from ddz_env.playing.registry import agent_names
    from ddz_training.apps.strengths import strengths
    from ddz_training.experiments.experiment import Spare, Table

    measured, names = strengths(), agent_names()
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


def _cells(strength: Strength | None) -> tuple[str, str]:
    """The win rate against the rule agent, and milliseconds a move."""
    if strength is None:
        return "–", "–"
    wins = "50" if not strength.wins.half_width > 0 else strength.wins.both(".0f", to="–")
    return wins, f"{strength.ms:.2g}" if strength.ms < 10 else f"{strength.ms:.0f}"


def _summary(name: str) -> str:
    """The first paragraph of an agent's documentation."""
    from ddz_env.core.docstrings import docstring
    from ddz_env.playing.registry import agent_factory

    try:
        return unmarked(" ".join(docstring(agent_factory(name)).partition("\n\n")[0].split()))
    except ImportError as error:
        return f"not available: {error}"


def _explain(name: str) -> None:
    """What an agent is and reached, and a row an option: what it is by default, may be, and means."""
    from ddz_env.playing.registry import LEVELS, agent_options
    from ddz_training.apps.strengths import strengths
    from ddz_training.experiments.experiment import Table

    level = next((level for level in LEVELS if level.name == name), None)
    if level is not None:
        remark(f"The level {name} is {level.agent}, {level.elo:+} Elo points where rules is 0.", None)
        name = level.agent.partition(":")[0]
    options = agent_options(name)
    remark(_summary(name), None)
    if level is None and (strength := strengths().get(name)) is not None and name != "rules":
        won = f"{strength.wins.both(to='–')} % against rules (docs/results/{strength.source})"
        remark(f"With these options it wins {won}, {strength.ms:.2g} ms a move.")
    if not options:
        remark(f"{name} has no options.", None)
        return
    lines = [(option.name, option.written, option.values, unmarked(option.meaning)) for option in options]
    show(Table(f"Options of {name}", ("option", "default", "values", "meaning"), lines))
