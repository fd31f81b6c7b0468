"""The agent ``policy``, which plays by a learned policy without search, also in many games at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural.shipped import BY_ID, policy_path
from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE
from ddz_env.core.engine.layout import STAGE, STAGE_KICKER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS, mask_bytes, write_mask, write_observation
from ddz_env.playing.agent import check_to_act
from ddz_env.playing.many import WaitingGames, choose_stage_by_stage
from ddz_env.support.options import Options, Range, takes_options
from ddz_env.support.threads import MAX_THREADS


@dataclass(frozen=True)
class PolicyFile(Options):
    """The options that name a policy's file and say how it is read.

    Attributes:
        path: The policy: weights, an ONNX file, or a model of Stable-Baselines3 (`.zip`); none for the newest that
            ships, `policy-v1` or another id for an earlier one, `points` for the one that bids, doubles and plays for
            points.
        threads: Threads of every evaluation, of a `.zip` for the whole process; none for one per core.
        trust_file: Whether a `.zip` of Stable-Baselines3 may be read; reading it runs the code in it.
    """

    path: str | Path | None = None
    _: KW_ONLY
    threads: Annotated[int, Range(1, MAX_THREADS)] | None = 1
    trust_file: bool = False

    def files(self) -> tuple[Path, ...]:
        """Return the path of the policy's file, which may be one that ships with the package."""
        return (policy_path(self.path),)

    def load(self) -> PolicyModel:
        """Read the policy from its file (see :func:`~ddz_agents.neural.loading.load_policy`)."""
        return load_policy(self.path, threads=self.threads, trust_file=self.trust_file)


@dataclass(frozen=True)
class PolicyOptions(PolicyFile):
    """The options of ``policy``: its file, and how it chooses.

    Attributes:
        temperature: 0 takes the most probable action, 1 draws by the probabilities; values below 1 favour probable
            actions more.
    """

    temperature: Annotated[float, Range(0)] = 0.0


def choose_actions(
    log_probabilities: Floats, temperature: float, rngs: Sequence[np.random.Generator]
) -> npt.NDArray[np.int64]:
    """Choose one action per row of log-probabilities: a sample at the given temperature, or the likeliest at 0.

    Args:
        log_probabilities: Shape ``[n, 400]``, minus infinity where illegal.
        temperature: 0 takes the most probable action, the lowest id of equals; 1 draws by the probabilities; less
            than 1 favours the probable ones more.
        rngs: One generator per row; not used at temperature 0.

    Returns:
        Action ids, shape ``[n]``, int64.
    """
    actions: npt.NDArray[np.int64]
    if temperature == 0:
        actions = log_probabilities.argmax(axis=1).astype(np.int64)
        return actions
    logs = log_probabilities.astype(np.float64)
    with np.errstate(over="ignore"):  # at the lowest temperatures all but the likeliest are infinitely far behind
        weights = np.exp((logs - logs.max(axis=1, keepdims=True)) / temperature)
    totals = weights.cumsum(axis=1)
    draws = np.array([rng.random() for rng in rngs]) * totals[:, -1]
    # The first action whose running total exceeds the draw; illegal ones add nothing and are never first.
    actions = (totals > draws[:, None]).argmax(axis=1).astype(np.int64)
    return actions


class PartialMove(NamedTuple):
    """A move whose actions are being chosen one by one, and the position that they have led to.

    Attributes:
        view: What its seat knows, at the start of the move.
        row: The seat's row behind the stages so far, shape ``[32]``, uint64.
        ring: The recent moves behind them, shape ``[16, 2]``, uint64.
        actions: The stages so far.
        log_prior: The logarithm of the policy's probability of all of them, where it is wanted.
    """

    view: View
    row: npt.NDArray[np.uint64]
    ring: npt.NDArray[np.uint64]
    actions: tuple[int, ...] = ()
    log_prior: float = 0.0

    def with_action(self, action: int, log_probability: float = 0.0) -> PartialMove:
        """Return a copy of the partial move with one more action."""
        row, ring = self.row.copy(), self.ring.copy()
        apply_and_record(row, ring, np.uint64(action), self.view.rule_words)
        return PartialMove(self.view, row, ring, (*self.actions, action), self.log_prior + log_probability)

    @property
    def is_whole(self) -> bool:
        """Whether the move is complete."""
        return bool(self.actions) and int(self.row[STAGE]) != STAGE_KICKER

    @property
    def move(self) -> Move:
        """The move that consists of the actions chosen so far."""
        return Move(self.actions[0], tuple(action - KICKER_BASE for action in self.actions[1:]))


