"""Import of games from other sources as data sets: ``ddz web`` games, Botzone logs and DouZero games.

A game of DouZero is a JSON object with two attributes of its ``GameEnv``, of which a file has one or one per line::

    {
        "card_play_data": {
            "landlord": [3, 3, 4, 17, 30],
            "landlord_down": [],
            "landlord_up": [],
            "three_landlord_cards": [],
        },
        "card_play_action_seq": [[3, 3], [], []],
    }

``landlord`` has all twenty cards; 14 is an ace, 17 a two, 20 and 30 are the jokers.  Moves begin with the landlord's,
and those of ``landlord_down`` come next.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env import Hand, Move, Rules, State
from ddz_env.core.cards import RANK_NAMES
from ddz_env.peers.botzone.games import SEATS
from ddz_env.peers.botzone.log import read_logs
from ddz_env.saved_games import SavedGame
from ddz_env.support.atomic_files import read_text
from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_training.data.dataset import DataSet, write_data_set
from ddz_training.data.games import GAMES, DataSetError, RecordedGame, find_games_file, games_settings, read_games
from ddz_training.data.table import check_tables
from ddz_training.measure.duplicate import LETTERS
from ddz_training.measure.store import DATABASES, ResultStore

_DOUZERO_DEAL, _DOUZERO_MOVES = "card_play_data", "card_play_action_seq"
_DOUZERO_ROLES = ("landlord", "landlord_down", "landlord_up")
_DOUZERO_RANKS = dict(zip((*range(3, 15), 17, 20, 30), RANK_NAMES, strict=True))


class ImportedGame(NamedTuple):
    """An imported game: its deal, its moves, and who held each seat as far as known.

    Attributes:
        start: The game as dealt.
        moves: Every decision after it.
        players: Who held each seat, as far as the source says.
    """

    start: State
    moves: Sequence[Move]
    players: tuple[str, ...]

    def final_state(self) -> State:
        """Play the game's moves and return its final state.

        Raises:
            IllegalMoveError: If a move is not legal.
        """
        over = self.start.copy()
        for move in self.moves:
            over.step(move)
        return over

    def to_recorded_game(self, deal: int, seats: str) -> RecordedGame | None:
        """Convert the game to a recorded game, or return None if it was not played to its end.

        Args:
            deal: The number that its deal gets.
            seats: The letters of its players.

        Raises:
            IllegalMoveError: If a move is not legal.
        """
        over = self.final_state()
        return RecordedGame.of(self.start, self.moves, over, deal=deal, seats=seats) if over.is_over else None


def read_imported_games(path: Path) -> list[ImportedGame | None]:
    """Read a file of saved, Botzone or DouZero games, with None for endgames and games with unknown cards.

    Raises:
        DataSetError: If it cannot be read.
        SavedGameError: If a saved game cannot be read.
        BotzoneLogError: If it is none of the forms, or a match does not replay under our rules.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataSetError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if text.startswith("Dou Dizhu game"):
        record = SavedGame.load(path)
        whole = record.deal.observer is None and not record.deal.endgame
        moves = [move for _, move in record.moves]
        return [ImportedGame(record.deal.state(), moves, record.players) if whole else None]
    if _DOUZERO_DEAL in text:
        lines = [text] if text.lstrip().count("\n") == 0 else [line for line in text.splitlines() if line.strip()]
        return [_parse_douzero_game(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]
    seats = tuple(f"botzone seat {seat}" for seat in range(SEATS))
    return [
        ImportedGame(log.deal.state(log.game), [decision.move for decision in log.replay()[1]], seats)
        for log in read_logs(path)
    ]


def _parse_douzero_game(where: str, text: str) -> ImportedGame:
    """Convert the JSON text of a DouZero game to an :class:`ImportedGame`."""
    try:
        game: Any = json.loads(text)
        dealt, moves = game[_DOUZERO_DEAL], [_parse_douzero_cards(cards) for cards in game[_DOUZERO_MOVES]]
        bottom = Hand.parse(_parse_douzero_cards(dealt["three_landlord_cards"]))
        landlord, *peasants = (Hand.parse(_parse_douzero_cards(dealt[role])) for role in _DOUZERO_ROLES)
        rules = Rules.preset("douzero")
        start = State.from_hands([landlord - bottom, *peasants], bottom, rules)
        return ImportedGame(start, [Move.parse(cards or "pass", rules) for cards in moves], _DOUZERO_ROLES)
    except (LookupError, TypeError, ValueError, DouDizhuError) as error:
        raise DataSetError(f"{where} is no game of DouZero: {type(error).__name__}: {error}") from error


def _parse_douzero_cards(cards: Sequence[int]) -> str:
    return "".join(_DOUZERO_RANKS[card] for card in cards)


def list_game_files(path: Path) -> list[Path]:
    """List the game files that a path names: the file itself, or the files that ``ddz web`` keeps in a folder."""
    return sorted(path.glob("*.game.txt")) if path.is_dir() else [path]


def read_won_games(path: Path) -> tuple[list[ImportedGame], int]:
    """Read the games with a winner from a data set or another source, and count the games left out.

    Args:
        path: A data set's folder or file of games, a file of another source, or a folder in which ``ddz web`` keeps its
            games.

    Returns:
        The games in the order of the file, and how many were left out: unfinished ones, those without a bid, and those
        of which a seat's cards are unknown.

    Raises:
        DataSetError: If there is none, or the file cannot be read.
        DouDizhuError: If a game does not replay.
    """
    if _is_data_set(path):
        read = _read_data_set(path)
    else:
        read = [game for file in list_game_files(path) for game in read_imported_games(file)]
    won = [game for game in read if game is not None and game.final_state().winner is not None]
    if not won:
        raise DataSetError(f"{path} has no complete game with a winner")
    return won, len(read) - len(won)


def _is_data_set(path: Path) -> bool:
    file = find_games_file(path)
    return file.suffix in DATABASES and file.is_file()


def _read_data_set(path: Path) -> list[ImportedGame | None]:
    file = read_games(path)
    names = dict(zip(LETTERS, file.agents, strict=False))
    return [
        ImportedGame(
            game.start(file.rules),
            [decision.move for decision in game.decisions(file.rules)],
            tuple(names.get(letter, letter) for letter in game.seats),
        )
        for game in file.games
    ]


def import_games(folder: Path, paths: Sequence[Path]) -> tuple[DataSet, int]:
    """Write finished games from other sources as a data set; return its size and the number of games left out.

    Args:
        folder: The folder, which must hold no data set.
        paths: Files of games, or folders in which ``ddz web`` keeps them.

    Returns:
        The data set, and how many games were left out.

    Raises:
        DataSetError: If there are none, their rules differ, a file cannot be read, or PyArrow is not installed.
        ResultsFileError: If the folder holds games.
        DouDizhuError: If a game does not replay under our rules.
    """
    check_tables()
    files = [file for path in paths for file in list_game_files(path)]
    read = [game for file in files for game in read_imported_games(file)]
    games = [game for game in read if game is not None]
    kinds = {game.start.rules.name: game.start.rules for game in games}
    if len(kinds) > 1:
        raise DataSetError(f"the games have the rules {' and '.join(kinds)}: write one data set for each")
    players = list(dict.fromkeys(player for game in games for player in game.players))
    if len(players) > len(LETTERS):
        raise DataSetError(f"{len(players)} different players: a data set has at most {len(LETTERS)}")
    letters = dict(zip(players, LETTERS, strict=False))
    seats = ["".join(letters[player] for player in game.players) for game in games]
    played = [game.to_recorded_game(number, seats[number]) for number, game in enumerate(games)]
    kept = [game for game in played if game is not None]
    if not kept:
        raise DataSetError(f"{short_repr([*map(str, paths)])} have no complete game: there is nothing to record")
    source = ", ".join(file.name for file in files[:3]) + ", …" * (len(files) > 3)
    settings = games_settings(players, games[0].start.rules, None, source=source)
    store = ResultStore(RecordedGame, folder / GAMES, settings, ("deal",), resume=False)
    store.add(kept)
    return write_data_set(folder), len(read) - len(kept)
