"""A policy of bytes alone, taught by the shipped one: ``python tools/distill.py policy.onnx``.

What the shipped policy reads, only this package computes: how many moves a hand needs, what each costs.  The student's
graph takes the bytes of the observation and the mask themselves, so that ONNX Runtime plays it in any language.  It
learns the teacher's probabilities in games of self-play; in half of them the student moves, so that it is taught in
the positions that its own moves lead to (DAgger; Ross, Gordon and Bagnell 2011, algorithm 3.1 with β = 1/2).

What has been learned is kept beside the file every half minute; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from ddz_agents.neural.feature_table import HAND, KICKER_SIZE, KICKERS, PENDING, SPENT
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural.network import Block, masked_log_probabilities
from ddz_agents.neural.onnx_files import stamp_onnx, to_graph
from ddz_env.batch import SelfPlayBatch
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.observation import HISTORY, OBSERVATION
from ddz_env.support.atomic_files import replace_file
from ddz_training.measure.provenance import digest_file

MOVES = 10
"""Completed moves that the student reads, of the fifteen of an observation."""

WIDTH, BLOCKS = 256, 2
REST_WIDTH, REST_FEATURES = 128, 48
KEPT_EVERY = 30.0
"""Seconds."""

LEFT_OUT = {"hand_next", "hand_previous", "bid_self", "bid_next", "bid_previous", "highest_bid", "doubles", "over"} | {
    f"{part}_{number}" for part in ("move", "actor") for number in range(MOVES + 1, HISTORY + 1)
}
"""Parts of the observation that are constant under the standard rules, and long ago."""


class ByteNetwork(nn.Module):
    """Logits of the actions from the bytes of observations and masks.

    A byte becomes one column for each value that it may reach, and the mask's bytes are columns, too.  As in
    :class:`~ddz_agents.neural.network.PolicyNetwork`, an action's logit is a row of weights plus what the state makes
    of the hand that the action leaves.
    """

    sources: Tensor
    thresholds: Tensor
    copies: Tensor
    spent: Tensor

    def __init__(self) -> None:
        super().__init__()
        sources, thresholds = np.array(_thresholds()).T
        self.register_buffer("sources", torch.from_numpy(sources), persistent=False)
        self.register_buffer("thresholds", torch.from_numpy(thresholds.astype(np.int8)), persistent=False)
        self.register_buffer("copies", torch.arange(1, 5, dtype=torch.int8), persistent=False)
        self.register_buffer("spent", torch.from_numpy(SPENT), persistent=False)
        blocks = (Block(WIDTH) for _ in range(BLOCKS))
        first = nn.Linear(len(sources) + NUM_ACTIONS, WIDTH)
        self.trunk = nn.Sequential(first, nn.ReLU(), *blocks, nn.LayerNorm(WIDTH), nn.ReLU())
        self.logits, self.weigh = nn.Linear(WIDTH, NUM_ACTIONS), nn.Linear(WIDTH, REST_FEATURES)
        self.rest = nn.Sequential(nn.Linear(4 * NUM_RANKS, REST_WIDTH), nn.ReLU(), nn.Linear(REST_WIDTH, REST_FEATURES))

    def forward(self, observation: Tensor, action_mask: Tensor) -> Tensor:
        """Evaluate observations.

        Args:
            observation: Shape ``[n, OBSERVATION_SIZE]``, int8.
            action_mask: Shape ``[n, 400]``, int8.

        Returns:
            Logits, shape ``[n, 400]``, float32, to be masked.
        """
        legal = action_mask != 0
        reached = observation.index_select(1, self.sources) >= self.thresholds
        state = self.trunk(torch.cat((reached, legal), 1).float())
        rows, actions = legal.nonzero(as_tuple=True)
        planes = (self._rest_counts(observation, rows, actions).unsqueeze(2) >= self.copies).flatten(1).float()
        scores = (self.rest(planes) * self.weigh(state).index_select(0, rows)).sum(1) * REST_FEATURES**-0.5
        logits: Tensor = self.logits(state)
        return logits.index_put((rows, actions), scores, accumulate=True)

    def _rest_counts(self, observation: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        """The hand that each legal action leaves, shape ``[pairs, 15]``, int8."""
        hand, pending, kickers = (observation[:, at : at + NUM_RANKS] for at in (HAND, PENDING, KICKERS))
        pairs_as_kickers = (observation[:, KICKER_SIZE] == 2).long().index_select(0, rows)
        return (hand - pending - kickers).index_select(0, rows) - self.spent[pairs_as_kickers, actions]

    def log_probabilities(self, observations: Bytes, masks: Bytes) -> Tensor:
        """Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal."""
        legal = torch.from_numpy(masks)
        return masked_log_probabilities(self(torch.from_numpy(observations), legal), legal)


def _thresholds() -> list[tuple[int, int]]:
    """Each byte that the student reads, with each value that it may reach."""
    spans = [
        range(OBSERVATION.offsets[feature.name], OBSERVATION.offsets[feature.name] + feature.size)
        for feature in OBSERVATION.features
        if feature.name not in LEFT_OUT
    ]
    return [(byte, value) for span in spans for byte in span for value in range(1, int(OBSERVATION.high[byte]) + 1)]


class Lesson(NamedTuple):
    """Decisions, and what the teacher thinks of them.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8, each with at least two legal actions.
        targets: The logarithms of the teacher's probabilities, shape ``[n, 400]``, minus infinity where illegal.
    """

    observations: Bytes
    masks: Bytes
    targets: Floats


def lessons(teacher: PolicyModel, student: ByteNetwork, games: int, size: int, seed: int) -> Iterator[Lesson]:
    """Lessons without end, from games that either the teacher or the student plays.

    Args:
        teacher: Who is asked.
        student: Who moves in half of the games, as it is by then.
        games: Games side by side.
        size: Decisions of a lesson, at least.
        seed: Of deals and choices.
    """
    batch, rng = SelfPlayBatch(num_games=games, seed=seed), np.random.default_rng(seed)
    by_teacher, parts = rng.random(games) < 0.5, list[Lesson]()
    while True:
        observations, masks = batch.observation.copy(), batch.mask.copy()
        targets, _ = teacher.evaluate(observations, masks)
        chances = targets.copy()
        if not by_teacher.all():
            with torch.no_grad():
                chances[~by_teacher] = student.log_probabilities(observations[~by_teacher], masks[~by_teacher]).numpy()
        batch.step((chances + rng.gumbel(size=chances.shape)).argmax(1))  # a sample of the chances
        by_teacher = np.where(batch.done, rng.random(games) < 0.5, by_teacher)
        choices = masks.sum(1) > 1
        parts.append(Lesson(observations[choices], masks[choices], targets[choices]))
        if sum(len(part.masks) for part in parts) >= size:
            yield Lesson(*map(np.concatenate, zip(*parts, strict=True)))
            parts = []


@dataclass(frozen=True)
class Settings:
    """How a student learns.

    Attributes:
        decisions: Decisions to learn from, each once.
        games: Games side by side.
        lesson: Decisions between two orders of shuffling.
        minibatch: Decisions per step.
        learning_rate: Of Adam; it falls linearly to 3 % of itself.
        average: Weight of the running average of the weights, which is what is written, per step.
        seed: Of weights, deals and choices.
    """

    decisions: int = 16_000_000
    games: int = 2048
    lesson: int = 32_768
    minibatch: int = 512
    learning_rate: float = 1e-3
    average: float = 0.998
    seed: int = 0


class Distillation:
    """A student, what its steps need, and how far it is in decisions and seconds.

    Args:
        settings: The settings.
    """

    def __init__(self, settings: Settings) -> None:
        torch.manual_seed(settings.seed)
        self.settings, self.learned, self.seconds = settings, 0, 0.0
        self.student, self.average = ByteNetwork(), ByteNetwork()
        self.average.load_state_dict(self.student.state_dict())
        self.optimizer = torch.optim.Adam(self.student.parameters(), settings.learning_rate)

    def learn(self, lesson: Lesson) -> tuple[float, float]:
        """Take the steps of a lesson; the divergence from the teacher, and how often both prefer the same action."""
        count, divergence, same = len(lesson.masks), 0.0, 0
        rate = self.settings.learning_rate * (1 - 0.97 * min(1.0, self.learned / self.settings.decisions))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        order = np.random.default_rng((self.settings.seed, self.learned)).permutation(count)
        for chosen in np.array_split(order, max(1, count // self.settings.minibatch)):
            targets = torch.from_numpy(lesson.targets[chosen])
            answers = self.student.log_probabilities(lesson.observations[chosen], lesson.masks[chosen])
            # Kullback and Leibler's; the difference of two minus infinities is no number.
            loss = (targets.exp() * (targets - answers).nan_to_num(0.0)).sum(1).mean()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
            self.optimizer.step()
            self._follow()
            divergence += loss.item() * len(chosen)
            same += int((answers.argmax(1) == targets.argmax(1)).sum())
        self.learned += count
        return divergence / count, same / count

    def _follow(self) -> None:
        """Move the running average."""
        with torch.no_grad():
            for mean, weight in zip(self.average.parameters(), self.student.parameters(), strict=True):
                mean.lerp_(weight, 1 - self.settings.average)

    def save(self, path: Path) -> None:
        """Keep everything, atomically."""
        content = io.BytesIO()
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        torch.save(
            {"settings": asdict(self.settings), "learned": self.learned, "seconds": self.seconds, **parts}, content
        )
        replace_file(path, content.getvalue())

    def resume(self, path: Path) -> None:
        """Go on from what was kept.

        Raises:
            SystemExit: If it was kept under other settings.
        """
        kept = torch.load(path, weights_only=True)
        if kept["settings"] != asdict(self.settings):
            raise SystemExit(f"{path} was begun with {kept['settings']}: repeat them, or move it away")
        for name, part in self._parts().items():
            part.load_state_dict(kept[name])
        self.learned, self.seconds = kept["learned"], kept["seconds"]

    def _parts(self) -> dict[str, Any]:
        return {"student": self.student, "average": self.average, "optimizer": self.optimizer}


def distill(out: Path, settings: Settings) -> Distillation:
    """Teach a student, or go on; says how it goes.

    Args:
        out: The file to be written; what is learned is kept beside it.
        settings: How.
    """
    kept, run = out.with_suffix(".checkpoint"), Distillation(settings)
    if kept.exists():
        run.resume(kept)
    stream = lessons(load_policy(), run.student, settings.games, settings.lesson, settings.seed + run.learned)
    saved = time.monotonic()
    while run.learned < settings.decisions:
        began = time.monotonic()
        divergence, same = run.learn(next(stream))
        run.seconds += time.monotonic() - began
        minutes = run.seconds / 60 * (settings.decisions / run.learned - 1)
        print(
            f"{run.learned:,} decisions: {divergence:.3f} nats, {same:.1%} the same, about {minutes:.0f} minutes more"
        )
        if time.monotonic() - saved > KEPT_EVERY or run.learned >= settings.decisions:
            run.save(kept)
            saved = time.monotonic()
    return run


def write_onnx(network: ByteNetwork, out: Path, notes: dict[str, Any]) -> None:
    """Write a student as an ONNX file, its weights in half precision.

    Args:
        network: The student.
        out: Where to.
        notes: Plain values for people.
    """
    model = to_graph(network.eval())
    replace_file(out, _halved(model).SerializeToString())
    stamp_onnx(out, out, notes=notes)


def _halved(model: Any) -> Any:
    """A graph whose matrices are stored as float16 and computed with as float32, changed in place."""
    for weights in list(model.graph.initializer):
        values = onnx.numpy_helper.to_array(weights)
        if values.dtype == np.float32 and values.ndim == 2:
            name, stored = weights.name, f"{weights.name}.half"
            weights.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float16), stored))
            model.graph.node.insert(0, onnx.helper.make_node("Cast", [stored], [name], to=onnx.TensorProto.FLOAT))
    onnx.checker.check_model(model)
    return model


def main() -> None:
    """Teach a student and write it."""
    parser = argparse.ArgumentParser(description="A policy of bytes alone, taught by the shipped one.")
    parser.add_argument("out", type=Path, help="the ONNX file")
    parser.add_argument("--decisions", type=int, default=Settings.decisions, help="decisions to learn from")
    parser.add_argument("--games", type=int, default=Settings.games, help="games side by side")
    parser.add_argument("--lesson", type=int, default=Settings.lesson, help="decisions of a lesson")
    parser.add_argument("--seed", type=int, default=Settings.seed)
    given = vars(parser.parse_args())
    out, settings = given.pop("out"), Settings(**given)
    run = distill(out, settings)
    write_onnx(run.average, out, {"decisions": run.learned, "hours": round(run.seconds / 3600, 2)})
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, {digest_file(out)}")


if __name__ == "__main__":
    main()
