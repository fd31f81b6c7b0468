"""The one loop of all trainings: steps, curves, evaluations and checkpoints, until the budget is spent.

What is trained is a :class:`Job`.  It learns step by step, and one file, replaced atomically, holds everything that it
is, so that it continues to the bit.  :func:`train` takes the steps and writes down what they bring.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import load_module, module_arrays
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Options, Range
from ddz_training.learn.curves import CurveFile, columns_of
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError, InvalidTrainingError
from ddz_training.learn.settings import Positive, TrainingSettings
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.errors import SettingsMismatchError
from ddz_training.measure.match.one_writer import writing
from ddz_training.measure.match.provenance import Provenance

if TYPE_CHECKING:
    from typing_extensions import Self

CHECKPOINT = "checkpoint.safetensors"
POLICY = "policy.safetensors"
CURVES = "curves.csv"
EVALUATIONS = "evaluations.csv"

SOURCE = ("ddz_training.learn",)
"""Whose source decides a run, besides that of the packages below."""

SECONDS = 10.0
"""Between two saves of a job that is saved by time; a save takes a small part of one."""

OnLine = Callable[[Any], None]
OnEvaluation = Callable[[Sequence[Evaluation]], None]
Stop = Callable[[], bool]


def _never() -> bool:
    return False


class Job:
    """A training: settings, something that learns step by step, and a file from which it continues to the bit.

    Attributes:
        config: The settings.
        optimizer: Adam.
        provenance: The code of the run, and the files that it reads.
        update: Updates so far, of jobs that are evaluated.
        kind: Of the file, with its version.
        config_type: The class of the settings.
        grows: The setting that says how long the job learns: a resumed one may have another.
        line: What a step brings, a dataclass: the columns of ``curves.csv``; None for a job without curves.
        rivals: Whom its policy is measured against, of jobs that are evaluated.
    """

    kind: ClassVar[tuple[str, int]]
    config_type: ClassVar[type[Any]]
    grows: ClassVar[str] = ""
    line: ClassVar[type[Any] | None] = None
    config: Any
    optimizer: torch.optim.Optimizer
    provenance: Provenance = Provenance()
    update: int
    rivals: tuple[str, ...] = ()

    def step(self) -> Any:
        """Learn a little, and say what it brought."""
        raise NotImplementedError

    def networks(self) -> dict[str, nn.Module]:
        """The networks that a file holds, each behind a prefix."""
        raise NotImplementedError

    def others(self) -> tuple[Arrays, dict[str, Any]]:
        """What a file holds besides settings, networks, optimizer and provenance: arrays, and plain values."""
        raise NotImplementedError

    def restore_others(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`others`; otherwise as :meth:`restore`."""
        raise NotImplementedError

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that :meth:`restore` needs to continue to the bit: arrays, and plain values."""
        arrays, about = self.others()
        for prefix, network in self.networks().items():
            arrays |= module_arrays(network, prefix)
        about = {"config": self.config.as_dict(), **about, **self.provenance.settings()}
        return arrays | optimizer_arrays(self.optimizer), about

    def restore(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`state`; the job must have the settings of the saved one.

        Args:
            arrays: The arrays.
            about: The plain values.
            where: Names the file in messages.

        Raises:
            DouDizhuError: If something does not fit; KeyError, TypeError or ValueError: if something is missing.
        """
        for prefix, network in self.networks().items():
            load_module(network, arrays, prefix, where)
        restore_optimizer(self.optimizer, arrays)
        self.restore_others(arrays, about, where)

    def save(self, place: Path) -> None:
        """Write everything that is to be kept."""

    def share(self) -> float:
        """The share of what the settings ask for that is done, where they say how long to learn."""
        raise NotImplementedError

    def player(self) -> PolicyModel:
        """The policy to measure, of jobs that are evaluated."""
        raise NotImplementedError

    def is_due(self, line: Any) -> tuple[bool, bool]:
        """Whether to evaluate after a step, and whether to save; by time a job is saved anyway."""
        return False, False

    def close(self) -> None:
        """Release threads and agents."""

    def run(self, place: Path | None = None, on_step: OnLine | None = None, stop: Stop = _never) -> None:
        """Learn what the settings ask for, or until ``stop`` says so, and save as it goes; see :func:`train`."""
        train(self, place, on_update=on_step, stop=stop)
        self.close()

    @classmethod
    def check_arrays(cls, config: Any, arrays: Arrays, where: str) -> None:
        """Refuse arrays of other sizes than the settings say, before anything is made of that size."""

    @classmethod
    def resume(cls, path: str | Path, threads: int | None = None, wanted: Mapping[str, Any] | None = None) -> Self:
        """Read a job and continue it.

        Args:
            path: The file.
            threads: Threads; None for one a core.  Results do not depend on it.
            wanted: Settings that the job must have (:meth:`~ddz_training.learn.settings.TrainingSettings.read`).

        Raises:
            CheckpointError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written for other observations or actions or by another version, or if
                its settings are not those wanted.
            AgentChangedError: If a file of an agent that the job plays or is measured against has been replaced.
            OtherCodeError: If it was written by other code and that is not allowed
                (:func:`ddz_training.measure.match.provenance.other_code`).
        """
        return cls._resumed(path, wanted or {}, threads)

    @classmethod
    def _resumed(cls, path: str | Path, wanted: Mapping[str, Any], *arguments: Any) -> Self:
        try:
            arrays, about = read_tensor_file(path, *cls.kind)
        except TensorFileError as error:
            fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
            raise fault(str(error)) from error
        try:
            config = cls.config_type.from_dict(about["config"])
            same = {name: value for name, value in wanted.items() if name != cls.grows}
            check_settings(config, same, path)
            cls.check_arrays(config, arrays, str(path))
            make: Callable[..., Self] = cls
            job = make(config.changed({name: wanted[name] for name in wanted if name == cls.grows}), *arguments)
            job.provenance = job.provenance.resuming(Provenance.take(about.get("notes", about)), path)
            job.restore(arrays, about, str(path))
        except (CheckpointError, SettingsMismatchError):
            raise
        except (DouDizhuError, KeyError, TypeError, ValueError) as error:
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return job


