"""The training loop, which takes steps and writes curves, evaluations and checkpoints until the budget is spent.

What learns is a :class:`Training`: self-play (:mod:`.ppo.selfplay`), deep Monte Carlo (:mod:`.dmc`), imitation
(:mod:`.imitation`), the belief network (:mod:`.belief`) and Stable-Baselines3 (:mod:`.sb3.train`) say what one step is;
everything else is here.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ddz_agents.neural.model import PolicyModel
from ddz_env.support.atomic_files import append_bytes, read_text, replace_file
from ddz_env.support.errors import DouDizhuError, install_hint
from ddz_env.support.options import Options, Range
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError, MissingTensorBoardError
from ddz_training.learn.settings import Positive, TrainingSettings
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.clocks import wall_time
from ddz_training.measure.store import locked_for_writing

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

CURVES, EVALUATIONS = "curves.csv", "evaluations.csv"
POLICY, CHECKPOINT = "policy.safetensors", "checkpoint.safetensors"
"""The files of a training in its folder: its weights, and what it is resumed from."""

RENAMED_COLUMNS: Mapping[str, str] = {
    "divergence": "approx_kl",
    "clipped": "clip_fraction",
    "explained": "explained_variance",
    "rate": "decisions_per_second",
    "workers": "workers_busy",
    "rollout": "rollout_share",
    "memory": "memory_gib",
}
"""Columns of ``curves.csv`` by their names of earlier versions, and what they are called today."""


@dataclass
class Counters:
    """Counters of a training run's progress: updates, steps, decisions, games and seconds.

    Attributes:
        update: Steps of :func:`train`.
        steps: Decisions of the environments, forced ones included.
        decisions: Decisions that were learned from, each counted once.
        games: Games that have ended.
        seconds: Seconds of training; evaluations, and what Numba compiles, are not counted.
    """

    update: int = 0
    steps: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Budget(Options):
    """The total length of a training run, including the part before it was resumed.

    Attributes:
        updates: Updates; None for no limit.
        minutes: Minutes of training; evaluations, and what Numba compiles, are not counted.  None for no limit.
        decisions: Decisions that are learned from; None for no limit.

    Raises:
        InvalidTrainingError: If there is no limit at all or one is not positive.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    updates: Annotated[int, Range(1)] | None = None
    minutes: Positive | None = None
    decisions: Annotated[int, Range(1)] | None = None

    def check(self) -> None:
        """Refuse a budget without any limit, because training would never end."""
        if all(limit is None for limit in vars(self).values()):
            raise InvalidTrainingError("say how long to train: --minutes 60, or --updates 500")

    def share_spent(self, counters: Counters) -> float:
        """Return the fraction of the budget that is spent, from 0 to 1, by the limit that is nearest."""
        done = {"updates": counters.update, "minutes": counters.seconds / 60, "decisions": counters.decisions}
        shares = [done[name] / limit for name, limit in vars(self).items() if limit is not None]
        return min(1.0, max(map(float, shares)))


class Training(ABC):
    """The base class of trainings: the methods with which :func:`train` runs, saves and evaluates a learner.

    Args:
        config: The settings.

    Attributes:
        config: The settings.
        counters: How far the training is.
        spent: The share of the budget that was spent before this step, 0 to 1.
        line_type: The results of a step: a dataclass of numbers with fields of :class:`Counters` and of what
            :meth:`learn` returns, the number of the step first.  Its text is shown beside the bar.
        tables: The CSV file of each kind of line that is written.
    """

    line_type: ClassVar[type]
    tables: ClassVar[Mapping[type, str]] = {Evaluation: EVALUATIONS}
    config: TrainingSettings

    def __init__(self, config: TrainingSettings) -> None:
        self.config = config
        self.counters = Counters()
        self.spent = 0.0

    @abstractmethod
    def learn(self) -> Mapping[str, Any]:
        """Do one training update and return its results by name.

        It adds to all of :attr:`counters` except the update and the seconds.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write to a folder the weights and the state needed for resuming, replacing each file atomically."""

    @abstractmethod
    def close(self) -> None:
        """Stop the training's threads and close its agents."""

    def make_evaluation_policy(self) -> PolicyModel | None:
        """Make a policy with the current weights for evaluations, or return None if the training has no policy."""
        return None

    def step(self) -> Any:
        """Do one training update, count it, and return its results as an instance of :attr:`line_type`."""
        began = wall_time()
        result = self.learn()
        self.counters.update += 1
        self.counters.seconds += self.broadcast(wall_time() - began)
        values = {**vars(self.counters), **result}
        return self.line_type(**{name: values[name] for name in field_names(self.line_type) if name in values})

    @property
    def is_leader(self) -> bool:
        """Whether this process is the one that writes files and measures strength."""
        return True

    def broadcast(self, number: float) -> float:
        """Return the first process's number in every process, so that all take the same decision."""
        return number

    def is_evaluation_due(self) -> bool:
        """Return whether the number of updates is a multiple of the setting ``eval_freq``."""
        return bool(self.config.eval_freq) and self.counters.update % self.config.eval_freq == 0

    def evaluate(self, stop: Callable[[], bool] = lambda: False) -> list[Evaluation]:
        """Measure the policy's strength against ``eval_opponents``; return an empty list if there is no policy.

        Args:
            stop: Called before every deal; True ends the measurement without a result.
        """
        player, config = self.make_evaluation_policy(), self.config
        if player is None:
            return []
        results = measure_strength(
            player, config.eval_opponents, config.eval_deals, rules=config.rules, seed=config.seed, stop=stop
        )
        return [Evaluation.of(self.counters.update, result) for result in results]


