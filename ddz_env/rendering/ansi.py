"""The table as text: one line per seat, with cards as small coloured tiles where the terminal has colours.

Without colours the text is the same to the letter, so hands can be pasted into :meth:`ddz_env.Hand.parse`.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

from ddz_env.core.state import State
from ddz_env.core.view import View
from ddz_env.rendering.snapshot import SUITS_IN_ORDER, Card, Cards, LastMove, Seat, Snapshot, Suits, take_snapshot
from ddz_env.rendering.texts import Texts

_RESET = "\x1b[0m"
_RED_CARD = "\x1b[1;38;5;160;48;5;255m"
_BLACK_CARD = "\x1b[1;38;5;16;48;5;255m"
_BACK = "\x1b[38;5;189;48;5;25m"
_GOLD = "\x1b[1;33m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"

_ROLES = ("landlord", "peasant down", "peasant up", "peasant")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def render_ansi(
    game: State | View,
    *,
    perspective: int | None = None,
    colour: bool = True,
    reveal: bool = False,
    width: int | None = None,
    language: str = "en",
    highest_first: bool = False,
    suits: Suits | None = None,
) -> str:
    """Draw a game as text for a terminal: landlord cards, hands, last moves and whose turn it is.

    Args:
        game: A game, or what a seat knows of it (a view shows only that).
        perspective: The seat that looks; None shows every hand of a ``State``.
        colour: Whether to colour by ANSI escape sequences.
        reveal: Show every hand of a ``State``, with the suits that the perspective has seen so far.
        width: Characters of a line; longer lines are written more tightly (80 are enough for 20 cards).  None for any.
        language: ``en`` or ``zh``.
        highest_first: Whether hands begin with their highest card, as players hold them.
        suits: Which suit each copy of a rank has (:func:`ddz_env.rendering.snapshot.shuffle_suits`); in order if None.

    Returns:
        Some lines, the last without a line break.

    Raises:
        InvalidPictureError: If there is no such seat, or the perspective is not that of the view.
        InvalidOptionError: If there is no such language.

    Example:
        >>> print(render_ansi(State.from_hands(["34", "5", "6"], check_sizes=False), colour=False))
        standard · move 0 · stake 1 · bombs 0 · 50 undealt
        landlord cards  none
        > seat 0  landlord       2  3♠ 4♠
          seat 1  peasant down   1  5♠
          seat 2  peasant up     1  6♠
        seat 0 leads
    """
    table = take_snapshot(game, perspective, reveal=reveal, suits=SUITS_IN_ORDER if suits is None else suits)
    return _TableWriter(colour, width, Texts(language), -1 if highest_first else 1).write_table(table)


class _TableWriter:
    """A writer that formats tables as strings, in a given language and line width.

    Args:
        colour: Whether to colour.
        width: Characters of a line; None for any.
        say: The texts.
        order: 1 to write hands from the lowest card, -1 from the highest.
    """

    def __init__(self, colour: bool, width: int | None, say: Texts, order: int) -> None:
        self.colour, self.width, self.say, self.order = colour, width, say, order
        self.role_width = max(cell_len(say(role)) for role in _ROLES)
        self.seat_width = cell_len(say("seat", seat=0))

    def write_table(self, table: Snapshot) -> str:
        """Return the text of a whole table, one or more lines per seat."""
        lines = [self._write_header(table), f"{self.say('landlord cards')}  {self._write_landlord_cards(table)}"]
        for seat in table.seats:
            lines.append(self._write_seat(seat))
            if seat.play is not None:
                lines.append(self._write_last_move(seat.play))
            if seat.acting and table.building is not None:
                cards, left = table.building.cards, table.building.cards_left
                built = (f"{self._write_cards(cards, gap)} + {self._write_backs(left, gap)}" for gap in _GAPS)
                lines.append(self._first_that_fits(*(self._write_indent() + text for text in built)))
        lines.append(self._paint(_BOLD, table.status_in(self.say)))
        return "\n".join(line.rstrip() for line in lines)

    def _write_header(self, table: Snapshot) -> str:
        say = self.say
        facts = [table.rules, say("move number", number=table.moves), say("stake", stake=table.stake)]
        facts += [say("bombs", number=table.bombs)] + [say("undealt", number=table.undealt)] * bool(table.undealt)
        facts += [say("left out", cards=table.left_out)] * bool(table.left_out)
        return " · ".join(facts)

    def _write_landlord_cards(self, table: Snapshot) -> str:
        if table.landlord_backs:
            return self._write_backs(table.landlord_backs)
        face_down = f" {self.say('face down')}" if table.landlord is None and table.landlord_cards else ""
        return (self._write_cards(table.landlord_cards) or self.say("none")) + face_down

    def _write_seat(self, seat: Seat) -> str:
        marker = self._paint(_GOLD, ">") if seat.acting else " "
        role = set_cell_size(self.say(seat.role) if seat.role else "-", self.role_width)
        if seat.role == "landlord":
            role = self._paint(_GOLD, role)
        hands = (
            " ".join(
                filter(None, [self._write_cards(seat.hand[:: self.order], gap), self._write_backs(seat.unseen, gap)])
            )
            for gap in _GAPS
        )
        result = f"  [{seat.result:+g}]" if seat.result is not None else ""
        doubled = (f"  {self.say('doubled')}", "  ×2")
        extras = (self._paint(_BOLD, text * seat.doubled + result) for text in doubled)
        head = f"{marker} {self.say('seat', seat=seat.number)}  {role}  {seat.size:>2}  "
        return self._first_that_fits(*(f"{head}{hand}{extra}" for hand, extra in zip(hands, extras, strict=True)))

    def _write_last_move(self, play: LastMove) -> str:
        if play.cards:
            texts = [*(self._write_cards(play.cards, gap) for gap in _GAPS), play.text]
            return self._first_that_fits(
                *(self._write_move(play, f"{text}  {self.say(play.category)}") for text in texts)
            )
        # Cards are not dimmed: nested sequences would end the dimming at the first card.
        text = self.say.move(play.text)
        return self._write_move(play, text if play.current or play.to_beat else self._paint(_DIM, text))

    def _write_move(self, play: LastMove, text: str) -> str:
        age = "" if play.current else self._paint(_DIM, f"  {self.say('earlier')}")
        return f"{self._write_indent('=> ')}{text}" if play.to_beat else f"{self._write_indent()}{text}{age}"

    def _first_that_fits(self, *candidates: str) -> str:
        """Return the first candidate string that fits the line width, or the last one if none fits."""
        fitting = (text for text in candidates if self.width is None or cell_len(_ESCAPE.sub("", text)) <= self.width)
        return next(fitting, candidates[-1])

    def _write_cards(self, cards: Cards, gap: str = " ") -> str:
        return gap.join(map(self._write_card, cards))

    def _write_card(self, card: Card) -> str:
        return self._paint(_RED_CARD if card.is_red else _BLACK_CARD, str(card))

    def _write_backs(self, number: int, gap: str = " ") -> str:
        return gap.join([self._paint(_BACK, "??" if gap else "?")] * number)

    def _write_indent(self, mark: str = "") -> str:
        """Return the indentation of a line below a seat, ending in a given mark."""
        return " " * (self.seat_width + self.role_width + len(">     20  ") - len(mark)) + mark

    def _paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self.colour and text else text


_GAPS = (" ", "")
"""Between cards: a blank, or nothing where the line would be too long."""
