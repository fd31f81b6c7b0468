"""Tables of states and actions: Parquet files with one row per action, computed from recorded games.

A move with kickers is decided stage by stage (the main group, then each kicker), so it takes several rows.  The columns
are in ``COLUMNS``; the files' metadata describe the games under the key ``ddz``.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ddz_env import Move, Rules, State
from ddz_env.core.observation import OBSERVATION_SIZE, fingerprint, observe
from ddz_env.support.atomic_files import atomic_write
from ddz_env.support.errors import install_hint, short_repr
from ddz_training.data.games import ActionStatistics, DataSetError, GameFile, RecordedGame
from ddz_training.measure.duplicate import LETTERS
from ddz_training.measure.provenance import rules_from_settings

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

KIND = "ddz-decisions-1"
TABLES = "decisions"
"""The folder of a data set that holds its tables."""
DEALS_PER_TABLE = 5_000
_ROWS_AT_ONCE = 16_384
_METADATA_KEY = b"ddz"
MAX_BYTES = 4 * 2**30
"""Of a table that is read, once unpacked: those of eight million observations."""


class StageRow(NamedTuple):
    """One action of a recorded decision with the states around it, from which a table row is computed.

    Attributes:
        game: The game.
        agents: The agents of the letters of its seats.
        ply: Number of the decision in the game.
        stage: Number of the stage in the decision.
        before: The game before the decision.
        state: The game before the stage.
        legal: The legal actions of the stage.
        move: The whole move.
        statistics: What a search said of the stage.
    """

    game: RecordedGame
    agents: Sequence[str]
    ply: int
    stage: int
    before: State
    state: State
    legal: list[int]
    move: Move
    statistics: Sequence[ActionStatistics]


class Column(NamedTuple):
    """A column of a data set's tables: its name, type and meaning, and the function that computes a cell.

    Attributes:
        name: Its name.
        kind: Its Arrow type, as text.
        meaning: What it holds.
        value: Computes the cell of a row.
    """

    name: str
    kind: str
    meaning: str
    value: Callable[[StageRow], Any]


def _statistics_cell(read: Callable[[ActionStatistics], Any], otherwise: Any) -> Callable[[StageRow], Any]:
    """Make a function that computes a cell with one number per legal action, or None if no search is recorded."""

    def cell(row: StageRow) -> list[Any] | None:
        by_action = {thought.action: read(thought) for thought in row.statistics}
        return [by_action.get(action, otherwise) for action in row.legal] if by_action else None

    return cell


def _move_to_beat(row: StageRow) -> str | None:
    target = row.before.view().target if row.before.stage == "play" else None
    return None if target is None else str(target[1])


COLUMNS = (
    Column("deal", "int64", "number of the deal; games of one deal share its cards", lambda row: row.game.deal),
    Column("game", "int16", "number of the game within the deal", lambda row: row.game.game),
    Column("ply", "int16", "number of the decision within the game, from 0", lambda row: row.ply),
    Column("stage", "int8", "0: main group, pass, bid or doubling; 1, 2 …: a kicker", lambda row: row.stage),
    Column("seat", "int8", "the seat that decides", lambda row: row.state.seat),
    Column("role", "string", "its role; null before there is a landlord", lambda row: row.state.role()),
    Column("agent", "string", "who decides", lambda row: row.agents[LETTERS.index(row.game.seats[row.state.seat])]),
    Column("hand", "string", "its hand before the move, in notation", lambda row: str(row.before.hand())),
    Column(
        "to_beat", "string", "the move to beat, in notation; null on lead, in the auction, in doubling", _move_to_beat
    ),
    Column("move", "string", "the whole move that was chosen, in notation", lambda row: str(row.move)),
    Column("action", "int16", "the action id of this stage", lambda row: row.move.actions[row.stage]),
    Column("legal", "list<int16>", "the legal action ids of this stage, ascending", lambda row: row.legal),
    Column(
        "observation",
        f"fixed_size_list<int8>[{OBSERVATION_SIZE}]",
        "what the seat sees, as in the environments",
        lambda row: observe(row.state),
    ),
    Column("win", "float32", "the seat's return under win scoring", lambda row: row.game.win[row.before.seat]),
    Column("stake", "float32", "the seat's return under stake scoring", lambda row: row.game.stake[row.before.seat]),
    Column(
        "visits",
        "list<int32>",
        "how often a search visited each action of `legal`; null where none is recorded",
        _statistics_cell(lambda thought: thought.visits, 0),
    ),
    Column(
        "values",
        "list<float32>",
        "the mean reward of these visits for the seat, null for an action without; null likewise",
        _statistics_cell(lambda thought: thought.value, None),
    ),
)
"""The columns, in order."""


def check_tables() -> None:
    """Raise an error if PyArrow, which writes and reads tables, is not installed.

    Raises:
        DataSetError: If PyArrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise DataSetError(f"tables of a data set need PyArrow: {install_hint('data')}")


def make_rows(game: RecordedGame, rules: Rules, agents: Sequence[str]) -> Iterator[StageRow]:
    """Yield a :class:`StageRow` for each action (main group, kicker or bid) of a recorded game.

    Args:
        game: The game.
        rules: The rules.
        agents: The agents of the letters of its seats.

    Raises:
        GameRecordError: If it does not replay.
    """
    for ply, (before, move, statistics) in enumerate(game.decisions(rules)):
        state = before.copy()
        for stage, action in enumerate(move.actions):
            stage_statistics = statistics if stage == 0 else ()
            yield StageRow(game, agents, ply, stage, before, state, state.legal_actions(), move, stage_statistics)
            state.step_action(action)