def train(
    run: Training,
    budget: Budget,
    folder: str | Path | None = None,
    *,
    tensorboard: Path | None = None,
    on_update: Callable[[Any], object] = lambda line: None,
    on_evaluation: Callable[[Sequence[Evaluation]], object] = lambda evaluations: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train until the budget is spent, writing curves, evaluations and checkpoints to a folder.

    Each file of the folder is whole whenever the training is killed; it continues from the last checkpoint, and what
    the curves have beyond that is written again.  There is a checkpoint after the first update, then by time.  A new
    run is evaluated before its first update, too, so that its curve has a beginning.  A later evaluation that was cut
    off is made first when the training goes on.

    Args:
        run: What learns, new or resumed.
        budget: How long to train.
        folder: Where weights, checkpoint, curves and evaluations go; None keeps nothing.
        tensorboard: A folder for TensorBoard; None writes nothing there.
        on_update: Called with the line of every update.
        on_evaluation: Called with every evaluation.
        stop: Called after every update and before every deal of an evaluation; True ends the training early, with a
            checkpoint and without the evaluation.

    Raises:
        CheckpointError: If a file cannot be written, or the curves there are of another version or another run.
        InUseError: If another process trains there.
        MissingTensorBoardError: If TensorBoard is wanted and not installed.
        TensorFileError: If the weights cannot be written.
    """
    folder = None if folder is None else Path(folder)
    stopped, due = False, 0.0
    with contextlib.ExitStack() as stack:
        if folder is not None and run.is_leader:
            stack.enter_context(locked_for_writing(folder, folder=True))
        targets = (folder, tensorboard) if run.is_leader else (None, None)
        log = stack.enter_context(contextlib.closing(RunLog(run.tables, *targets, run.counters.update)))

        def evaluate() -> None:
            at_an_end = run.counters.update == 0 or budget.share_spent(run.counters) >= 1.0
            if run.is_leader and (run.is_evaluation_due() or (at_an_end and run.config.eval_freq)):
                evaluations = run.evaluate(stop)
                for evaluation in evaluations:
                    log.write(evaluation)
                on_evaluation(evaluations)

        if run.counters.update == 0 or (folder is not None and log.last_evaluation < run.counters.update):
            evaluate()
        while not stopped and budget.share_spent(run.counters) < 1.0:
            run.spent = budget.share_spent(run.counters)
            line = run.step()
            last = budget.share_spent(run.counters) >= 1.0
            log.write(line)
            on_update(line)
            evaluate()
            stopped = bool(run.broadcast(stop()))
            if folder is not None and run.broadcast(stopped or last or time.monotonic() >= due):
                run.save(folder)
                due = time.monotonic() + 60 * run.config.checkpoint_minutes


def check_can_start(path: Path, *, resume: bool) -> None:
    """Raise an error if there is nothing to resume, or if a new run would overwrite an earlier one.

    Args:
        path: What a training of this kind is resumed from, in its folder.
        resume: Whether to resume.

    Raises:
        CheckpointError: In either case.
    """
    if resume and not path.exists():
        why = "a run writes it after its first update; leave out --resume to begin one"
        if any(_has_lines(path.with_name(name)) for name in (CURVES, EVALUATIONS)):
            why = f"a run ended before its first; remove {path.parent} and leave out --resume to begin anew"
        raise CheckpointError(f"{path}: there is no such file, so there is nothing to resume ({why})")
    if path.exists() and not resume:
        raise CheckpointError(f"{path} exists: add --resume to continue it, or name another folder")


# --- Curves -----------------------------------------------------------------------------------------------------------


class RunLog:
    """A writer of training results to CSV files and TensorBoard, one line per update or evaluation.

    Args:
        tables: The CSV file of each kind of line that has one.
        folder: Where these files are; None writes none of them.
        tensorboard: TensorBoard's folder; None writes nothing there.
        done: The last update of an earlier run that is continued, 0 for a new one.  What a killed run wrote beyond it
            is dropped, and hidden from TensorBoard.

    Attributes:
        last_evaluation: The update of the last evaluation that the files hold, 0 without one.

    Raises:
        CheckpointError: If a file cannot be written or has other columns.
        MissingTensorBoardError: If TensorBoard is not installed.
    """

    def __init__(
        self, tables: Mapping[type, str], folder: Path | None, tensorboard: Path | None = None, done: int = 0
    ) -> None:
        self._board = None if tensorboard is None else _open_summary_writer(tensorboard, done)
        self._files: dict[type, CurveFile] = {}
        if folder is not None:
            self._files = {kind: CurveFile(folder / name, field_names(kind), done) for kind, name in tables.items()}
        self.last_evaluation = self._files[Evaluation].last if Evaluation in self._files else 0

    def write(self, line: Any) -> None:
        """Write one line of results to its CSV file and to TensorBoard.

        Raises:
            CheckpointError: If that cannot be done.
        """
        values = vars(line)
        if type(line) in self._files:
            self._files[type(line)].append(*values.values())
        if self._board is None:
            return
        group, step = "training", next(iter(values.values()))
        if isinstance(line, Evaluation):
            group = f"evaluation/{line.opponent}"
            values = {name: values[name] for name in ("update", "wins", "landlord", "peasants")}
        for name in list(values)[1:]:
            self._board.add_scalar(f"{group}/{name}", values[name], step)
        self._board.flush()

    def close(self) -> None:
        """Close the TensorBoard file."""
        if self._board is not None:
            self._board.close()


def _open_summary_writer(folder: Path, done: int) -> SummaryWriter:
    """Open a TensorBoard writer that hides what a killed run wrote after a given update."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingTensorBoardError(
            f"--tensorboard needs TensorBoard ({error}): {install_hint('tensorboard')}"
        ) from error
    try:
        return SummaryWriter(str(folder), purge_step=done + 1 if done else None)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder}: {error}") from error


