"""Logs of Botzone as data sets: its matches as recorded games."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ddz_env.peers.botzone.games import SEATS
from ddz_env.peers.botzone.log import BotzoneLog
from ddz_training.data.dataset import DataSet, write_data_set
from ddz_training.data.errors import DataSetError
from ddz_training.data.games import GAMES, RecordedGame, games_settings
from ddz_training.data.table import check_tables
from ddz_training.measure.store import ResultStore

AGENTS = tuple(f"botzone seat {seat}" for seat in range(SEATS))
"""Who played: a log does not tell the bots' names."""


def recorded_match(log: BotzoneLog, number: int) -> RecordedGame | None:
    """A match as a recorded game; None if it was not played to its end (a fault, or the log is cut short).

    Args:
        log: The match.
        number: What the record calls its deal.

    Raises:
        BotzoneLogError: If it does not replay under our rules.
    """
    over, decisions = log.replay()
    if not over.is_over:
        return None
    moves = [decision.move for decision in decisions]
    return RecordedGame.of(log.deal.state(log.game), moves, over, deal=number, seats="abc")


def keep_matches(folder: Path, matches: Sequence[BotzoneLog]) -> DataSet:
    """Write the matches that were played to their end as a data set.

    Args:
        folder: Where to; it must hold no data set.
        matches: Matches of one of the platform's two games.

    Raises:
        DataSetError: If there is no such match, they are of both games, or PyArrow is not installed.
        ResultsFileError: If the folder holds games.
        BotzoneLogError: If a match does not replay under our rules.
    """
    check_tables()
    played = [game for number, log in enumerate(matches) if (game := recorded_match(log, number)) is not None]
    if not played:
        raise DataSetError("no match was played to its end: there is nothing to keep")
    kind, *others = {log.game.name: log.game for log in matches}.values()
    if others:
        names = " and ".join(one.name for one in (kind, *others))
        raise DataSetError(f"the matches are of {names}, whose rules differ: write a data set of each")
    settings = games_settings(AGENTS, kind.rules, None, source=f"logs of Botzone, {kind.name}")
    store = ResultStore(RecordedGame, folder / GAMES, settings, ("deal",), resume=False)
    store.add(played)
    return write_data_set(folder)
