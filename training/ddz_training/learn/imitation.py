"""Warm starts by imitation of the rule agent or of recorded games.

The rule agent labels positions as they arise (:class:`RuleImitation`).  In some games it also plays; in the others the
learner plays, so that it is corrected where its own mistakes lead (S. Ross, G. Gordon, D. Bagnell, "A reduction of
imitation learning and structured prediction to no-regret online learning", AISTATS 2011).  No position is seen twice,
so there is nothing to overfit.  A search is too slow for that; its decisions are recorded once
(:mod:`ddz_training.data`) and gone through several times (:class:`DatasetImitation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import PolicyNetwork
from ddz_agents.neural.weights import Weights, save_weights
from ddz_agents.rules.agent import NO_LABEL, RulesTeacher
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION, OBSERVATION_SIZE
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.data.games import DataSetError
from ddz_training.data.table import read_batches
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.loop import POLICY, Training
from ddz_training.learn.settings import Count, Positive, Share, TrainingSettings
from ddz_training.learn.threads import Threads, accumulate_gradients, split_rows, take_gradient_step

MAX_PASSES = 10
"""Passes over a data set by default; many more may learn it by heart."""

_MICROBATCH = 256


@dataclass(frozen=True)
class ImitationConfig(TrainingSettings):
    """The settings of a warm start by imitation.

    Attributes:
        decisions: Decisions to learn from; the step size goes down in a straight line over them.
        architecture: The sizes of the networks.
        num_envs: Games that are played side by side; a gradient step takes one decision of each that has a choice.
        learner_share: Share of the games that the learner plays; the rule agent plays the others.
        learning_rate: Adam's step size at first.
        max_grad_norm: Norm at which the gradient is clipped.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    decisions: Count = 2_000_000
    architecture: Architecture = field(default_factory=Architecture)
    num_envs: Count = 1024
    learner_share: Share = 0.5
    learning_rate: Positive = 4e-3
    max_grad_norm: Positive = 1.0


def soft_cross_entropy(log_probabilities: Tensor, shares: Tensor) -> Tensor:
    """Return the cross-entropy between a policy and a target distribution for each row, shape ``[n]``.

    Args:
        log_probabilities: Shape ``[n, actions]``, minus infinity where illegal.
        shares: Shape ``[n, actions]``; zero where illegal, rows sum to 1.

    Returns:
        Shape ``[n]``.
    """
    return -(shares * log_probabilities.masked_fill(shares == 0, 0.0)).sum(1)


@dataclass
class ImitationLine:
    """The result of one gradient step of imitation.

    Attributes:
        decisions: Decisions learned from so far.
        loss: Cross-entropy of the last step, in nats.
        agreement: Share of its decisions in which the learner's first choice was the one to imitate.
    """

    decisions: int
    loss: float
    agreement: float

    def __str__(self) -> str:
        return f"agrees in {100 * self.agreement:.0f} %, loss {self.loss:.3f}"


