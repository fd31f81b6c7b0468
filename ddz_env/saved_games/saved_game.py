"""A game as a readable file: rules, seats and hands, then one move per line in notation.

::

    Dou Dizhu game 1
    rules: standard
    seed: 7
    player 0: person
    player 1: isuct
    player 2: isuct
    seat 0: 3344567TJQQKA22BR
    seat 1: ...
    seat 2: ...
    landlord cards: 359
    0 34567
    1 pass

``#`` begins a remark.  An unknown hand is ``?``.  A player whose name would not be read back as it is (with a ``#``,
a line break, blanks around it) is quoted as a JSON string.  A game that a seed dealt is dealt again when
it is read, and its hands are compared with those written down, so that a saved game replays exactly or not at all.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_env import Hand, Move, Rules
from ddz_env.saved_games.deal import Deal, SavedGameError
from ddz_env.support.atomic_files import read_text, replace_file
from ddz_env.support.errors import DouDizhuError, Message, short_repr

PERSON = "person"
"""The player of a seat that a person holds."""

_FIRST_LINE = "Dou Dizhu game 1"
_UNKNOWN = "?"
_MAX_CHARACTERS = 1_000_000
_WHOLE_NUMBER = re.compile("[0-9]{1,20}")
"""As many digits as a seed may have: Python refuses to read thousands."""


@dataclass(frozen=True)
class SavedGame:
    """A saved game (initial cards, players' names and all moves), which can be written as text and to a file.

    Attributes:
        deal: The cards at the beginning.
        players: Who holds each seat: :data:`PERSON`, or the name of an agent.
        moves: ``(seat, move)`` for every move since the beginning, declined auctions included.
        remarks: Lines for the reader, written at the end behind ``#``; not read back.

    Raises:
        SavedGameError: If there is not one player for each seat, a remark has several lines, or the rules cannot be
            told by their name.
    """

    deal: Deal
    players: tuple[str, ...]
    moves: tuple[tuple[int, Move], ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.players) != self.deal.rules.players:
            raise SavedGameError(f"{self.deal.rules.players} seats need as many players, not {len(self.players)}")
        _check_rules_name(self.deal.rules)
        for remark in self.remarks:
            if len(remark.splitlines()) > 1:
                raise SavedGameError(f"a remark is one line, not {short_repr(remark)}")

    def __str__(self) -> str:
        deal, start = self.deal, self.deal.state()
        lines = [_FIRST_LINE, f"rules: {deal.rules.name}", f"seed: {deal.seed}"]
        lines += [f"game: {deal.game}"] * (deal.game > 0)
        lines += ["cards: given"] * (deal.hands is not None) + ["endgame: yes"] * deal.endgame
        lines += [f"player {seat}: {_quote_name(name)}" for seat, name in enumerate(self.players)]
        hands, bottom = _list_dealt_cards(deal) if deal.hands is None else (deal.hands, deal.bottom)
        lines += [f"seat {seat}: {_UNKNOWN if hand is None else hand}" for seat, hand in enumerate(hands)]
        if start.rules.bottom:
            lines.append(f"landlord cards: {_UNKNOWN if bottom is None else bottom}")
        lines += [f"{seat} {move}" for seat, move in self.moves]
        return "\n".join([*lines, *(f"# {remark}" for remark in self.remarks), ""])

    @classmethod
    def parse(cls, text: str) -> SavedGame:
        """Parse a saved game from its text form.

        Raises:
            SavedGameError: If the text is not a saved game, or a move in it cannot be played; the message
                names the line.
        """
        if not isinstance(text, str) or len(text) > _MAX_CHARACTERS or text.partition("\n")[0].strip() != _FIRST_LINE:
            raise SavedGameError(
                "a saved game begins with the line {line}, not {text}", line=repr(_FIRST_LINE), text=short_repr(text)
            )
        lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines()[1:], start=2)]
        fields: dict[str, str] = {}
        moves: list[tuple[int, str]] = []
        for number, line in lines:
            name, colon, value = (part.strip() for part in line.partition(":"))
            if colon and not moves:
                if name in fields:
                    raise SavedGameError(f"line {number}: {name!r} appears twice")
                fields[name] = value
            elif line:
                moves.append((number, line))
        try:
            deal, players = _read_fields(fields)
        except SavedGameError:
            raise
        except DouDizhuError as error:
            raise SavedGameError(f"the deal cannot be read: {error}") from error
        return cls(deal, players, _read_moves(deal, moves))

    def save(self, path: Path) -> None:
        """Write the game to a file atomically, so that a reader finds either the old text or the new one.

        Raises:
            OSError: If it cannot be written.
        """
        replace_file(path, str(self).encode(), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> SavedGame:
        """Read and parse a saved game from a file.

        Raises:
            SavedGameError: If it cannot be read or is not a saved game.
        """
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SavedGameError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        try:
            return cls.parse(text)
        except SavedGameError as error:
            raise SavedGameError(f"{path}: {error}") from error


def _check_rules_name(rules: Rules) -> None:
    """Check that rules can be made again from their name, which is all that a file says of them.

    Raises:
        SavedGameError: If they cannot.
    """
    with contextlib.suppress(DouDizhuError):
        if Rules.preset(rules.name) == rules:
            return
    raise SavedGameError(
        f"the rules {short_repr(rules.name)} are not those of a preset with options: make them by Rules.preset"
    )


def _quote_name(name: str) -> str:
    """Format a player's name, as a JSON string if it could not be read back otherwise."""
    if name and name == name.strip() and name.isprintable() and "#" not in name and not name.startswith('"'):
        return name
    return json.dumps(name).replace("#", "\\u0023")


def _unquote_name(text: str) -> str:
    """Read a player's name; the inverse of :func:`_quote_name`.

    Raises:
        SavedGameError: If the quotes hold no text.
    """
    if not text.startswith('"'):
        return text
    with contextlib.suppress(ValueError):
        return str(json.loads(text))  # what begins with quotes and can be read is a text
    raise SavedGameError(f"a player in quotes is a JSON string, not {short_repr(text)}")


def _list_dealt_cards(deal: Deal) -> tuple[tuple[Hand, ...], Hand]:
    """Return the dealt hands (without the landlord cards) and the landlord cards of a deal made from a seed."""
    state = deal.state()
    landlord, bottom = state.view().landlord, state.bottom
    held = map(state.hand, range(deal.rules.players))
    return tuple(hand - bottom if seat == landlord else hand for seat, hand in enumerate(held)), bottom


def _read_fields(fields: dict[str, str]) -> tuple[Deal, tuple[str, ...]]:
    """Parse the initial cards and the players from the header fields of a saved game."""
    rules = Rules.preset(fields.pop("rules", "standard"))
    seed, game = (_parse_number(name, fields.pop(name, "0")) for name in ("seed", "game"))
    given, endgame = fields.pop("cards", "dealt") == "given", fields.pop("endgame", "no") == "yes"
    seats = range(rules.players)
    players = tuple(_unquote_name(fields.pop(f"player {seat}", PERSON)) for seat in seats)
    hands = tuple(_parse_hand(fields.pop(f"seat {seat}", _UNKNOWN)) for seat in seats)
    bottom = _parse_hand(fields.pop("landlord cards", _UNKNOWN if rules.bottom else ""))
    if fields:
        raise SavedGameError(f"a saved game has no field {short_repr(next(iter(fields)))}")
    if given:
        return Deal(rules, seed, hands=hands, bottom=bottom, endgame=endgame), players
    deal = Deal(rules, seed, game)
    if (hands, bottom) != _list_dealt_cards(deal):
        raise SavedGameError(f"seed {seed} deals other hands than those written here (another version of the package?)")
    return deal, players


def _parse_number(name: str, text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise SavedGameError(f"{name} is a whole number below 2**64, not {short_repr(text)}")
    return int(text)


def _parse_hand(text: str) -> Hand | None:
    return None if text == _UNKNOWN else Hand.parse(text)


def _read_moves(deal: Deal, lines: Sequence[tuple[int, str]]) -> tuple[tuple[int, Move], ...]:
    """Parse the lines with moves, checking that each move is legal in its position."""
    moves: list[tuple[int, Move]] = []
    state, where = deal.state(), Message("")
    try:
        for number, line in lines:
            where = Message("line {number}", number=number)
            seat, _, text = line.partition(" ")
            if not _WHOLE_NUMBER.fullmatch(seat):
                raise SavedGameError(f"a move is a seat and its move, as '0 34567', not {short_repr(line)}")
            moves.append((int(seat), Move.parse(text, deal.rules)))
            if deal.observer is None:
                if int(seat) != state.seat:
                    raise SavedGameError(f"it is seat {state.seat}'s turn, not seat {seat}'s")
                state.step(moves[-1][1])
        where = Message("the moves cannot be played")
        if deal.observer is not None:
            deal.state(moves)
    except DouDizhuError as error:
        raise SavedGameError("{where}: {why}", where=where, why=error.message) from error
    return tuple(moves)
