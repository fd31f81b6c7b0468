"""A data set: a folder with the games, the tables that are computed from them, and a card that says what they are.

The layout is one that the Hugging Face hub and its ``datasets`` read as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ddz_env.core.whole_file import replace_file
from ddz_training.data.card import card_text
from ddz_training.data.games import read_games
from ddz_training.data.table import DEALS_A_TABLE, TABLES, check_tables, read_about, write_table
from ddz_training.measure.match.one_writer import writing

CARD = "README.md"


class DataSet(NamedTuple):
    """What a folder holds.

    Attributes:
        games: Its games.
        rows: The rows of its tables.
    """

    games: int
    rows: int


def write_data_set(folder: Path, on_table: Callable[[int, int], None] = lambda done, total: None) -> DataSet:
    """Write the tables and the card of a folder from its games.

    Tables that are complete are left as they are.

    Args:
        folder: The folder, with ``games.jsonl``.
        on_table: Told how many tables are done, and how many there are.

    Raises:
        DataSetError: If there are no games, PyArrow is not installed, or a file cannot be written.
        GameRecordError: If a game does not replay.
    """
    check_tables()
    import pyarrow.parquet as pq

    file = read_games(folder)
    shards = [
        (folder / TABLES / f"{number:05d}.parquet", list(games))
        for number, games in itertools.groupby(file.games, lambda game: game.deal // DEALS_A_TABLE)
    ]
    rows = 0
    with writing(folder / CARD):
        for done, (path, games) in enumerate(shards, 1):
            if path.is_file() and read_about(path)["games"] == len(games):
                rows += pq.read_metadata(path).num_rows
            else:
                rows += write_table(path, file, games)
            on_table(done, len(shards))
        replace_file(folder / CARD, card_text(file, rows).encode())
    return DataSet(len(file.games), rows)
