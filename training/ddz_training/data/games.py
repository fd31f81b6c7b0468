"""Recorded games, each one row of readable text from which the game replays exactly.

A record holds the cards as dealt, so it depends on no seed, no shuffle and no agent.  ``games.sqlite`` is a file of
results (:mod:`ddz_training.measure.store`): its settings say by whom, under which rules and with which version its
games were played.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ddz_env import Move, Rules, State
from ddz_env.core.engine import layout as at
from ddz_env.envs.deals import dealt_hands
from ddz_env.saved_games import Deal, SavedGame
from ddz_env.support.errors import DouDizhuError, InvalidRulesError, short_repr
from ddz_training.measure.duplicate import LETTERS, Scores
from ddz_training.measure.provenance import rules_from_settings, rules_to_settings
from ddz_training.measure.store import read_format

FORMAT = "ddz-games-1"
GAMES = "games.sqlite"
"""The file of a data set that holds its games."""

_OPENER_BIT = 16
"""The bit of the opener in the word of bids."""


class DataSetError(DouDizhuError):
    """Raised when a data set cannot be made or read, for example because it has no games or no table."""


class GameRecordError(DataSetError):
    """Raised when a recorded game does not replay: a move is illegal, or the game ends differently than recorded."""


def games_settings(
    agents: Sequence[str], rules: Rules, seed: int | None, *, visits: bool = False, **more: Any
) -> dict[str, Any]:
    """Make the settings to store in a games file, which a resumed recording must match."""
    who = {"format": FORMAT, "agents": list(agents)}
    return {**who, "rules": rules_to_settings(rules), "seed": seed, "visits": visits, **more}


@functools.lru_cache(4096)
def _parse_move(text: str, rules: Rules) -> Move:
    """Parse a move; results are cached, because a data set has few different moves."""
    return Move.parse(text, rules)


class ActionStatistics(NamedTuple):
    """A search's visits and mean value for one first action of a move.

    Attributes:
        action: The action's id.
        visits: How often it was visited.
        value: The mean reward of these visits for the acting seat; None where the search does not say.
    """

    action: int
    visits: int
    value: float | None

    def __str__(self) -> str:
        return f"{self.action}:{self.visits}" + ("" if self.value is None else f":{self.value:.6g}")

    @classmethod
    def parse(cls, text: str) -> ActionStatistics:
        """Parse the text form ``action:visits`` or ``action:visits:value``.

        Example:
            >>> ActionStatistics.parse("17:340:0.25"), str(ActionStatistics(17, 340, None))
            (ActionStatistics(action=17, visits=340, value=0.25), '17:340')
        """
        action, visits, *value = text.split(":")
        if len(value) > 1:
            raise ValueError(f"{text!r} is not action:visits:value")
        return cls(int(action), int(visits), float(value[0]) if value else None)


class RecordedDecision(NamedTuple):
    """A position, with the move, bid or answer to doubling that was chosen in it.

    Attributes:
        state: The game before the move.  It is played on afterwards: copy what is to be kept.
        move: The move, bid or answer to doubling.
        statistics: The statistics of the search that chose it, for the legal first stages; empty if not recorded.
    """

    state: State
    move: Move
    statistics: tuple[ActionStatistics, ...]


@dataclass(frozen=True)
class RecordedGame:
    """A recorded game with everything that is needed to replay it.

    Attributes:
        deal: Number of the deal under the seed.
        game: Number of the game within the deal.
        seats: Who sat where, one letter per seat: ``abb`` is the file's first agent in seat 0, then its second twice.
        hands: Each seat's cards as dealt, without the landlord cards.
        bottom: The landlord cards.
        opener: The seat that opens the auction; -1 where there is none.
        generator: The game's own generator after the deal, for a new deal where everybody declines; hexadecimal.
        moves: Every decision in order, in notation (:meth:`ddz_env.core.notation.Move.parse`).
        win: Each seat's return under win scoring.
        stake: Each seat's return under stake scoring.
        searched: The search's statistics of each decision, as ``action:visits:value`` separated by spaces; empty if
            visits were not recorded.
    """

    deal: int
    game: int
    seats: str
    hands: tuple[str, ...]
    bottom: str
    opener: int
    generator: str
    moves: tuple[str, ...]
    win: Scores
    stake: Scores
    searched: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        start: State,
        moves: Sequence[Move],
        over: State,
        *,
        deal: int = 0,
        game: int = 0,
        seats: str = "",
        statistics: Sequence[Sequence[ActionStatistics]] = (),
    ) -> RecordedGame:
        """Create the record of a played game from its deal, its moves and its final state.

        Args:
            start: The game as dealt.
            moves: Every decision after it, those before a new deal included.
            over: The game after them.
            deal: Number of the deal.
            game: Number of the game within the deal.
            seats: Who sat where; ``a`` everywhere by default.
            statistics: What searches said, decision by decision.
        """
        hands = dealt_hands(start)
        searched = tuple(" ".join(map(str, statistics)) for statistics in statistics)
        return cls(
            deal=deal,
            game=game,
            seats=seats or "a" * len(hands),
            hands=tuple(map(str, hands)),
            bottom=str(start.bottom),
            opener=start.seat if start.stage == "bid" else -1,
            generator=f"{int(start.row[at.RNG]):016x}",
            moves=tuple(map(str, moves)),
            win=over.returns("win"),
            stake=over.returns("stake"),
            searched=searched if any(searched) else (),
        )

    def start(self, rules: Rules) -> State:
        """Return the state of the game right after the deal.

        Raises:
            GameRecordError: If the record holds no deal of these rules.
        """
        try:
            state = State.from_hands(self.hands, self.bottom, rules)
            state.row[at.RNG] = np.uint64(int(self.generator, 16))
        except (DouDizhuError, TypeError, ValueError, OverflowError) as error:
            raise GameRecordError(f"{self.name} has no deal of the {rules.name} rules: {error}") from error
        if state.stage == "bid":
            if not 0 <= self.opener < rules.players:
                raise GameRecordError(f"{self.name} has an auction, which seat {self.opener} cannot open")
            state.row[at.SEAT] = state.row[at.OWNER] = np.uint64(self.opener)
            state.row[at.BIDS] = np.uint64(self.opener << _OPENER_BIT)
        return state

    def decisions(self, rules: Rules) -> Iterator[RecordedDecision]:
        """Replay the game, yielding the state, the move and the search statistics of each decision.

        Raises:
            GameRecordError: If a move does not fit, or the game ends otherwise than the record says.
        """
        state = self.start(rules)
        for number, text in enumerate(self.moves):
            try:
                move = _parse_move(text, rules)
                statistics = self.searched[number].split() if self.searched else ()
                yield RecordedDecision(state, move, tuple(map(ActionStatistics.parse, statistics)))
                state.step(move)
            except (DouDizhuError, LookupError, ValueError) as error:
                raise GameRecordError(f"decision {number} of {self.name} does not fit: {error}") from error
        if (state.returns("win"), state.returns("stake")) != (self.win, self.stake):
            raise GameRecordError(
                f"{self.name} replays to the returns {state.returns('win')} and stakes {state.returns('stake')}, not "
                f"{self.win} and {self.stake}"
            )

    def replay(self, rules: Rules) -> State:
        """Replay the game and return its final state.

        Raises:
            GameRecordError: As :meth:`decisions`.
        """
        state = self.start(rules)
        for decision in self.decisions(rules):
            state = decision.state
        return state

    @property
    def name(self) -> str:
        """A name for the game in messages: its number and the number of its deal."""
        return f"game {self.game} of deal {self.deal}"

    def to_saved_game(self, rules: Rules, agents: Sequence[str]) -> SavedGame:
        """Convert the record to a readable saved game, leaving out deals in which every seat declined to bid.

        Args:
            rules: The rules.
            agents: The agents of the letters in ``seats``.

        Raises:
            GameRecordError: As :meth:`decisions`.
        """
        start = self.start(rules)
        moves: list[tuple[int, Move]] = []
        for state, move, _ in self.decisions(rules):
            if not state.history:
                start, moves = state.copy(), []
            moves.append((state.seat, move))
        opener = start.seat if start.stage == "bid" else None
        deal = Deal.from_cards(rules, dealt_hands(start), start.bottom, opener)
        remarks = (
            f"deal {self.deal}, game {self.game}",
            f"win: {_format_numbers(self.win)}; stake: {_format_numbers(self.stake)}",
        )
        names = dict(zip(LETTERS, agents, strict=False))
        return SavedGame(deal, tuple(names.get(letter, letter) for letter in self.seats), tuple(moves), remarks)


def _format_numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:+g}" for value in values)


class GameFile(NamedTuple):
    """The contents of a games file: its settings, rules, agents and games.

    Attributes:
        settings: By whom, under which rules and with which code the games were played.
        rules: The rules.
        agents: The agents of the letters in ``seats``.
        games: The games, by deal.
    """

    settings: Mapping[str, Any]
    rules: Rules
    agents: tuple[str, ...]
    games: list[RecordedGame]


def find_games_file(path: Path) -> Path:
    """Return the games file in a data set's folder, or any other path unchanged."""
    return path / GAMES if path.is_dir() else path


def read_games(path: str | Path) -> GameFile:
    """Read the settings and the games from a games file, or from the folder of a data set.

    Args:
        path: The file, or the folder of a data set.

    Raises:
        DataSetError: If there is no file, or its settings name no agents or rules.
        ResultsFileError: If it is not a file of games, or a row cannot be read.
    """
    path = find_games_file(Path(path))
    if not path.is_file():
        raise DataSetError(f"there is no file {path}; ddz record writes one")
    settings, games = read_format(path, RecordedGame, FORMAT)
    agents = settings.get("agents")
    if not isinstance(agents, list) or not all(isinstance(agent, str) for agent in agents):
        raise DataSetError(f"{path}: the agents in its settings are a list of texts, not {short_repr(agents)}")
    try:
        rules = rules_from_settings(settings.get("rules"))
    except InvalidRulesError as error:
        raise DataSetError(f"{path}: the rules in its settings: {error}") from error
    return GameFile(settings, rules, tuple(agents), sorted(games, key=lambda game: (game.deal, game.game)))
