"""``ddz agents``, ``rules``, ``actions`` and ``observation``: whom one may choose, and what the game is here."""

from __future__ import annotations

import dataclasses
import inspect

import ddz_env
from ddz_env.core.errors import DouDizhuError, shown
from ddz_env.core.options import as_written
from ddz_training.apps.cli.command import Argument, Command, CommandLineError, UnderRules, unmarked
from ddz_training.apps.cli.console import remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.measure.markdown import Table

with lazily():
    from ddz_env.core import actions, notation
    from ddz_env.core import observation as layouts
    from ddz_env.playing import registry
    from ddz_training.apps import strengths, tables

_NOTE = (
    "wins %: games won against rules on duplicate deals, standard rules, 95 % interval; – is not measured. ms: "
    "milliseconds a move; neural-ismcts takes three times as long with a policy that is seldom sure, eight times with "
    "an SB3 zip. payoff and payoff-search are for rules with an auction; determinized-minimax, expectimax and "
    "cheating-minimax for --rules mini; rlcard-rule needs the extra rlcard, douzero its files, botzone a program. ddz "
    "agents NAME explains one and its options, which follow a colon: isuct:iterations=2000,trees=4. Every agent takes "
    "bidder=AGENT, who bids and doubles in its place. Your own: mymodule:MyAgent, from the current directory. Levels, "
    "easy, medium, hard and master, are names for some of these: ddz agents easy says for which."
)


class AgentsCommand(Command, call="agents", heading="Compare"):
    """List the agents with their strength, time and needs, or explain one and its options.

    Attributes:
        name: An agent; all of them by default.

    Example:
        ddz agents
        ddz agents isuct
    """

    name: Argument[str | None] = None

    def run(self) -> None:
        """Print the list, or an agent's options."""
        if self.name is None:
            _list()
        else:
            _explain(self.name)


def _list() -> None:
    """A line an agent, the strongest first, those without a measurement last."""
    measured, names = strengths.strengths(), registry.agent_names()
    names.sort(key=lambda name: -measured[name].wins.mean if name in measured else 1.0)
    lines = [(name, *_cells(measured.get(name)), _summary(name)) for name in names]
    show(Table("Agents", ("agent", "wins %", "ms", "what it is"), lines, _NOTE))


def _cells(strength: strengths.Strength | None) -> tuple[str, str]:
    """The win rate against the rule agent, and milliseconds a move."""
    if strength is None:
        return "–", "–"
    wins = "50" if not strength.wins.half_width > 0 else strength.wins.both(".0f", to="–")
    return wins, f"{strength.ms:.2g}" if strength.ms < 10 else f"{strength.ms:.0f}"


def _summary(name: str) -> str:
    """The first paragraph of an agent's documentation."""
    try:
        about = inspect.getdoc(registry.agent_factory(name)) or ""
    except ImportError as error:
        return f"not available: {error}"
    return unmarked(" ".join(about.partition("\n\n")[0].split()))


def _explain(name: str) -> None:
    """What an agent is and reached, and a row an option: what it is by default, may be, and means."""
    level = next((level for level in registry.LEVELS if level.name == name), None)
    if level is not None:
        remark(f"The level {name} is {level.agent}, {level.elo:+} Elo points where rules is 0.")
        name = level.agent.partition(":")[0]
    remark(_summary(name))
    if level is None and (strength := strengths.strengths().get(name)) is not None and name != "rules":
        won = f"{strength.wins.both(to='–')} % against rules (docs/results/{strength.source})"
        remark(f"With these options it wins {won}, {strength.ms:.2g} ms a move.", dim=True)
    options = tables.options_of(name)
    if options.lines:
        show(dataclasses.replace(options, lines=[tuple(map(unmarked, line)) for line in options.lines]))
    else:
        remark(f"{name} has no options.")


# --- the game ----------------------------------------------------------------


class RulesCommand(Command, call="rules", heading="Play"):
    """List the rule presets, or the rules of one.

    Attributes:
        preset: A preset, with options if wanted (bidding,doubling=true); all by default.

    Example:
        ddz rules
        ddz rules bidding,doubling=true
    """

    preset: Argument[str | None] = None

    def run(self) -> None:
        """Print the table."""
        if self.preset is None:
            show(tables.preset_differences())
            return
        chosen, plain = ddz_env.Rules.preset(self.preset), ddz_env.Rules()
        lines = []
        for field in dataclasses.fields(ddz_env.Rules):
            value, usual = getattr(chosen, field.name), getattr(plain, field.name)
            lines.append((field.name, _text(value), "" if value == usual else _text(usual)))
        show(Table(f"Rules {self.preset}", ("option", "value", "standard, where it differs"), lines))


def _text(value: object) -> str:
    return as_written(value).replace(",", ", ")


class ActionsCommand(UnderRules, call="actions", heading="Borders"):
    """List the action table, or explain a move or an action id.

    Attributes:
        move: A move or an action id to explain.

    Example:
        ddz actions
        ddz actions 333444+57
        ddz actions 42
    """

    move: Argument[tuple[str, ...]] = ()

    def run(self) -> None:
        """Print the table, or what is explained."""
        text = " ".join(self.move)
        if not text:
            show(tables.action_table())
            return
        name = actions.action_name
        try:
            parsed = notation.Move.parse(text, self.rules)
        except DouDizhuError:  # 33 is a pair, 17 is not
            if not text.isdecimal():
                raise
            if not int(text) < actions.NUM_ACTIONS:
                last = actions.NUM_ACTIONS - 1
                raise CommandLineError(f"{shown(text)} is neither a move nor an action id, of 0 to {last}") from None
            tell(f"action {int(text)}: {name(int(text))}")
            return
        stages = ", ".join(f"{action} ({name(action)})" for action in parsed.actions)
        tell(f"{parsed}: {parsed.category}; {'actions' if len(parsed.actions) > 1 else 'action'} {stages}")


class ObservationCommand(Command, call="observation", heading="Borders"):
    """List the bytes of an observation, or of the state for centralized critics.

    Attributes:
        state: The bytes of env.state() instead.

    Example:
        ddz observation
        ddz observation --state
    """

    state: bool = False

    def run(self) -> None:
        """Print the table."""
        title, layout = ("State", layouts.STATE) if self.state else ("Observation", layouts.OBSERVATION)
        show(tables.layout_table(title, layout))
