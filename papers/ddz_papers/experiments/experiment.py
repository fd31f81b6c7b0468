"""The class that defines an experiment: its options, tasks, results, tables and plot.

A new one is a file with an :class:`Experiment`, a line in :mod:`ddz_papers.experiments.registry`, and a test.  ``ddz
reproduce NAME`` runs it, with its options as those of the command; ``docs/generate.py`` writes its tables into pages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from ddz_env.support.checks import check_choice
from ddz_env.support.options import Options, Range
from ddz_training.measure import summaries
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.markdown import Table
from ddz_training.measure.store import Key, OnProgress, ResultStore, ignore_progress, parse_rows, read_results
from ddz_training.measure.workers import Worker

_Options = TypeVar("_Options", bound=Options)
_Result = TypeVar("_Result")

Task = tuple[Any, ...]
"""The values of the result's key fields, and all else that the work needs."""

Count = Annotated[int, Range(1)]
Seed = Annotated[int, Range(0, 2**64 - 1)]
"""Types of most options."""


@dataclass(frozen=True)
class NoOptions(Options):
    """The options of an experiment that has no settings."""

    error = InvalidExperimentError


@dataclass(frozen=True)
class SeedOptions(NoOptions):
    """Options of an experiment that uses random numbers: their seed.

    Attributes:
        seed: Seed of everything random.
    """

    seed: Seed = 0


@dataclass(frozen=True)
class ParallelOptions(SeedOptions):
    """Options of an experiment that runs in several processes.

    Attributes:
        processes: Worker processes; results, except measured times, do not depend on their number.
    """

    processes: Annotated[int, Range(1, 2**16)] = 2


@dataclass(frozen=True)
class ChosenOptions(ParallelOptions):
    """Options of an experiment in which single parts can be selected to run.

    Attributes:
        only: Only this part; may be repeated.
    """

    only: tuple[str, ...] | None = None


class Comparison(NamedTuple):
    """A figure that a paper prints, beside the figure that we computed.

    Attributes:
        what: What is measured.
        paper: The paper's figure as it prints it; empty where it prints none.
        ours: Our figure.
        note: Its interval, or what differs.
    """

    what: str
    paper: str
    ours: str
    note: str = ""


def make_comparison_table(title: str, lines: Iterable[Comparison], note: str) -> Table:
    """Make a table that compares a paper's figures with ours."""
    header = ("what", "paper", "ours", "95 % interval, or what is counted")
    return Table(title, header, [*lines], note)


@dataclass(frozen=True)
class SavedResults(Generic[_Result]):
    """The results of an experiment, with the settings that produced them and the path of their file.

    Attributes:
        results: The results.
        settings: What they depend on.
        path: Their file, if they have one.
    """

    results: Sequence[_Result]
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def name(self) -> str:
        """The results file's name, in the form in which tables cite it."""
        return f"`{Path(*self.path.parts[-2:]).as_posix()}`" if self.path else "no file"


def source_note(saved: SavedResults[Any]) -> str:
    """Return a table note that only names the results file."""
    return f"Computed from {saved.name}."


class TaskWorker(Worker[Task, Sequence[_Result]]):
    """A worker that does each task with the experiment's function, and keeps nothing between tasks."""

    def __init__(self, work: Callable[..., Sequence[_Result]], options: Options) -> None:
        self._work, self._options = work, options

    def work(self, task: Task) -> Sequence[_Result]:
        """Do one task of the experiment, and return its results."""
        return self._work(self._options, *task)


