"""Logs of Botzone matches: reading, writing back unchanged, and replaying.

A log is a list in which the judge's entries and the bots' take turns.  The platform's files hold it alone or in an
object with other fields (``logs``), which are kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env import Move, State, View
from ddz_env.core.actions import BID_BASE
from ddz_env.peers.botzone.games import GAMES, NEWER, OLDER, SEATS, BotzoneDeal, BotzoneGame, parse_initdata
from ddz_env.peers.botzone.judges import read_bids
from ddz_env.peers.botzone.player import read_move
from ddz_env.support.atomic_files import read_text
from ddz_env.support.errors import DouDizhuError, short_repr

_FIELDS = ("logs", "log")


class BotzoneLogError(DouDizhuError):
    """Raised when a string is not a log of either Botzone game, or when a log contradicts its own deal."""


class LoggedDecision(NamedTuple):
    """A decision in a logged match: the view of the seat to act, and the move that the seat chose.

    Attributes:
        view: What the seat saw.
        move: What it did; in the newer game also a bid, and what the judge did for a bot at fault.
    """

    view: View
    move: Move


@dataclass(frozen=True)
class BotzoneLog:
    """The log of a Botzone match: the entries of the judge and of the bots in turn.

    Attributes:
        game: Which game it is of.
        entries: The judge's entries and the bots' in turn.
        text: The file that they were read from; empty for a new match.
    """

    game: BotzoneGame
    entries: list[dict[str, Any]]
    text: str = ""

    def __str__(self) -> str:
        return self.text or json.dumps(self.entries, ensure_ascii=False, separators=(",", ":")) + "\n"

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The judge's outputs in the log, in order."""
        return [entry["output"] for entry in self.entries[::2]]

    @property
    def deal(self) -> BotzoneDeal:
        """The cards dealt in the match, read from the judge's first output.

        Raises:
            BotzoneLogError: If the log does not have it.
        """
        first = self.outputs[0]
        deal = parse_initdata(first.get("initdata") or first.get("display"), self.game)
        if deal is None:
            raise BotzoneLogError(
                "the judge's first entry lacks the allocation, without which the match cannot be replayed"
            )
        return deal

    @property
    def scores(self) -> list[float] | None:
        """The scores by seat, or None while the match runs."""
        last = self.outputs[-1]
        return [last["content"][str(seat)] for seat in range(SEATS)] if last["command"] == "finish" else None

    @property
    def faults(self) -> list[str]:
        """The judge's error code for each seat's fault, or an empty string for a seat without one."""
        last = self.outputs[-1]["display"]
        if "errorInfo" in last:
            at_fault = max(0, last["event"]["player"])
            return [last["errorInfo"] if seat == at_fault else "" for seat in range(SEATS)]
        errored = [output["display"]["errored"] for output in self.outputs if "errored" in output["display"]]
        return [reason or "" for reason in (errored[-1] if errored else [""] * SEATS)]

    @property
    def played(self) -> list[list[int]]:
        """The card ids of every accepted move, beginning with the landlord's first move."""
        shown_moves = [output["display"] for output in self.outputs if "event" in output.get("display", {})]
        return [list(display["event"]["action"]) for display in shown_moves if "errorInfo" not in display]

    def replay(self) -> tuple[State, list[LoggedDecision]]:
        """Replay the match, and return the final state and all decisions.

        Returns:
            The game where the log ends, and every decision before.

        Raises:
            BotzoneLogError: If a move does not fit, or our rules do not have it (a shuttle with one kicker per quad).
        """
        state, decisions = self.deal.state(self.game), []
        bids = read_bids(self.entries, [None] * SEATS)[0] if self.game.has_auction else []
        try:
            for move in [Move(BID_BASE + bid) for bid in bids] + [read_move(cards, self.game) for cards in self.played]:
                decisions.append(LoggedDecision(state.view(), move))
                state.step(move)
        except DouDizhuError as error:
            raise BotzoneLogError(f"move {len(decisions)} does not fit: {error}") from error
        return state, decisions

    def to_text(self) -> str:
        """Format the match as text: the hands as dealt, the landlord cards, and then one move per line."""
        start = self.deal.state(self.game)
        state, decisions = self.replay()
        hands = [f"seat {seat}: {start.hand(seat)}" for seat in range(SEATS)]
        moves = [f"{decision.view.acting_seat} {decision.move}" for decision in decisions]
        scores = [f"scores: {' '.join(map(str, self.scores))}"] if self.scores is not None else []
        faults = [f"fault of seat {seat}: {fault}" for seat, fault in enumerate(self.faults) if fault]
        return "\n".join([self.game.name, *hands, f"landlord cards: {state.bottom}", *moves, *faults, *scores, ""])


def read_logs(path: Path) -> list[BotzoneLog]:
    """Read the matches in a file that holds either one match or one match per line.

    Raises:
        BotzoneLogError: If it cannot be read or holds something else.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BotzoneLogError(f"{path} cannot be read: {error}") from error
    try:
        return [read_log(text)]
    except BotzoneLogError:
        lines = {number: line for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    matches = []
    for number, line in lines.items():
        try:
            matches.append(read_log(line))
        except BotzoneLogError as error:
            raise BotzoneLogError(f"{path}, line {number}: {error}") from error
    if not matches:
        raise BotzoneLogError(f"{path} is empty: a log is JSON, one match or one per line")
    return matches


def read_log(text: str) -> BotzoneLog:
    """Parse the JSON log of one match.

    Args:
        text: A file, or a line of one of the platform's.

    Raises:
        BotzoneLogError: If it is not a log.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BotzoneLogError(f"a log is JSON: {error}") from error
    document = value if isinstance(value, dict) else {}
    entries: Any = next((document[name] for name in _FIELDS if name in document), value)
    try:
        first = next(iter(entries[0]["output"]["content"].values()))
        game = NEWER if "bid" in first else OLDER
        log = BotzoneLog(game, entries, text)
        if "own" not in first or any("command" not in output for output in log.outputs):
            raise BotzoneLogError(
                "the judge's entries lack the commands that ask the bots: give the log of a whole match"
            )
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise BotzoneLogError(f"this is not a log of {' or '.join(GAMES)}: {short_repr(value)}") from error
    return log