OTHER = "{name}: the checkpoint has {saved!r}, this run {wanted!r}"


def check_settings(config: TrainingSettings, wanted: Mapping[str, Any], where: object, other: str = OTHER) -> None:
    """Refuse a file of other settings than those that are wanted.

    Args:
        config: The settings of the file.
        wanted: As from :meth:`~ddz_training.learn.settings.TrainingSettings.read`.
        where: Names the file.
        other: Says that a setting is another.

    Raises:
        CheckpointMismatchError: If one is another.
    """
    different = []
    for name, value in wanted.items():
        whole, _, part = name.partition(".")
        has = getattr(getattr(config, whole), part) if part else getattr(config, whole)
        if has != value:
            different.append(other.format(name=name, saved=has, wanted=value))
    if different:
        raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")


def save_checkpoint(path: str | Path, job: Job) -> None:
    """Write everything that a job is.

    Raises:
        CheckpointError: If the file cannot be written.
    """
    try:
        write_tensor_file(path, *job.kind, *job.state())
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error


def refuse_to_overwrite(folder: Path, name: str = CHECKPOINT) -> None:
    """A new run must not begin where another has left its file.

    Raises:
        CheckpointError: If there is one.
    """
    if (folder / name).exists():
        raise CheckpointError(f"{folder / name} exists: add --resume to continue it, or name another folder")


# --- What a file is made of -------------------------------------------------------------------------------------------


