"""The table as text: one line a seat, every card a small coloured card where the terminal has colours.

Without colours the text is the same to the letter, so hands can be pasted into :meth:`ddz_env.Hand.parse`.
"""

from __future__ import annotations

from ddz_env.render.table import Card, Cards, Play, Seat, Table, table_of
from ddz_env.state import State
from ddz_env.view import View

_RESET = "\x1b[0m"
_RED_CARD = "\x1b[1;38;5;160;48;5;255m"
_BLACK_CARD = "\x1b[1;38;5;16;48;5;255m"
_BACK = "\x1b[38;5;189;48;5;25m"
_GOLD = "\x1b[1;33m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"

_ROLE_WIDTH = len("peasant down")


def render_ansi(game: State | View, *, perspective: int | None = None, colour: bool = True) -> str:
    """Write the table.

    Args:
        game: A game, or what a seat knows of it (a view shows only that).
        perspective: The seat that looks; None shows every hand of a ``State``.
        colour: Whether to colour by ANSI escape sequences.

    Returns:
        Some lines, the last without a line break.

    Raises:
        InvalidPictureError: If there is no such seat, or a view is asked for another seat's perspective.

    Example:
        >>> print(render_ansi(State.from_hands(["34", "5", "6"], check_sizes=False), colour=False))
        standard · move 0 · stake 1 · bombs 0 · 50 undealt
        landlord cards  none
        > seat 0  landlord       2  3♠ 4♠
          seat 1  peasant down   1  5♠
          seat 2  peasant up     1  6♠
        seat 0 leads
    """
    return _Writer(colour).table(table_of(game, perspective))


class _Writer:
    """Writes tables.

    Args:
        colour: Whether to colour.
    """

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def table(self, table: Table) -> str:
        """The whole table."""
        lines = [self._header(table), f"landlord cards  {self._landlord_cards(table)}"]
        for seat in table.seats:
            lines.append(self._seat(seat))
            if seat.play is not None:
                lines.append(self._play(seat.play))
            if seat.acting and table.building is not None:
                lines.append(
                    f"{_indent()}{self._cards(table.building.cards)} + {self._backs(table.building.cards_left)}"
                )
        lines.append(self._paint(_BOLD, table.status))
        return "\n".join(line.rstrip() for line in lines)

    def _header(self, table: Table) -> str:
        facts = [table.rules, f"move {table.moves}", f"stake {table.stake}", f"bombs {table.bombs}"]
        if table.undealt:
            facts.append(f"{table.undealt} undealt")
        return " · ".join(facts)

    def _landlord_cards(self, table: Table) -> str:
        if table.landlord_backs:
            return self._backs(table.landlord_backs)
        face_down = " (face down)" if table.landlord is None and table.landlord_cards else ""
        return (self._cards(table.landlord_cards) or "none") + face_down

    def _seat(self, seat: Seat) -> str:
        marker = self._paint(_GOLD, ">") if seat.acting else " "
        role = f"{seat.role or '-':<{_ROLE_WIDTH}}"
        if seat.role == "landlord":
            role = self._paint(_GOLD, role)
        hand = " ".join(filter(None, [self._cards(seat.hand), self._backs(seat.unseen)]))
        extras = "  doubled" * seat.doubled + (f"  [{seat.result:+g}]" if seat.result is not None else "")
        return f"{marker} seat {seat.number}  {role}  {seat.size:>2}  {hand}{self._paint(_BOLD, extras)}"

    def _play(self, play: Play) -> str:
        text = f"{self._cards(play.cards)}  {play.category}" if play.cards else play.text
        if play.to_beat:
            return f"{_indent('=> ')}{text}"
        # Nested sequences would end the dimming at the first card.
        return _indent() + (text if play.current or play.cards else self._paint(_DIM, text)) + self._age(play)

    def _age(self, play: Play) -> str:
        return "" if play.current else self._paint(_DIM, "  (earlier)")

    def _cards(self, cards: Cards) -> str:
        return " ".join(map(self._card, cards))

    def _card(self, card: Card) -> str:
        return self._paint(_RED_CARD if card.is_red else _BLACK_CARD, str(card))

    def _backs(self, number: int) -> str:
        return " ".join([self._paint(_BACK, "??")] * number)

    def _paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self.colour and text else text


def _indent(mark: str = "") -> str:
    """The space below a seat's role, with a mark at its end."""
    return " " * (len("> seat 0  ") + _ROLE_WIDTH + 6 - len(mark)) + mark
