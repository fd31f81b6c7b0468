"""What an experiment is: one object with its options, its tasks, the work that they are, its tables and its plot.

Adding one takes a file with such an object, a line in :mod:`ddz_training.experiments.registry`, a marker in a page, the
file of results beside it, and a test.  ``ddz reproduce NAME`` and ``ddz docs`` need nothing more: the options become
those of the command, and the tables are the blocks of the pages.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Concatenate, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from typing_extensions import dataclass_transform

from ddz_env.core.checks import check_choice
from ddz_env.core.options import Options, Range
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.markdown import Table as Table
from ddz_training.measure.store import Key, OnProgress, ResultStore, no_progress, of_rows, read_results
from ddz_training.measure.workers import Worker

_Options = TypeVar("_Options", bound=Options)
_Result = TypeVar("_Result")

Tasks = Iterable[Any] | Mapping[Key, Any]

Count = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, 2**64 - 1)]
"""What most options are."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class NoOptions(Options):
    """Options of an experiment, none here; every subclass is a frozen dataclass."""

    error = InvalidExperimentError

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


@dataclass_transform(frozen_default=True)
class Result:
    """A line of a file of results: every subclass is a frozen dataclass, its fields are the columns."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class SeedOptions(NoOptions):
    """Options of an experiment with a random part.

    Attributes:
        seed: Seed of everything random.
    """

    seed: Seed = 0


class ParallelOptions(SeedOptions):
    """Options of an experiment that plays in several processes.

    Attributes:
        processes: Worker processes; results, except measured times, do not depend on their number.
    """

    processes: Annotated[int, Range(1, 2**16)] = 2


class ChosenOptions(ParallelOptions):
    """Options of an experiment of which a part may be chosen.

    Attributes:
        only: Only this part; may be repeated.
    """

    only: tuple[str, ...] | None = None


class Comparison(NamedTuple):
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
    return Table(title, header, [*lines], note)


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
        return f"`{Path(*self.path.parts[-2:]).as_posix()}`" if self.path else "no file"


def computed_from(saved: Saved[Any]) -> str:
    """The note of a table that says no more than its file."""
    return f"Computed from {saved.name}."


def compared(
    title: str,
    compare: Callable[[Sequence[_Result]], Iterable[Comparison]],
    note: Callable[[Saved[Any]], str] = computed_from,
) -> Callable[[Saved[_Result]], Table]:
    """Make the function for a table of the paper's figures beside ours.

    Args:
        title: The table's title.
        compare: Makes its lines from the results.
        note: Makes the note below it.
    """
    return lambda saved: comparison_table(title, compare(saved.results), note(saved))


def as_saved(result: _Result) -> _Result:
    """A result whose numbers have as many digits as in its file, so that a run and its file say the same."""
    hints = get_type_hints(type(result), include_extras=True)
    forms = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    numbers = {name: float(format(getattr(result, name), form)) for name, form in forms.items()}
    return replace(result, **numbers)  # type: ignore[type-var]  # every result is a dataclass


class TaskWorker(Worker[Any, Sequence[_Result]]):
    """Does the tasks of an experiment that keeps nothing from one to the next; results are those of their file."""

    def __init__(self, work: Callable[..., Sequence[_Result]], options: Any) -> None:
        self._work, self._options = work, options

    def play(self, task: Sequence[Any]) -> Sequence[_Result]:
        """Do one."""
        return [as_saved(result) for result in self._work(self._options, *task)]


@dataclass(frozen=True)
class Experiment(Generic[_Options, _Result]):
    """An experiment: what it does, what it keeps, and what the command line and the docs show of it.

    It consists of tasks.  A task gives some results, which must depend on nothing but the task and the options that are
    ``settings``; they are the lines of a file, and a file is resumed task by task.

    Attributes:
        name: Its name in ``ddz reproduce`` and in the settings of its files.
        work: Does a task in any process, from the options and the parts of the task; or makes, from the options, a
            worker that keeps something from one task to the next.  Its docstring is the help of the command, and
            its annotations name the classes of options and results.  Picklable, so no lambda.
        unit: What its progress bar counts.
        tasks: The tasks, from the options: tuples that begin with the key's values, or a mapping from these to what
            ``work`` gets.
            It refuses names and agents that do not exist, before there is a file.
        tables: What the command prints and pages show, by the name that a page has in its marker.
        key: The fields of a result that name its task; by default its first ones, as many as a task has parts.
        settings: Names of the options that results depend on.
        more: What else they depend on, from the options.
        agents: The agents whose files they depend on, or what finds them in the mapping of tasks.
        whole: Whether a run shows all results of its file, not those of its own tasks only.
        file: Its file in a folder of results, without the suffix; by default its name.  A page may append a variant to
            a table's name (``full-landlord-plain``), which is then that of the file too (``full_landlord_plain.csv``).
        source: Paper and section, or ``own``.
        plot: Draws the results to a file.
        pages: Further blocks that only pages have, from the folder of results.
        about: The help of its command, by default the docstring of ``work``.
        options: The class of its options, by default that of ``work``.
        result: The dataclass of a line of its file, by default that of ``work``.
    """

    name: str
    work: Callable[Concatenate[_Options, ...], Sequence[_Result] | Worker[Any, Sequence[_Result]]]
    unit: str
    tasks: Callable[[_Options], Tasks]
    tables: Mapping[str, Callable[[Saved[_Result]], Table]]
    key: Sequence[str] = ()
    settings: Sequence[str] = ("seed",)
    more: Callable[[_Options], Mapping[str, Any]] = lambda options: {}
    agents: Sequence[str] | Callable[[Mapping[Key, Any]], Iterable[str]] = ()
    whole: bool = False
    file: str = ""
    source: str = "own"
    plot: Callable[[Saved[_Result], Path], None] | None = None
    pages: Mapping[str, Callable[[Path], str]] = field(default_factory=dict)
    about: str = ""
    options: type[_Options] = None  # type: ignore[assignment]  # that of the work
    result: type[_Result] = None  # type: ignore[assignment]  # that of the work

    def __post_init__(self) -> None:
        work: Any = self.work
        start, play = (work.__init__, work.play) if hasattr(work, "play") else (work, work)
        defaults: dict[str, Callable[[], Any]] = {
            "file": lambda: self.name.replace("-", "_"),
            "about": lambda: work.__doc__,
            "options": lambda: get_type_hints(start)["options"],
            "result": lambda: get_args(get_type_hints(play)["return"])[0],
        }
        for name, default in defaults.items():
            object.__setattr__(self, name, getattr(self, name) or default())

    def run(
        self,
        options: _Options | None = None,
        path: Path | None = None,
        on_progress: OnProgress = no_progress,
        tasks: Tasks | None = None,
    ) -> Saved[_Result]:
        """Do all tasks.

        Args:
            options: What is done; the defaults if None.
            path: Where to save, task by task; a file of an earlier run is resumed, and may hold other tasks' results.
            on_progress: Called with the number of tasks that are done and of all.
            tasks: Other tasks than those of the options.

        Returns:
            The results of these tasks, in their order.

        Raises:
            InvalidExperimentError: If a name that the options have does not exist.
            UnknownAgentError: If an agent does not exist.
            SettingsMismatchError: If the file was written with other settings.
            WorkerDiedError: If a worker process died.
        """
        options = self.options() if options is None else options
        todo = self.tasks(options) if tasks is None else tasks
        todo = todo if isinstance(todo, Mapping) else {task[: len(self.key) or None]: task for task in todo}
        settings = {"experiment": self.name, **{name: getattr(options, name) for name in self.settings}}
        agents = self.agents(todo) if callable(self.agents) else self.agents
        key = self.key or [one.name for one in fields(self.result)][: len(next(iter(todo), ()))]  # type: ignore[arg-type]
        store = ResultStore(self.result, path, settings | dict(self.more(options)), key, agents=agents)
        work: Any = self.work
        work = work if len(inspect.signature(work).parameters) == 1 else functools.partial(TaskWorker, work)
        results = store.fill(todo, functools.partial(work, options), getattr(options, "processes", 1), on_progress)
        return Saved(store.results if self.whole else results, store.settings, store.path)

    def block(self, name: str, folder: Path) -> Callable[[], str] | None:
        """The function that makes a block of a page; None if this experiment has no such block.

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
        FileNotFoundError: If it does not exist.
        ResultsFileError: If it does not hold results.
    """
    settings, rows = read_results(path)
    return Saved(of_rows(result, rows), settings, path)


def grouped(results: Iterable[_Result], *names: str, order: Iterable[Any] = ()) -> dict[Any, list[_Result]]:
    """Results by the value of a field, or by the values of several.

    Args:
        results: What is grouped.
        names: The fields.
        order: Values that come first, in this order; others follow in the order in which they come first.
    """
    groups: dict[Any, list[_Result]] = {value: [] for value in order}
    for result in results:
        groups.setdefault(attrgetter(*names)(result), []).append(result)
    return {value: own for value, own in groups.items() if own}


def chosen(what: str, names: Iterable[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """The names that were given, or all known ones if there are none.

    Raises:
        InvalidExperimentError: If there is one that does not exist.
    """
    known = tuple(known)
    return tuple(check_choice(what, name, known, InvalidExperimentError) for name in names or known)