def new_policy(config: ImitationConfig) -> PolicyNetwork:
    """Make a policy with random weights, drawn from the seed in the settings."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return PolicyNetwork(config.architecture)


class ImitationTraining(Training):
    """The training of a policy on target distributions over actions.

    Args:
        config: The settings.
        policy: The policy; a random one by the seed if None.
        threads: Threads; None for one per core.  Results do not depend on it.

    Attributes:
        policy: The policy.
        optimizer: Adam.
    """

    line_type = ImitationLine
    config: ImitationConfig

    def __init__(self, config: ImitationConfig, policy: PolicyNetwork | None, threads: int | None = None) -> None:
        super().__init__(config)
        self._threads = Threads(threads)  # first: random weights are computed, too
        self.policy = policy or new_policy(config)
        self._weights: list[torch.nn.Parameter] = list(self.policy.train().parameters())
        self.optimizer: torch.optim.Optimizer = torch.optim.Adam(self._weights, lr=config.learning_rate, fused=True)

    def imitate(self, observations: Bytes, masks: Bytes, shares: Floats) -> tuple[Floats, dict[str, float]]:
        """Take one gradient step towards the given distributions over actions.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.
            shares: What to imitate, shape ``[n, 400]``, float32; a row of zeros is not learned from.

        Returns:
            Logarithms of the probabilities before the step, shape ``[n, 400]``; loss and agreement, by name.
        """
        taught = shares.any(axis=1)
        count = max(int(taught.sum()), 1)

        def loss(rows: slice) -> tuple[Tensor, tuple[Floats, float]]:
            log_probabilities, _ = self.policy.evaluate(observations[rows], masks[rows])
            loss = soft_cross_entropy(log_probabilities, torch.from_numpy(shares[rows])).sum()
            return loss / count, (log_probabilities.detach().numpy(), loss.item())

        parts, losses = zip(
            *accumulate_gradients(self._threads, self._weights, loss, split_rows(len(masks), _MICROBATCH)), strict=True
        )
        config, spent = self.config, self.counters.decisions / self.config.decisions
        take_gradient_step(self.optimizer, config.learning_rate, spent, config.max_grad_norm)
        self.counters.decisions += int(taught.sum())
        log_probabilities = np.concatenate(parts)
        agrees = (log_probabilities.argmax(axis=1) == shares.argmax(axis=1)) & taught
        return log_probabilities, {"loss": sum(losses) / count, "agreement": float(agrees.sum()) / count}

    def make_evaluation_policy(self) -> CompiledPolicy:
        """Return the policy with its current weights, compiled for evaluation games."""
        return CompiledPolicy(self.to_weights({}))

    def to_weights(self, notes: Mapping[str, Any]) -> Weights:
        """Return the policy's weights for saving, with notes and a mark that the value head is untrained.

        (If it began with trained weights, their value fitted the layers below as they were then.)
        """
        return Weights.of(self.policy, rules=self.config.rules, notes=notes, values_trained=False)

    def save(self, folder: Path) -> None:
        """Write the policy's weights into the folder; imitation cannot be resumed."""
        save_weights(folder / POLICY, self.to_weights({"decisions": self.counters.decisions}))

    def close(self) -> None:
        """Stop the worker threads that compute the gradients."""
        self._threads.close()


class RuleImitation(ImitationTraining):
    """A learner that imitates the rule agent's moves in games as they are played, starting from random weights.

    Args:
        config: The settings.
        threads: Threads; None for one per core.  Results do not depend on it.

    Attributes:
        batch: The games.
        rng: Draws the learner's actions.
    """

    def __init__(self, config: ImitationConfig, threads: int | None = None) -> None:
        super().__init__(config, None, threads)
        self._teacher = RulesTeacher(config.num_envs, config.rules)
        self.batch = SelfPlayBatch(config.num_envs, config.rules, config.seed, threads)
        self.rng = np.random.default_rng([config.seed, 2])
        self._learner_plays = np.arange(config.num_envs) < round(config.learner_share * config.num_envs)

    def learn(self) -> dict[str, float]:
        """Label the current decision of every game by the rule agent, learn from the labels, and play on."""
        batch = self.batch
        actions = batch.mask.argmax(axis=1)
        rows = np.flatnonzero(np.count_nonzero(batch.mask, axis=1) > 1)
        statistics = {"loss": 0.0, "agreement": 0.0}
        if len(rows):
            labels = self._teacher.labels(batch.state_dict()["rows"])[rows]
            taught = np.where(labels == NO_LABEL, actions[rows], labels)
            log_probabilities, statistics = self.imitate(batch.observation[rows], batch.mask[rows], one_hot(labels))
            learner_actions = sample_masked_actions(log_probabilities, self.rng.random(len(rows)))
            actions[rows] = np.where(self._learner_plays[rows], learner_actions, taught)
        batch.step(actions)
        return statistics