def write_table(path: Path, file: GameFile, games: Iterable[RecordedGame]) -> int:
    """Write games as a Parquet table, replacing the file atomically, and return its number of rows.

    Args:
        path: The file.
        file: The file of games that they are from.
        games: The games.

    Returns:
        The number of rows.

    Raises:
        DataSetError: If PyArrow is not installed, or the file cannot be written.
        GameRecordError: If a game does not replay.
    """
    check_tables()
    import pyarrow as pa
    import pyarrow.parquet as pq

    games = list(games)
    about = {"kind": KIND, "fingerprint": fingerprint(), "games": len(games), **file.settings}
    schema = pa.schema(
        [_arrow_field(column) for column in COLUMNS], {_METADATA_KEY: json.dumps(about, ensure_ascii=False).encode()}
    )
    rows = (row for game in games for row in make_rows(game, file.rules, file.agents))
    cells = ({column.name: column.value(row) for column in COLUMNS} for row in rows)
    count = 0
    try:
        with atomic_write(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            while piece := list(itertools.islice(cells, _ROWS_AT_ONCE)):
                writer.write_table(pa.Table.from_pylist(piece, schema=schema))
                count += len(piece)
    except OSError as error:
        raise DataSetError(f"cannot write {path}: {error.strerror or error}") from error
    return count


def _arrow_field(column: Column) -> pa.Field:
    import pyarrow as pa

    listed = re.fullmatch(r"\w+<(\w+)>(?:\[(\d+)\])?", column.kind)
    kind = pa.list_(getattr(pa, listed[1])(), int(listed[2] or -1)) if listed else getattr(pa, column.kind)()
    return pa.field(column.name, kind, metadata={b"meaning": column.meaning.encode()})


def list_tables(path: str | Path) -> list[Path]:
    """Return the paths of a data set's table files, sorted by name.

    Args:
        path: A table, a folder with tables, or the folder of a data set.

    Raises:
        DataSetError: If there is none.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    folder = path / TABLES if (path / TABLES).is_dir() else path
    files = sorted(filter(Path.is_file, folder.glob("*.parquet")))
    if not files:
        raise DataSetError(f"there is no table at {path}; ddz record writes some")
    return files


def read_metadata(path: Path) -> Mapping[str, Any]:
    """Read a table's metadata, with its games' settings, and check that this version can read the table.

    Raises:
        DataSetError: If it is not one of our tables, or one for other observations or actions.
    """
    about = _read_about(path)
    if about.get("fingerprint") != fingerprint():
        raise DataSetError(
            f"{path} was written for observations or actions with the fingerprint "
            f"{short_repr(about.get('fingerprint'))}, those of this package have {fingerprint()!r}: write the tables "
            "again from the recorded games (ddz record)"
        )
    return about


def is_complete(path: Path, games: int) -> bool:
    """Return whether a table exists with this number of games and with the observations and actions of this package.

    If not, it has to be written from its games.

    Raises:
        DataSetError: If there is a file that is not one of our tables.
    """
    if not path.is_file():
        return False
    about = _read_about(path)
    return (about.get("fingerprint"), about.get("games")) == (fingerprint(), games)


def _read_about(path: Path) -> Mapping[str, Any]:
    """Read the metadata of a table, which any version of this package may have written."""
    check_tables()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = json.loads((pq.read_schema(path).metadata or {}).get(_METADATA_KEY, b"{}"))
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise DataSetError(f"{path} is not a table: {error}") from error
    kind = about.get("kind") if isinstance(about, dict) else None
    if kind is None:
        raise DataSetError(f"{path} is not a table of decisions: it has no metadata of this package (kind {KIND!r})")
    if kind != KIND:
        raise DataSetError(f"{path} is not a table of decisions: its kind is {short_repr(kind)}, not {KIND!r}")
    return dict(about)


def read_rules(path: str | Path) -> Rules:
    """Return the rules under which all games of a data set were played.

    Args:
        path: As for :func:`list_tables`.

    Raises:
        DataSetError: If there is no table, one is not ours, or they are of different rules.
    """
    presets = {rules_from_settings(read_metadata(file).get("rules")) for file in list_tables(path)}
    if len(presets) > 1:
        names = " and ".join(sorted(rules.name for rules in presets))
        raise DataSetError(f"the tables at {path} are of games under different rules: {names}")
    return presets.pop()


def read_batches(path: str | Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the given columns of a data set's tables as Arrow record batches.

    Args:
        path: As for :func:`list_tables`.
        columns: Their names.

    Raises:
        DataSetError: If there is no table, one cannot be read, or it is for other observations or actions.
    """
    for file in list_tables(path):
        read_metadata(file)
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(file) as table:
                if (size := _unpacked_size(table.metadata)) > MAX_BYTES:
                    raise DataSetError(f"{file} unpacks to {size / 2**30:.3g} GiB, more than {MAX_BYTES / 2**30:.3g}")
                types = {field.name: field.type for field in table.schema_arrow}
                if len(types) != len(table.schema_arrow):
                    raise DataSetError(f"{file} has two columns of one name")
                for column in COLUMNS:
                    if column.name not in columns:
                        continue
                    if column.name not in types:
                        raise DataSetError(f"{file} has no column {column.name}")
                    if (found := types[column.name]) != (right := _arrow_field(column).type):
                        raise DataSetError(f"{file}: column {column.name} has the type {found}, not {right}")
                yield from table.iter_batches(_ROWS_AT_ONCE, columns=list(columns))
        except (OSError, pa.ArrowException) as error:
            raise DataSetError(f"{file} cannot be read: {error}") from error


def _unpacked_size(metadata: pq.FileMetaData) -> int:
    """Estimate from a file's metadata how many bytes its columns take once repeated values are unpacked."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    return sum(max(column.num_values, column.total_uncompressed_size) for column in columns)