def behind(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, by what is behind it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def parted(prefix: str, values: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """The arrays among some values, by a prefix and their names, and the plain values, by their names."""
    plain = {name: part for name, part in values.items() if not isinstance(part, np.ndarray)}
    return {prefix + name: part for name, part in values.items() if name not in plain}, plain


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """Adam's moments, for :func:`restore_optimizer`."""
    moments = optimizer.state_dict()["state"]
    return {
        f"adam.{place}.{name}": value.cpu().numpy() for place, part in moments.items() for name, value in part.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Continue with the moments of :func:`optimizer_arrays`."""
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, array in behind("adam.", arrays).items():
        place, name = key.split(".")
        moments.setdefault(int(place), {})[name] = torch.from_numpy(np.array(array))
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})


def step_size(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the step size of an optimizer."""
    for group in optimizer.param_groups:
        group["lr"] = rate


# --- How long, and how it is measured ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget(Options):
    """How long a run trains, from its very beginning; a resumed run counts what it did before.

    Attributes:
        updates: Updates; None for no limit.
        minutes: Minutes of training, evaluations not counted; None for no limit.

    Raises:
        InvalidTrainingError: If there is no limit at all or one is not positive.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    updates: Annotated[int, Range(1)] | None = None
    minutes: Positive | None = None

    def check(self) -> None:
        """Refuse to train for ever."""
        if self.updates is None and self.minutes is None:
            raise InvalidTrainingError("say how long to train: a number of updates or of minutes")

    def share(self, run: Any) -> float:
        """The share of the budget that a run of self-play has spent, 0 to 1."""
        updates = 0.0 if self.updates is None else run.counters.update / self.updates
        minutes = 0.0 if self.minutes is None else run.counters.seconds / 60 / self.minutes
        return min(1.0, max(updates, minutes))


def measure(run: Any, stop: Stop = _never) -> list[Evaluation]:
    """The strength of a run's policy against the opponents of its settings.

    Args:
        run: The run, a :class:`Job` with a policy.
        stop: Asked before every deal; True ends the measurement without a result.
    """
    config = run.config
    about = {"rules": config.rules, "seed": config.seed, "stop": stop}
    results = measure_strength(run.player(), run.rivals, config.evaluate_deals, **about)
    return [Evaluation.of(run.update, result) for result in results]


class Yardstick(NamedTuple):
    """How a run is measured while it trains.

    Attributes:
        line: The dataclass of a line of ``evaluations.csv``.
        measure: Measures a run, as :func:`measure` does.
        at_start: Whether the run is measured before its first update, too.
    """

    line: type[Evaluation] = Evaluation
    measure: Callable[[Any, Stop], Sequence[Evaluation]] = measure
    at_start: bool = False


# --- The loop ---------------------------------------------------------------------------------------------------------


@dataclass
class Diary:
    """Does what is to be done between two steps of a job: curves, evaluations and checkpoints.

    Attributes:
        job: The job.
        place: Its folder or file; None writes nothing.
        on_update: Called after every step.
        on_evaluation: Called after every evaluation.
        stop: Asked after every step and every deal of an evaluation.
        yardstick: How the job is measured.
    """

    job: Job
    place: Path | None
    on_update: OnLine | None = None
    on_evaluation: OnEvaluation | None = None
    stop: Stop = _never
    yardstick: Yardstick | None = None

    def __post_init__(self) -> None:
        self._saved, self._ruler = -math.inf, self.yardstick or Yardstick()
        if self.place is not None and self.job.line is not None:
            keep = self.job.update or -1
            self._curves = CurveFile(self.place / CURVES, columns_of(self.job.line), keep)
            self._evaluations = CurveFile(self.place / EVALUATIONS, columns_of(self._ruler.line), keep)
            if self._ruler.at_start and self.job.config.evaluate_every and not self.job.update:
                self._evaluate()

    def settle(self, line: Any, *, last: bool) -> bool:
        """Write down what a step brought, and do what is due after it.

        A job without curves is saved by time, so that a kill costs seconds whatever a step takes, and after its first
        step, so that a fault shows at once.

        Args:
            line: What it brought.
            last: Whether it was the last.

        Returns:
            Whether to stop early.
        """
        job, (evaluates, saves) = self.job, self.job.is_due(line)
        if job.line is not None:
            self._curves.append(vars(line))
        elif self.place is not None and time.monotonic() - self._saved >= SECONDS:
            self._saved = time.monotonic()
            job.save(self.place)
        if self.on_update:
            self.on_update(line)
        if job.line is not None and job.config.evaluate_every and (evaluates or last):
            self._evaluate()
        stopped = self.stop()
        if self.place is not None and (stopped or last or saves):
            job.save(self.place)
        return stopped

    def _evaluate(self) -> None:
        found = self._ruler.measure(self.job, self.stop)
        for evaluation in found:
            self._evaluations.append(dataclasses.asdict(evaluation))
        if self.on_evaluation:
            self.on_evaluation(found)


def train(
    run: Job,
    place: str | Path | None,
    budget: Budget | None = None,
    *,
    on_update: OnLine | None = None,
    on_evaluation: OnEvaluation | None = None,
    stop: Stop = _never,
    yardstick: Yardstick | None = None,
) -> None:
    """Train until the budget is spent.

    A folder holds the checkpoint, the weights, and the curves.  Each file is whole whenever the run is killed; the run
    continues from the last checkpoint, and what the others have beyond it is written again.

    Args:
        run: The run, new or resumed.
        place: The folder of its files, or its file; None writes nothing.
        budget: How long to train; None for what the settings of the run say.
        on_update: Called after every step.
        on_evaluation: Called after every evaluation.
        stop: Asked after every step and every deal of an evaluation; True ends the run early, with a checkpoint and
            without the evaluation.
        yardstick: How the run is measured; by default against the opponents of its settings (:func:`measure`).

    Raises:
        CheckpointError: If checkpoint or curves cannot be written, or the curves there are of another version.
        InUseError: If another process trains there.
        TensorFileError: If the weights cannot be written.
    """
    place = None if place is None else Path(place)
    spent = run.share if budget is None else functools.partial(budget.share, run)
    with writing(place, folder=True) if place is not None and run.line is not None else nullcontext():
        diary, stopped = Diary(run, place, on_update, on_evaluation, stop, yardstick), False
        while not stopped and spent() < 1.0:
            line = run.step()
            stopped = diary.settle(line, last=spent() >= 1.0)