def sample_masked_actions(log_probabilities: Floats, draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Draw a legal action for each row by the given log-probabilities, safe against rounding.

    Args:
        log_probabilities: Shape ``[n, actions]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, below 1, shape ``[n]``, float64.

    Returns:
        Action ids, shape ``[n]``, int64.
    """
    reached = np.exp(log_probabilities, dtype=np.float64).cumsum(axis=1)
    actions: npt.NDArray[np.int64] = (reached > draws[:, None] * reached[:, -1:]).argmax(axis=1)
    return actions


class DatasetImitation(ImitationTraining):
    """A learner that imitates recorded decisions in random order, pass after pass.

    Args:
        config: The settings; ``num_envs`` is the number of decisions per gradient step.
        recorded: The decisions.
        policy: Who learns; a random one by the seed if None.
        threads: Threads; None for one per core.  Results do not depend on it.

    Raises:
        InvalidTrainingError: If there is nothing to learn from.
    """

    def __init__(
        self,
        config: ImitationConfig,
        recorded: ImitationDataset,
        policy: PolicyNetwork | None,
        threads: int | None = None,
    ) -> None:
        if not len(recorded):
            raise InvalidTrainingError(
                "the data set holds no decision with two legal actions or more: record more games"
            )
        super().__init__(config, policy, threads)
        self.dataset = recorded
        self.rng = np.random.default_rng([config.seed, 3])
        self.batches: list[npt.NDArray[np.int64]] = []

    def learn(self) -> dict[str, float]:
        """Take one gradient step on the next decisions of a pass, each pass being shuffled anew."""
        if not self.batches:
            order = self.rng.permutation(len(self.dataset))
            self.batches = [order[piece] for piece in split_rows(len(order), self.config.num_envs)]
        rows, recorded = self.batches.pop(0), self.dataset
        _, statistics = self.imitate(
            recorded.observations[rows], recorded.unpack_masks(rows), recorded.target_shares(rows)
        )
        return statistics


def one_hot(actions: npt.NDArray[np.int64]) -> Floats:
    """Return one-hot distributions over actions, shape ``[n, 400]``, float32, with zeros for ``NO_LABEL``."""
    shares = np.zeros((len(actions), NUM_ACTIONS), np.float32)
    labelled = np.flatnonzero(actions != NO_LABEL)
    shares[labelled, actions[labelled]] = 1.0
    return shares


# --- Recorded decisions -----------------------------------------------------------------------------------------------


@dataclass
class ImitationDataset:
    """Recorded decisions for imitation, with the visits of each action, from which the targets are computed.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        legal: Masks as bits, shape ``[n, 50]``, uint8.
        firsts: Where each decision's actions begin, shape ``[n + 1]``, int64.
        actions: Their actions, shape ``[visited]``, int16.
        counts: Their visits, shape ``[visited]``, int32; 1 for the action of a decision without visits.
    """

    observations: Bytes
    legal: npt.NDArray[np.uint8]
    firsts: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int16]
    counts: npt.NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.observations)

    def unpack_masks(self, rows: npt.NDArray[np.int64]) -> Bytes:
        """Unpack the masks of the given decisions into bytes, shape ``[rows, 400]``, int8."""
        return np.unpackbits(self.legal[rows], axis=1, count=NUM_ACTIONS).view(np.int8)

    def target_shares(self, rows: npt.NDArray[np.int64]) -> Floats:
        """Compute the target distributions, each action's share of the visits, shape ``[rows, 400]``, float32."""
        shares = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        for index, (first, last) in enumerate(zip(self.firsts[rows], self.firsts[rows + 1], strict=True)):
            shares[index, self.actions[first:last]] = self.counts[first:last] / self.counts[first:last].sum()
        return shares


_COLUMNS = ("observation", "legal", "action", "visits")


def load_imitation_dataset(path: str | Path) -> ImitationDataset:
    """Read from a data set the decisions with more than one legal action.

    The target of a stage is the distribution of its search's visits or, without visits, the action that was chosen.
    Everything is in memory at once, about 600 bytes per decision.

    Args:
        path: A table, a folder with tables, or the folder of a data set.

    Raises:
        DataSetError: If there is no table or no row, a table cannot be read, it is for other observations or actions,
            or its rows are no decisions.
    """
    try:
        pieces, num_rows = [], 0
        for batch in read_batches(path, _COLUMNS):
            pieces.append(_read_choices(batch, num_rows))
            num_rows += batch.num_rows
    except (IndexError, TypeError, ValueError) as error:
        if isinstance(error, DataSetError):
            raise
        raise DataSetError(f"{path} has a row that is not a decision: {error}") from error
    if not pieces:
        raise DataSetError(f"{path} holds no decisions")
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return ImitationDataset(firsts=np.concatenate([[0], np.cumsum(columns.pop("sizes"))]), **columns)


def _read_choices(batch: Any, first_row: int) -> dict[str, npt.NDArray[Any]]:
    """Convert a record batch's decisions with a choice to arrays for an :class:`ImitationDataset`.

    Args:
        batch: The batch.
        first_row: The number of its first row, for errors.
    """
    legal, visits = batch.column("legal"), batch.column("visits")
    options = legal.value_lengths().to_numpy()
    row = np.repeat(np.arange(len(options)), options)
    action = legal.flatten().to_numpy()
    if action.min(initial=0) < 0:
        raise ValueError(f"row {first_row + row[action.argmin()]}: action {action.min()} is negative")
    mask = np.zeros((len(options), NUM_ACTIONS), np.uint8)
    mask[row, action] = 1
    count = (action == batch.column("action").to_numpy()[row]).astype(np.int32)
    if (np.bincount(row[count > 0], minlength=len(options)) != 1).any():
        wrong = int((np.bincount(row[count > 0], minlength=len(options)) != 1).argmax())
        chosen_action = batch.column("action")[wrong].as_py()
        raise ValueError(f"row {first_row + wrong}: action {chosen_action} is not among its legal actions")
    searched = visits.is_valid().to_numpy(zero_copy_only=False)
    numbers = visits.value_lengths().to_numpy(zero_copy_only=False)
    if len(different := np.flatnonzero(searched & (numbers != options))):
        wrong = different[0]
        raise ValueError(
            f"row {first_row + wrong}: {options[wrong]} legal actions need as many visits, not {numbers[wrong]:.0f}"
        )
    count[searched[row]] = visits.flatten().to_numpy()
    if count.min(initial=0) < 0:
        raise ValueError(f"row {first_row + row[count.argmin()]}: visits must be 0 or more, not {count.min()}")
    totals = np.bincount(row, count, len(options))
    if not totals.all():
        raise ValueError(
            f"row {first_row + totals.argmin()}: its visits are all 0: at least one legal action must have some"
        )
    taught = (options > 1)[row] & (count > 0)
    chosen = np.flatnonzero(options > 1)
    observations = batch.column("observation").flatten().to_numpy().reshape(-1, OBSERVATION_SIZE)
    if (observations < OBSERVATION.low).any() or (observations > OBSERVATION.high).any():
        place, byte = np.argwhere((observations < OBSERVATION.low) | (observations > OBSERVATION.high))[0]
        low, high = OBSERVATION.low[byte], OBSERVATION.high[byte]
        raise ValueError(
            f"row {first_row + place}: byte {byte} of its observation is {observations[place, byte]}, outside "
            f"{low}..{high}"
        )
    return {
        "observations": observations[chosen],
        "legal": np.packbits(mask[chosen], axis=1),
        "sizes": np.bincount(row[taught], minlength=len(options))[chosen],
        "actions": action[taught],
        "counts": count[taught],
    }
