"""The ``ddz agents`` and ``ddz show`` commands, which explain agents, rules, actions and observations."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from click import argument, option

from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_training.cli.console import print_prose, print_table
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.options import RULES
from ddz_training.measure.markdown import Table

if TYPE_CHECKING:
    from ddz_env.support.options import Option
    from ddz_training.cli.tables import Strength

ABLATIONS = ("rules-without", "rules-tuned", "policy-without")
"""Agents of experiments, with something taken away or changed; the list has them last."""
_NOTE = (
    "wins %: games won against rules on duplicate deals, standard rules, 95 % interval; – is not measured. ms: "
    "milliseconds per move; neural-ismcts takes three times as long with a policy that is seldom sure, eight times "
    "with an SB3 zip. payoff and payoff-search are for rules with an auction; determinized-minimax, expectimax and "
    "cheating-minimax for --rules mini; rlcard-rule needs the extra rlcard, policy-raw the extra onnx, douzero its "
    "files, botzone a program. ddz agents NAME explains one and its options, which follow a colon: "
    "isuct:iterations=2000,trees=4. Every agent takes bidder=AGENT, who bids and doubles in its place. Your own: "
    "mymodule:MyAgent, from the current directory."
)


@click.command()
@argument("name", required=False, help="An agent, or your own (mymodule:MyAgent); all agents by default.")
def agents(name: str | None) -> None:
    """List the agents with their strength, time and needs, or explain one and its options.

    \b
    Examples:
      ddz agents
      ddz agents isuct
      ddz agents mymodule:MyAgent
    """
    if name is None:
        _list_agents()
    else:
        _explain_agent(name)


def _list_agents() -> None:
    """Print the levels, then one line per agent: the strongest first, unmeasured agents and ablations last."""
    from ddz_env.playing.registry import LEVELS, list_agent_names
    from ddz_training.cli.tables import read_strengths

    measured = read_strengths()
    lines = [
        (
            level.name,
            *_strength_cells(measured.get(level.agent)),
            f"level: {level.agent}, {level.elo:+} Elo where rules is 0",
        )
        for level in LEVELS
    ]
    names = sorted(
        list_agent_names(), key=lambda name: (name in ABLATIONS, -measured[name].wins.mean if name in measured else 1.0)
    )
    lines += [(name, *_strength_cells(measured.get(name)), _summarize_agent(name)) for name in names]
    print_table(Table("Agents", ("agent", "wins %", "ms", "what it is"), lines, _NOTE), sections=[len(LEVELS) - 1])


def _strength_cells(strength: Strength | None) -> tuple[str, str]:
    """Format an agent's win rate against the rule agent and its milliseconds per move as table cells."""
    if strength is None:
        return "–", "–"
    wins = "50" if not strength.wins.half_width > 0 else strength.wins.text_with_range(".0f", to="–")
    return wins, f"{strength.ms:.2g}" if strength.ms < 10 else f"{strength.ms:.0f}"


def _summarize_agent(name: str) -> str:
    """Return the first paragraph of an agent's documentation, without markup."""
    from ddz_env.playing.registry import POLICIES, find_agent_factory

    if policy := next((policy for policy in POLICIES if policy.name == name), None):
        return strip_markup(policy.meaning)
    try:
        about = inspect.getdoc(find_agent_factory(name)) or ""
    except ImportError as error:
        return f"not available: {error}"
    return first_paragraph(about)


def first_paragraph(about: str) -> str:
    """Return the first paragraph of a docstring as plain text for the screen."""
    return strip_markup(" ".join(about.partition("\n\n")[0].split()))