def encode_next_stages(moves: Sequence[PartialMove]) -> tuple[Bytes, Bytes]:
    """Encode the positions of partial moves as int8 observations and action masks for the next action."""
    observations = np.empty((len(moves), OBSERVATION_WORDS), np.uint64)
    masks, mask = np.empty((len(moves), MASK_BYTE_WORDS), np.uint64), np.empty(MASK_WORDS, np.uint64)
    for (view, row, ring, *_), seen, legal in zip(moves, observations, masks, strict=True):
        write_observation(row, ring, view.rule_words, np.uint64(view.seat), seen)
        write_mask(row, view.rule_words, mask, legal)
    return observations.view(np.int8), mask_bytes(masks)


class ModelAgent:
    """An agent that plays with any :class:`~ddz_agents.neural.model.PolicyModel`.

    Args:
        model: The policy.
        temperature: See :func:`choose_actions`.
        name: The agent's name.

    Raises:
        InvalidAgentOptionError: If the temperature is negative or no number.
    """

    def __init__(self, model: PolicyModel, temperature: float = 0.0, name: str = "policy") -> None:
        self.model = model
        # A row of other models may round otherwise beside others.
        self.same_in_batches = self.parallel = isinstance(model, CompiledPolicy)
        self.temperature = PolicyOptions(temperature=temperature).temperature
        self.name = name

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a complete move with the policy: its likeliest actions, or samples at the agent's temperature.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        check_to_act(view, "kicker")
        if not isinstance(self.model, CompiledPolicy):
            waiting = WaitingGames(view.row[None], view.ring[None], view.rules, lambda _: rng)
            main, kickers = self.act_many(waiting)[0].tolist()
            return Move.from_words(main, kickers)
        return self.model.build_move(view, self._action_sampler(rng) if self.temperature else None)

    def _action_sampler(self, rng: np.random.Generator) -> Callable[[Floats], int]:
        return lambda logs: int(choose_actions(logs[None], self.temperature, [rng])[0])

    def act_many(self, waiting: WaitingGames) -> npt.NDArray[np.uint64]:
        """Choose a move in each of many games, evaluating the next actions of all games in one batch."""
        return choose_stage_by_stage(waiting, self.select_actions)

    def select_actions(
        self, observations: Bytes, masks: Bytes, rngs: Callable[[int], np.random.Generator]
    ) -> npt.NDArray[np.int64]:
        """Select the next action in each of several games, running the policy only where several are legal.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, NUM_ACTIONS]``, int8.
            rngs: The generator of a row.

        Returns:
            Action ids, shape ``[n]``, int64.
        """
        legal = masks != 0
        actions: npt.NDArray[np.int64] = legal.argmax(axis=1)
        rows = np.flatnonzero(legal.sum(axis=1, dtype=np.int16) > 1)
        if len(rows):
            log_probabilities, _ = self.model.evaluate(observations[rows], masks[rows])
            drawing = [rngs(row) for row in rows.tolist()] if self.temperature else []
            actions[rows] = choose_actions(log_probabilities, self.temperature, drawing)
        return actions


class PolicyAgent(ModelAgent):
    """Plays a trained policy: the newest one shipped, or the one in ``policy:path=FILE``.

    Raises:
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        MissingOnnxError: If it is an ONNX file and ONNX Runtime is not installed.
        MissingSb3Error: If it is a ``.zip`` and sb3-contrib or PyTorch is not.
        TensorFileError: If the file cannot be read or does not fit this package.
        InvalidAgentOptionError: If an option's value is not allowed.
    """

    @takes_options(PolicyOptions)
    def __init__(self, options: PolicyOptions) -> None:
        name = str(options.path) if options.path in BY_ID else "policy"
        super().__init__(options.load(), options.temperature, name)
