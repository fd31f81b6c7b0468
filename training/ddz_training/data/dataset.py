"""Data sets as folders that hold recorded games, the tables computed from them, and a card that describes both.

The layout is one that the Hugging Face hub and its ``datasets`` read as it is.  The card says what the rows are, by
whom they were played and what they are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env.support.atomic_files import replace_file
from ddz_training.data.games import GameFile, read_games
from ddz_training.data.table import COLUMNS, DEALS_PER_TABLE, TABLES, check_tables, is_complete, write_table
from ddz_training.measure.duplicate import LETTERS
from ddz_training.measure.markdown import format_markdown_table
from ddz_training.measure.store import locked_for_writing

CARD = "README.md"
_TEMPLATE = Path(str(resources.files("ddz_training.data"))) / "card.md"
_GENERATED = "Programs played all games. No person took part."
_IMPORTED = "The games were imported. The table below says who held the seats."


class DataSet(NamedTuple):
    """The size of a data set, in games and table rows.

    Attributes:
        games: The number of its games.
        rows: The number of rows in its tables.
    """

    games: int
    rows: int


def write_data_set(folder: Path, on_table: Callable[[int, int], None] = lambda done, total: None) -> DataSet:
    """Write a data set's tables and card from the recorded games in its folder, and return its size.

    Complete tables are left as they are.  Tables with the observations or actions of another version are written again.

    Args:
        folder: The folder, with ``games.sqlite``.
        on_table: Called with how many tables are done, and how many there are.

    Raises:
        DataSetError: If there are no games, PyArrow is not installed, or a file cannot be written.
        GameRecordError: If a game does not replay.
    """
    check_tables()
    import pyarrow.parquet as pq

    file = read_games(folder)
    shards = [
        (folder / TABLES / f"{number:05d}.parquet", list(games))
        for number, games in itertools.groupby(file.games, lambda game: game.deal // DEALS_PER_TABLE)
    ]
    rows = 0
    with locked_for_writing(folder / CARD):
        for done, (path, games) in enumerate(shards, 1):
            if is_complete(path, len(games)):
                rows += pq.read_metadata(path).num_rows
            else:
                rows += write_table(path, file, games)
            on_table(done, len(shards))
        replace_file(folder / CARD, format_card(file, rows).encode())
    return DataSet(len(file.games), rows)


_SIZE_NAMES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")


def format_columns_table() -> str:
    """Return a Markdown table of a data set's columns, for the dataset card and the documentation."""
    return format_markdown_table(
        ("column", "type", "meaning"), ((f"`{column.name}`", f"`{column.kind}`", column.meaning) for column in COLUMNS)
    )


def find_size_category(rows: int) -> str:
    """Return Hugging Face's size category for a number of rows.

    Example:
        >>> find_size_category(12), find_size_category(250_000)
        ('n<1K', '100K<n<1M')
    """
    index = len(str(rows)) - 4
    return f"{_SIZE_NAMES[index]}<n<{_SIZE_NAMES[index + 1]}" if index >= 0 else f"n<{_SIZE_NAMES[0]}"


def format_card(file: GameFile, rows: int) -> str:
    """Return the text of a data set's README, its *dataset card*.

    Args:
        file: Its games.
        rows: The rows of its tables.
    """
    settings, games = file.settings, file.games
    return _TEMPLATE.read_text(encoding="utf-8").format(
        title=f"Dou Dizhu decisions: {' v '.join(file.agents)}",
        size=find_size_category(rows),
        games=len(games),
        deals=len({game.deal for game in games}),
        rules=file.rules.name,
        decisions=sum(len(game.moves) for game in games),
        rows=rows,
        searched="with the visits of each action in the search" if settings["visits"] else "without visits of a search",
        played=_IMPORTED if "source" in settings else _GENERATED,
        players=format_markdown_table(("agent", "seats taken", "won, %"), _player_rows(file)),
        origin=_describe_origin(settings),
        columns=format_columns_table(),
    )


def _describe_origin(settings: Mapping[str, Any]) -> str:
    """Return a sentence on where a data set's games come from and how to generate them again."""
    if "source" in settings:
        return f"From {settings['source']}."
    code = ", ".join(f"`{stamp}`" for stamp in settings.get("code", ()))
    files = [
        f"; `{agent}` read {', '.join(f'`{name}` ({digest})' for name, digest in read.items())}"
        for agent, read in settings.get("files", {}).items()
    ]
    return f"Seed {settings['seed']}; code {code}{''.join(files)}. Equal code, agents and seed write equal games."


def _player_rows(file: GameFile) -> Iterator[tuple[str, str, str]]:
    for letter, agent in zip(LETTERS, file.agents, strict=False):
        won = [
            value > 0
            for game in file.games
            for occupant, value in zip(game.seats, game.win, strict=True)
            if occupant == letter
        ]
        yield f"`{agent}`", f"{len(won):,}", f"{100 * sum(won) / len(won):.1f}" if won else "–"