class CurveFile:
    """A CSV file of curves to which lines are appended, with the update number as its first column.

    Args:
        path: The file.
        columns: The columns, ``update`` first.
        done: The last update whose lines are kept, under the columns of today; later lines are from a run that was
            killed after its last checkpoint, and will be written again.  0 for a new run, which must not find any
            lines.

    Attributes:
        last: The update of the last line, 0 without one.

    Raises:
        CheckpointError: If the file has other columns or is another run's, or cannot be read or written.
    """

    def __init__(self, path: Path, columns: Sequence[str], done: int = 0) -> None:
        self._path = path
        with _curve_file_errors(path):
            text = read_text(path).splitlines() if path.exists() else [",".join(columns)]
            head, *lines = csv.reader(text or [""])
            if lines and not done:
                ended = "of another run, or of one that ended before its first checkpoint"
                raise CheckpointError(f"{path} holds lines {ended}: name another folder, or remove {path.parent}")
            if done and [RENAMED_COLUMNS.get(name, name) for name in head] != list(columns):
                raise CheckpointError(f"{path} is not a curve of this version: its first line is {head}")
            whole = [line for line in lines if len(line) == len(columns) and line[0].isdigit()]
            kept = [line for line in whole if int(line[0]) <= done]
            self.last = int(kept[-1][0]) if kept else 0
            replace_file(path, _format_csv(columns, *kept))

    def append(self, *cells: Any) -> None:
        """Append a line with one cell per column, and flush it to the operating system.

        Raises:
            CheckpointError: If that cannot be done.
        """
        with _curve_file_errors(self._path):
            append_bytes(
                self._path, _format_csv([f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells])
            )


def _has_lines(path: Path) -> bool:
    """Return whether a curve file has any lines besides its header."""
    return path.is_file() and len(path.read_bytes().splitlines()) > 1


@contextlib.contextmanager
def _curve_file_errors(path: Path) -> Iterator[None]:
    """Convert errors of reading or writing a curve file to :class:`CheckpointError` in a ``with`` block."""
    try:
        yield
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CheckpointError(f"cannot continue {path}: {error}") from error


def _format_csv(*lines: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def field_names(kind: type) -> list[str]:
    """List the field names of a dataclass, which are the columns of its CSV file."""
    return [field.name for field in dataclasses.fields(kind)]