def strip_markup(text: str) -> str:
    """Remove Sphinx roles and backquotes from a docstring's text."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


def _explain_agent(name: str) -> None:
    """Print what an agent is, how strong it is, and a table of its options with defaults, values and meanings."""
    from ddz_env.playing.registry import LEVELS, list_agent_options
    from ddz_training.cli.tables import read_strengths

    level = next((level for level in LEVELS if level.name == name), None)
    if level is not None:
        print_prose(f"The level {name} is {level.agent}, {level.elo:+} Elo points where rules is 0.")
        name = level.agent.partition(":")[0]
    if summary := _summarize_agent(name):
        print_prose(summary)
    if level is None and (strength := read_strengths().get(name)) is not None and name != "rules":
        won = f"{strength.wins.text_with_range(to='–')} % against rules (docs/results/{strength.source})"
        print_prose(f"With these options it wins {won}, {strength.ms:.2g} ms per move.", dim=True)
    print_options(name, list_agent_options(name))


def print_options(what: str, options: Iterable[Option]) -> None:
    """Print a table of options as plain text, or a note that there are no options."""
    from ddz_training.cli.tables import make_options_table

    table = make_options_table(what, options)
    if table.lines:
        print_table(dataclasses.replace(table, lines=[tuple(map(strip_markup, line)) for line in table.lines]))
    else:
        print_prose(f"{what} names no options.")


# --- the game ----------------------------------------------------------------


@click.group(name="show")
def show_group() -> None:
    """Show the rules, actions and observations of the game.

    \b
    Example:
      ddz show rules
    """


@show_group.command()
@argument("preset", required=False, help="A preset, with options if wanted; all by default.")
def rules(preset: str | None) -> None:
    """List the rule presets, or the rules of one.

    \b
    Examples:
      ddz show rules
      ddz show rules bidding,doubling=true
    """
    from ddz_env import Rules
    from ddz_env.support.options import format_option_value
    from ddz_training.cli.tables import make_preset_table

    if preset is None:
        print_table(make_preset_table())
        return
    chosen, standard, lines = Rules.preset(preset), Rules(), []
    for field in dataclasses.fields(Rules):
        values = [format_option_value(getattr(rules, field.name)).replace(",", ", ") for rules in (chosen, standard)]
        lines.append((field.name, values[0], "" if values[0] == values[1] else values[1]))
    print_table(Table(f"Rules {preset}", ("option", "value", "standard, where it differs"), lines))


@show_group.command()
@argument("move", nargs=-1, help="A move or an action id to explain.")
@option("--rules", default="standard", help=RULES)
def actions(move: tuple[str, ...], rules: str) -> None:
    """List the action table, or explain a move or an action id.

    \b
    Examples:
      ddz show actions
      ddz show actions 333444+57
      ddz show actions 42
    """
    from ddz_env.core.actions import NUM_ACTIONS, action_name
    from ddz_env.core.notation import Move
    from ddz_training.cli.tables import make_action_table

    text = " ".join(move)
    if not text:
        print_table(make_action_table())
        return
    try:
        parsed = Move.parse(text, rules)
    except DouDizhuError:  # 33 is a pair, 17 is not
        if not text.isdecimal():
            raise
        if not int(text) < NUM_ACTIONS:
            why = f"{short_repr(text)} is neither a move nor an action id, of 0 to {NUM_ACTIONS - 1}"
            raise CommandLineError(why) from None
        click.echo(f"action {int(text)}: {action_name(int(text))}")
        return
    stages = ", ".join(f"{action} ({action_name(action)})" for action in parsed.actions)
    click.echo(f"{parsed}: {parsed.category}; {'actions' if len(parsed.actions) > 1 else 'action'} {stages}")


@show_group.command()
@option("--state", is_flag=True, help="The bytes of env.state() instead.")
def observation(state: bool) -> None:
    """List the bytes of an observation, or of the state for centralized critics.

    \b
    Examples:
      ddz show observation
      ddz show observation --state
    """
    from ddz_env.core.observation import OBSERVATION, STATE
    from ddz_training.cli.tables import make_layout_table

    print_table(make_layout_table("State", STATE) if state else make_layout_table("Observation", OBSERVATION))
