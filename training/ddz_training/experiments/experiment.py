"""What an experiment is: one object with name, source, options, run, tables and plot.

Adding one takes a file with such an object, a line in :mod:`ddz_training.experiments.registry`, a marker in a page, the
file of results beside it, and a test.  ``ddz reproduce NAME`` and ``ddz docs`` need nothing more: the options become
those of the command, and the tables are the blocks of the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from ddz_env.core.errors import unknown
from ddz_env.core.options import Options, Range
from ddz_training.measure.markdown import Lines as Lines
from ddz_training.measure.markdown import Spare as Spare
from ddz_training.measure.markdown import Table as Table
from ddz_training.measure.match.errors import InvalidExperimentError
from ddz_training.measure.match.results import OnProgress, ResultStore, of_rows, read_results

_Options = TypeVar("_Options", bound=Options)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class NoOptions(Options):
    """The options of an experiment that has none."""

    error = InvalidExperimentError


@dataclass(frozen=True)
class SeedOptions(NoOptions):
    """Options of an experiment with a random part.

    Attributes:
        seed: Seed of everything random.
    """

    seed: Annotated[int, Range(0, 2**64 - 1)] = 0


@dataclass(frozen=True)
class ParallelOptions(SeedOptions):
    """Options of an experiment that plays in several processes.

    Attributes:
        processes: Worker processes; results, except measured times, do not depend on their number.
    """

    processes: Annotated[int, Range(1, 2**16)] = 2


@dataclass(frozen=True)
class Comparison:
    """A figure of a paper beside ours.

    Attributes:
        what: What is measured.
        paper: The paper's figure as it prints it; empty where it prints none.
        ours: Ours.
        note: Its interval, or what differs.
    """

    what: str
    paper: str
    ours: str
    note: str = ""


def comparison_table(title: str, lines: Iterable[Comparison], note: str = "") -> Table:
    """Figures of a paper beside ours."""
    header = ("what", "paper", "ours", "95 % interval, or what is counted")
    return Table(title, header, [(line.what, line.paper, line.ours, line.note) for line in lines], note)


@dataclass(frozen=True)
class Saved(Generic[_Result]):
    """What an experiment has found.

    Attributes:
        results: Its results.
        settings: What they depend on.
        path: Their file, if they have one.
    """

    results: Sequence[_Result]
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def name(self) -> str:
        """The file's name as a page prints it."""
        return f"`{self.path.parent.name}/{self.path.name}`" if self.path else "no file"


def computed_from(saved: Saved[Any]) -> str:
    """The note of a table that says no more than its file."""
    return f"Computed from {saved.name}."


def compared(
    title: str,
    compare: Callable[[Sequence[_Result]], Iterable[Comparison]],
    note: Callable[[Saved[Any]], str] = computed_from,
) -> Callable[[Saved[_Result]], Table]:
    """What makes a table of the paper's figures beside ours.

    Args:
        title: The table's title.
        compare: Makes its lines from the results.
        note: Makes the note below it.
    """
    return lambda saved: comparison_table(title, compare(saved.results), note(saved))


@dataclass(frozen=True)
class Experiment(Generic[_Options, _Result]):
    """An experiment, for the command line and for the docs.

    Attributes:
        name: Its name in ``ddz reproduce`` and in the settings of its files.
        source: Paper and section, or ``own``.
        about: The help of its command.
        unit: What its progress bar counts.
        options: Its options.
        result: The dataclass of a line of its file.
        run: Does it, from options, the file to keep (None for none) and whom to tell how far it is.
        tables: What the command prints and pages show, by the name that a page has in its marker.
        file: Its file in a folder of results, without the suffix; a page may append a variant to a table's name
            (``full-landlord-plain``), which is then that of the file too (``full_landlord_plain.csv``).
        plot: Draws the results to a file.
        pages: Further blocks that only pages have, from the folder of results.
    """

    name: str
    source: str
    about: str
    unit: str
    options: type[_Options]
    result: type[_Result]
    run: Callable[[_Options, Path | None, OnProgress], Saved[_Result]]
    tables: Mapping[str, Callable[[Saved[_Result]], Table]]
    file: str
    plot: Callable[[Saved[_Result], Path], None] | None = None
    pages: Mapping[str, Callable[[Path], str]] = field(default_factory=dict)

    def block(self, name: str, folder: Path) -> Callable[[], str] | None:
        """What makes a block of a page by its name; None if it is no block of this experiment.

        Args:
            name: The name in the page's marker.
            folder: The folder of results.
        """
        if name in self.pages:
            return lambda: self.pages[name](folder)
        table = max((known for known in self.tables if f"{name}-".startswith(f"{known}-")), key=len, default=None)
        if table is None:
            return None
        path = folder / f"{self.file}{name.removeprefix(table).replace('-', '_')}.csv"
        return lambda: self.tables[table](read_saved(self.result, path)).markdown()


def read_saved(result: type[_Result], path: Path) -> Saved[_Result]:
    """The results of a file.

    Raises:
        FileNotFoundError: If there is none.
        ResultsFileError: If it is none of results.
    """
    settings, rows = read_results(path)
    return Saved(of_rows(result, rows), settings, path)


def kept(store: ResultStore[_Result], results: Sequence[_Result]) -> Saved[_Result]:
    """Results with what their store knows of them."""
    return Saved(results, store.settings, store.path)


def check_known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that do not exist.

    Raises:
        InvalidExperimentError: If there is one.
    """
    known = list(known)
    for name in names:
        if name not in known:
            raise InvalidExperimentError(unknown(what, name, known))
