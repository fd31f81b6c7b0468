"""What the table shows in a terminal: positions, moves, ranked advice, and where hidden cards are expected."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from ddz_training.apps.cli.console import console, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddz_env import State, View
    from ddz_env.playing.thoughts import Belief
    from ddz_env.table.session import Advice, Group, Option, Session, Turn
    from ddz_training.experiments.experiment import Lines

_WIDTH = 80
"""Columns where there is no terminal."""
_BAR = 10
_MOST_GROUPS, _MOST_KICKERS, _MOST_ALSO = 8, 3, 3
_LINE = 6
"""Moves of an expected line that are shown."""
_LEAST_BOMB = 0.05


class Board:
    """What a person reads, in one language, on 80 columns or as many as the terminal has.

    Args:
        language: ``en`` or ``zh``.
        suits: Whether cards have suits.  They are invented for one observer: where a game can be looked at from
            several seats, no card could keep its suit without telling what the others hold.

    Raises:
        InvalidOptionError: If there is no such language.
    """

    def __init__(self, language: str, *, suits: bool = True) -> None:
        from ddz_env.table.texts import Texts

        self.say = Texts(language)
        self._suits = suits
        self.screen = console()
        if not self.screen.is_terminal:
            self.screen.width = min(self.screen.width, _WIDTH)

    def line(self, key: str, style: str | None = None, **values: object) -> None:
        """A text by its key."""
        self.text(self.say(key, **values), style)

    def copied(self, key: str, style: str | None = None, **values: object) -> None:
        """A text by its key in which a path, a command or an agent's name stands: it is never folded."""
        tell(self.say(key, **values), style, screen=self.screen)

    def text(self, text: str, style: str | None = None) -> None:
        """Any text."""
        self.screen.print(text, markup=False, style=style)

    def complain(self, error: Exception) -> None:
        """What was wrong; what is said of a card or a move names no file, and is folded."""
        from ddz_env.core.errors import IllegalMoveError, InvalidHandError, InvalidMoveError

        said = self.say.complaint(error)
        if isinstance(error, (IllegalMoveError, InvalidHandError, InvalidMoveError)):
            self.text(said, "red")
        else:
            tell(said, "red", screen=self.screen)

    def ask(self, prompt: str) -> str:
        """What a person types; where it comes from a file or a pipe it is written down, as a terminal does.

        Raises:
            EOFError: At the end of the input.
        """
        text = self.screen.input(Text(self.say("asked for", what=prompt)))
        if not sys.stdin.isatty():
            self.text(text)
        return text.strip()

    def position(self, position: State | View, viewer: int | None = None) -> None:
        """The table with the cards that a position has: a view is its seat's, a state has every hand."""
        from ddz_env.table.render import render_ansi

        text = render_ansi(
            position,
            perspective=viewer,
            reveal=True,
            width=self.screen.width,
            language=self.say.language,
            suits=self._suits,
        )
        self.screen.print()
        self.screen.print(Text.from_ansi(text))

    def turn(self, session: Session, turn: Turn) -> None:
        """A move that was made."""
        role, player = self.say(session.role(turn.seat)), session.players[turn.seat]
        move = self.say.move(session.worded(turn.move, turn.number))
        self.copied("made", seat=turn.seat, role=role, player=player, move=move)
        if turn.redealt:
            self.line("redealt")

    def moves(self, session: Session) -> None:
        """The legal moves of the seat to act, by kind."""
        from ddz_training.apps.cli.dialogue import moves_table

        self.screen.print(moves_table(session.view(session.seat).legal_moves(), self.say, session.worded))

    def thought(self, advice: Advice) -> None:
        """What an agent compared, on one line; nothing where it tells nothing."""
        rated = [one for one in advice.options[1:] if self._value(one)]
        others = [f"{self._name(one, advice.question)} ({self._value(one)})" for one in rated]
        own = self._value(advice.options[0])
        if own:
            parts = [self.say("chance", percent=own) if advice.chance is not None else own]
            if others:
                parts.append(self.say("also", moves="  ".join(others[:_MOST_ALSO])))
            self.text(f"    {' · '.join(parts)}", "dim")

    def advice(self, advice: Advice) -> None:
        """What an agent would play, and its ranked moves: main groups, and below them the kickers."""
        percent = _percent(advice.chance)
        told = self.say("would play", agent=advice.agent, move=self.say.move(advice.said(advice.options[0])))
        tell(told + (f" ({self.say('chance', percent=percent)})" if percent else ""), "bold", screen=self.screen)
        if len(advice.options) < 2:
            return
        value = "chance column" if advice.chance is not None else "score column"
        groups = advice.groups
        lines = [line for group in groups[:_MOST_GROUPS] for line in self._lines(group, advice.question)]
        notes = [self.say("more moves", number=len(groups) - _MOST_GROUPS)] if len(groups) > _MOST_GROUPS else []
        if advice.chance is not None and advice.options[0].visits:
            notes.append(self.say("tried out"))
        header = [self.say(key) for key in ("move column", value, "visits column", "line column")]
        self._table(header, lines, " · ".join(notes))

    def belief(self, belief: Belief, view: View, agent: str) -> None:
        """Where an agent expects the hidden cards: a row a holder, a column a rank."""
        from ddz_env.core.cards import RANK_NAMES
        from ddz_env.playing.thoughts import NOBODY

        expected, unseen = belief.expected(), view.unseen.counts
        ranks = [rank for rank, count in enumerate(unseen) if count]
        self.copied("believes", agent=agent)
        holders = [seat for seat in range(view.rules.players) if seat != view.seat]
        lines = [
            (
                self.say("nobody holds") if holder == NOBODY else self.say("holder", seat=holder),
                *(f"{expected[holder, rank]:.1f}" for rank in ranks),
            )
            for holder in (*holders, NOBODY)
            if expected[holder].sum() > 0
        ]
        self._table(("", *(RANK_NAMES[rank] for rank in ranks)), lines)
        for seat in holders:
            fours = [(belief.chances[seat, rank, 4], RANK_NAMES[rank] * 4) for rank in ranks]
            likely = sorted((one for one in fours if one[0] >= _LEAST_BOMB), reverse=True)
            if likely:
                self.line("may bomb", seat=seat, bombs="  ".join(f"{cards} ({_percent(p)})" for p, cards in likely))

    def _table(self, header: Sequence[str], lines: Lines, note: str = "") -> None:
        from ddz_training.apps.cli.fitting import print_table
        from ddz_training.experiments.experiment import Table

        print_table(self.screen, Table("", header, lines, note))

    def _lines(self, group: Group, asked: str) -> Iterator[tuple[str, ...]]:
        """A main group; where its kickers differ, some of them below it."""
        from ddz_env.core.actions import action_name

        first = group.options[0]
        if len(group.options) == 1:
            yield self._line(self._name(first, asked), first)
            return
        yield action_name(group.main).rpartition(" ")[2], self._bar(group.chance), _count(group.visits), ""
        for option in group.options[:_MOST_KICKERS]:
            yield self._line(f"  {self._name(option, asked)}", option)
        if len(group.options) > _MOST_KICKERS:
            yield f"  {self.say('more kickers', number=len(group.options) - _MOST_KICKERS)}", "", "", ""

    def _line(self, name: str, option: Option) -> tuple[str, ...]:
        value = self._bar(option.chance) if option.score is None else f"{option.score:+.2f}"
        return name, value, _count(option.visits), " ".join(self.say.move(move) for move in option.line[:_LINE])

    def _bar(self, chance: float | None) -> str:
        """A bar and a percentage."""
        if chance is None:
            return ""
        filled = round(chance * _BAR)
        full, empty = ("█", "░") if self.screen.encoding.lower().startswith("utf") else ("#", ".")
        return f"{full * filled}{empty * (_BAR - filled)} {_percent(chance):>6}"

    def _name(self, option: Option, asked: str) -> str:
        from ddz_env.core.notation import worded

        if option.move is None:
            return self.say.move(option.text.rpartition(" ")[2])
        return self.say.move(worded(option.move, asked))

    def _value(self, option: Option) -> str:
        return _percent(option.chance) if option.score is None else f"{option.score:+.2f}"


def _percent(chance: float | None) -> str:
    return "" if chance is None else f"{100 * chance:.1f} %"


def _count(visits: int | None) -> str:
    return "" if visits is None else f"{visits:,}"