@dataclass(frozen=True)
class Experiment(Generic[_Options, _Result]):
    """An experiment: its options, its tasks and their results, and the tables and the plot of the results.

    It consists of tasks.  A task gives some results, which depend on nothing but the task and the settings; they are
    the lines of a file, and a run that was cut off is resumed task by task.

    Attributes:
        name: Its name in ``ddz reproduce`` and in the settings of its files.
        about: The help of its command.
        options: The class of its options.
        result: The dataclass of a line of its file.
        key: The fields of a result that name its task.
        tasks: The tasks, from the options; each begins with the values of ``key``.  It refuses names and agents that do
            not exist, before there is a file.
        unit: What its progress bar counts.
        tables: What the command prints and pages show, by name.
        work: Does a task, from the options and the parts of the task, in any process: a function of a module.
        worker: Instead of ``work``: makes a worker from the options, which may keep something from task to task.
        changeable: Names of the options that a run may change and still resume a file: counts of tasks, fields of
            ``key``, and what ``more`` records in another form.  ``processes`` and ``only`` always are; results depend
            on all others.
        more: What else they depend on, from the options: values that JSON can hold.
        agents: The agents whose files they depend on, from the options.
        source: Paper and section, or ``own``.
        whole: Whether a run shows all results of its file, not those of its own tasks only.
        file: Its file in a folder of results, without the suffix; by default its name.
        plot: Draws the results to a file.
    """

    name: str
    about: str
    options: type[_Options]
    result: type[_Result]
    key: Sequence[str]
    tasks: Callable[[_Options], Iterable[Task]]
    unit: str
    tables: Mapping[str, Callable[[SavedResults[_Result]], Table]]
    work: Callable[..., Sequence[_Result]] | None = None
    worker: Callable[[_Options], Worker[Any, Sequence[_Result]]] | None = None
    changeable: Sequence[str] = ()
    more: Callable[[_Options], Mapping[str, Any]] = lambda options: {}
    agents: Callable[[_Options], Iterable[str]] = lambda options: ()
    source: str = "own"
    whole: bool = False
    file: str = ""
    plot: Callable[[SavedResults[_Result], Path], None] | None = None

    @property
    def file_name(self) -> str:
        """The name of the experiment's file in a folder of results."""
        return f"{self.file or self.name.replace('-', '_')}.csv"

    def settings(self, options: _Options) -> dict[str, Any]:
        """Return the settings on which results depend, in the form that a results file's first line records."""
        changeable = {"processes", "only", *self.changeable}
        counted = {name: value for name, value in options.as_dict().items() if name not in changeable}
        return {"experiment": self.name, **counted, **self.more(options)}

    def run(
        self,
        options: _Options | None = None,
        path: Path | None = None,
        on_progress: OnProgress = ignore_progress,
        tasks: Iterable[Task] | None = None,
    ) -> SavedResults[_Result]:
        """Run the experiment's tasks, resuming from a saved file if one is given, and return the results.

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
        by_key: dict[Key, Task] = {
            task[: len(self.key)]: task for task in (self.tasks(options) if tasks is None else tasks)
        }
        store = ResultStore(self.result, path, self.settings(options), self.key, agents=self.agents(options))
        start: Any = functools.partial(TaskWorker, self.work) if self.work else self.worker
        processes = getattr(options, "processes", 1)
        results = store.run_tasks(by_key, functools.partial(start, options), processes, on_progress)
        return SavedResults(store.results if self.whole else results, store.settings, store.path)


def read_results_file(result: type[_Result], path: Path) -> SavedResults[_Result]:
    """Read an experiment's results and settings from a results file.

    Raises:
        FileNotFoundError: If it does not exist.
        ResultsFileError: If it does not hold results.
    """
    settings, rows = read_results(path)
    return SavedResults(parse_rows(result, rows, path), settings, path)


def group_by(results: Iterable[_Result], *names: str, order: Iterable[Any] = ()) -> dict[Any, list[_Result]]:
    """Group results by the value of one field, or by the values of several fields.

    Args:
        results: What is grouped.
        names: The fields.
        order: Values that come first, in this order; others follow in the order in which they come first.
    """
    groups = summaries.group_by(results, attrgetter(*names))
    return {value: groups[value] for value in (*order, *groups) if value in groups}


def check_names(what: str, names: Iterable[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Return the given names after checking that they are known, or all known names if none are given.

    Raises:
        InvalidExperimentError: If there is one that does not exist.
    """
    known = tuple(known)
    return tuple(check_choice(what, name, known, InvalidExperimentError) for name in names or known)
