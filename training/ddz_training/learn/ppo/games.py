"""The games of a rollout: what is noted of them, and who plays the sides that the learner does not."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from array_api_compat import array_namespace, device

from ddz_agents.neural.afterstates import HandValues
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import Critic, PolicyNetwork, alike, as_tensor, masked_log_probabilities, policy_input
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.errors import InvalidOptionError
from ddz_env.core.observation import CONCEALED, OBSERVATION, OBSERVATION_SIZE
from ddz_env.core.view import NO_ROLE
from ddz_env.playing.generators import agent_generator
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.device import HOST, Device, Draws, to_host
from ddz_training.learn.ppo.graphs import Forward
from ddz_training.learn.ppo.kernels import NONE, Candidates
from ddz_training.learn.ppo.opponents import FrozenAgent, agents_state, restore_agents

Evaluate = Callable[[Bytes, Bytes], tuple[Floats, HandValues]]
"""Logarithms of the probabilities, shape ``[n, 400]``, and the appraisals of what the actions leave, from observations
and masks."""


def evaluate(network: PolicyNetwork, observations: Any, masks: Any, forward: Forward | None = None) -> tuple[Any, Any]:
    """Logarithms of a policy's probabilities, ``[n, 400]`` float32, and the appraisals of what the actions leave.

    Args:
        network: The policy.
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8: an array, or a tensor on the network's device.
        masks: Shape ``[n, 400]``, int8, likewise.
        forward: Evaluates the network in another way.
    """
    with torch.inference_mode():
        seen, appraisals = policy_input(observations, masks, network.architecture.history)
        logits = forward(seen) if forward is not None else network(*seen)[0]
        return alike(masked_log_probabilities(logits, as_tensor(masks)), observations), appraisals


def value_games(critic: Critic, games: Any) -> Any:
    """A critic's values of games (``[n, GAME_COLUMNS]``, float32) for the seats to act, shape ``[n]``, float32."""
    with torch.inference_mode():
        return alike(critic(as_tensor(games)), games)


Flags = npt.NDArray[np.bool_]

NOBODY, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

_LEARNER_SIDES = {"landlord": PEASANT_SIDE, "peasants": LANDLORD_SIDE}
"""The side that is left to an opponent."""

_KICKER_STAGE = OBSERVATION.offsets["stage"] + 2


PolicyLesson = namedtuple(
    "PolicyLesson", "masks counts actions log_probabilities advantages candidates chances foreseen targets games"
)
"""Tensors of what the policy's loss reads of decisions, beside what the policy sees; as in :class:`Rollout`.

The first are those of :class:`~ddz_training.learn.ppo.kernels.SurrogateInputs`, in its order."""

CriticLesson = namedtuple("CriticLesson", "games targets counts")
"""Tensors of what the critic learns from: games, what it should say of them, and how much each counts."""


def _each(kind: Any, *shape: int) -> dict[str, Any]:
    """What an array of a rollout holds for each step of each game."""
    return {"kind": kind, "shape": shape}


@dataclass
class Rollout:
    """Some steps of some games, or decisions out of them: every array begins with ``[steps, games]``, or with ``[n]``.

    Attributes:
        candidates: The actions that the learner considered at its decisions, and a place for a probe.
        observations: What the acting seats saw, int8.
        masks: As bits, uint64 (:func:`unpack_masks`).
        concealed: What they did not see, int8.
        actions: What they did.
        log_probabilities: Of the learner's decisions.
        seats: Who acted.
        roles: In which role.
        rewards: What each seat got, both peasants alike.
        done: Whether the game ended.
        decides: Whether the learner had a choice.
        begins: Whether a move began.
        by_rules: Whether the rule agent plays one side of the game.
        frozen: Whether another agent by name plays one side of the game.
        watched: Whether such an agent had a choice: the critic learns what its decisions are worth, too, because it is
            asked about them (:mod:`ddz_training.learn.ppo.lookahead`).  The rule agent's replies are played instead.
        rows: The games at the learner's decisions.
        counts: How much its decisions count for the policy.
        appraisals: What each decision's legal actions leave (``Afterstates``), an array a
            decision: found when it is made, and needed again when it is learned from.  On a device they are found
            again instead, and this is empty.
        games: Descriptions of the games for the critic (:func:`ddz_agents.neural.columns.describe_games`), shape
            ``[n, GAME_COLUMNS]``, float32; of decisions to learn from only, as the next two.
        advantages: Normalized.
        targets: What the critic should say.
    """

    candidates: Candidates
    observations: npt.NDArray[np.int8] = field(metadata=_each(np.int8, OBSERVATION_SIZE))
    masks: npt.NDArray[np.uint64] = field(metadata=_each(np.uint64, -(-NUM_ACTIONS // 64)))
    concealed: npt.NDArray[np.int8] = field(metadata=_each(np.int8, CONCEALED.size))
    actions: npt.NDArray[np.int64] = field(metadata=_each(np.int64))
    log_probabilities: npt.NDArray[np.float32] = field(metadata=_each(np.float32))
    seats: npt.NDArray[np.int8] = field(metadata=_each(np.int8))
    roles: npt.NDArray[np.int8] = field(metadata=_each(np.int8))
    rewards: npt.NDArray[np.float32] = field(metadata=_each(np.float32, 3))
    done: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    decides: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    begins: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    by_rules: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    frozen: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    watched: npt.NDArray[np.bool_] = field(metadata=_each(np.bool_))
    rows: npt.NDArray[np.uint64] = field(metadata=_each(np.uint64, ROW_WORDS))
    counts: npt.NDArray[np.float32] = field(metadata=_each(np.float32))
    appraisals: npt.NDArray[np.object_] = field(metadata=_each(np.object_))
    games: Floats = field(metadata=_each(np.float32, 0))
    advantages: Floats = field(metadata=_each(np.float32))
    targets: Floats = field(metadata=_each(np.float32))

    @property
    def valued(self) -> Flags:
        """The decisions that the critic values and learns from."""
        return self.decides | self.watched

    @classmethod
    def allocate(cls, steps: int, games: int, candidates: int = 1, device: Device = HOST) -> Rollout:
        """Zeroed arrays.

        Args:
            steps: How many steps.
            games: How many games.
            candidates: Room for the actions that the learner considers, besides a probe.
            device: Where they lie.
        """
        arrays = {
            each.name: device.zeros((steps, games, *each.metadata["shape"]), each.metadata["kind"])
            for each in fields(cls)
            if each.metadata
        }
        return cls(Candidates.allocate(steps, games, candidates + 1, zeros=device.zeros), **arrays)

    def __getitem__(self, rows: Any) -> Rollout:
        """Some of the steps, by any index that arrays take."""
        return Rollout(**{name: part[rows] for name, part in vars(self).items()})

    def __len__(self) -> int:
        return len(self.actions)

    def critic_lesson(self) -> CriticLesson:
        """What the critic learns from decisions, which all count alike."""
        games, targets = as_tensor(self.games), as_tensor(self.targets)
        return CriticLesson(games, targets, torch.ones_like(targets))

    def policy_lesson(self, masks: Any) -> PolicyLesson:
        """What the policy's loss reads of decisions, their masks as bytes."""
        chosen = self.counts, self.actions, self.log_probabilities, self.advantages
        considered = self.candidates.actions, self.candidates.probabilities, self.candidates.advantages
        return PolicyLesson(*map(as_tensor, (masks, *chosen, *considered, self.targets, self.games)))


def unpack_masks(words: Any) -> Any:
    """Masks as bytes.

    Args:
        words: Shape ``[n, 7]``, uint64; on a device int64.

    Returns:
        Shape ``[n, 400]``, int8.
    """
    if not isinstance(words, np.ndarray):
        octets = words.contiguous().view(torch.uint8).unsqueeze(2)
        found = octets.bitwise_right_shift(torch.arange(8, dtype=torch.uint8, device=words.device)).bitwise_and(1)
        return found.flatten(1)[:, :NUM_ACTIONS].view(torch.int8)
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=NUM_ACTIONS, bitorder="little")
    return bits.view(np.int8)


class Collector:
    """The games of a batch, and who plays them.

    Args:
        batch: The games: a :class:`~ddz_env.batch.SelfPlayBatch` or a
            :class:`~ddz_training.learn.ppo.device.DeviceBatch` that writes observations, masks and concealed cards.
        config: The settings: the objective, the shares of the opponents, and what of a decision is noted.
        rng: The generator of every choice made here.
        key: Names the generator that the agents by name draw from.
        device: Where the games are; agents by name play on the host only.

    Attributes:
        sides: Which side an opponent plays, shape ``[games]``, int8.
        named: Who that is: 0 a past self, 1 the first of the agents by name, 2 the second, shape ``[games]``, int8.
        agents: The agents by name.

    Raises:
        UnknownAgentError: If an agent does not exist.
        InvalidAgentOptionError: If its options are wrong.
    """

    def __init__(
        self, batch: Any, config: SelfPlayConfig, rng: Draws, key: tuple[int, ...] = (0,), device: Device = HOST
    ) -> None:
        self.batch, self.config, self.rng, self.device = batch, config, rng, device
        self._agents_rng = agent_generator(key)
        names, shares = zip(*config.agents, strict=True) if config.agents else ((), ())
        self.agents = [FrozenAgent(name, batch, self._agents_rng) for name in names]
        self._edges = np.cumsum(shares) if shares else np.zeros(1)
        self._places = device.array(self._edges)
        self._rules = device.array(np.array([False, *(name.strip() == "rules" for name in names)]))
        self.sides = device.zeros((batch.num_games,), np.int8)
        self.named = device.zeros((batch.num_games,), np.int8)
        self._draw_sides(self.sides == NOBODY)

    @property
    def by_rules(self) -> Any:
        """Whether the opponent is the rule agent, shape ``[games]``, bool."""
        return self._rules[self.device.xp.astype(self.named, self.device.xp.int64)]

    @property
    def _choice(self) -> Any:
        """Where more than one action is legal, shape ``[games]``, bool."""
        return self.device.xp.count_nonzero(self.batch.mask, axis=1) > 1

    def close(self) -> None:
        """Release what the agents hold."""
        for agent in self.agents:
            agent.close()

    def opponent_acts(self, *, has_past: bool) -> Any:
        """Where an opponent is to act, shape ``[games]``, bool."""
        role, side = self.batch.role, self.sides
        landlord = (role == 0) & (side == LANDLORD_SIDE)
        peasant = (role != 0) & (role != NO_ROLE) & (side == PEASANT_SIDE)
        return (landlord | peasant) & ((self.named > 0) | has_past)

    def note(self, rollout: Rollout, step: int, *, has_past: bool) -> Any:
        """Write down what is seen before a step.

        Args:
            rollout: The arrays to fill.
            step: The step.
            has_past: Whether there is a past self; where there is none the learner plays its side, too.

        Returns:
            Where an opponent is to act, shape ``[games]``, bool.
        """
        batch, by_rules, theirs = self.batch, self.by_rules, self.opponent_acts(has_past=has_past)
        rollout.observations[step], rollout.masks[step] = batch.observation, batch.mask_words
        rollout.concealed[step], rollout.seats[step], rollout.roles[step] = batch.concealed, batch.seat, batch.role
        rollout.begins[step] = batch.observation[:, _KICKER_STAGE] == 0
        rollout.by_rules[step] = by_rules
        rollout.frozen[step] = (self.named > 0) & ~by_rules
        rollout.watched[step] = theirs & self._choice & rollout.frozen[step]
        rollout.decides[step] = self._choice & ~theirs
        # Nothing of the update before: the policy learns nothing from a decision that counts 0 without candidates.
        rollout.counts[step, rollout.watched[step]] = 0.0
        rollout.candidates.actions[step, rollout.watched[step]] = NONE
        return theirs

    def play_others(self, actions: Any, theirs: Flags, draws: Any, past: Evaluate | None) -> None:
        """Write the opponents' actions over those of the games in which they are to act."""
        if past is not None:
            games = self.device.xp.nonzero(theirs & (self.named == 0) & self._choice)[0]
            if len(games):
                logs, _ = past(self.batch.observation[games], self.batch.mask[games])
                actions[games], _ = self.device.kernels.drawn(logs, draws[games])
        for number, agent in enumerate(self.agents, 1):
            games = np.flatnonzero(theirs & (self.named == number))
            if len(games):  # forced stages too: the first says which kickers follow
                actions[games] = agent.actions(games)

    def settle(self, rollout: Rollout, step: int, actions: Any) -> None:
        """Play the actions, write down what they brought, and decide who plays the games that begin."""
        batch, xp = self.batch, self.device.xp
        rollout.actions[step] = actions
        batch.step(actions)
        seats, roles = (xp.astype(each[step], xp.int64) for each in (rollout.seats, rollout.roles))
        landlords = xp.where(roles == NO_ROLE, -1, (seats - roles) % batch.rules.players)
        rollout.rewards[step] = shared_rewards(batch.reward, landlords, batch.rules.players, self.config.objective)
        rollout.done[step] = batch.done
        self._draw_sides(batch.done)

    def _draw_sides(self, begun: Flags) -> None:
        xp, count = self.device.xp, int(begun.sum())
        draws = self.rng.random(count)
        sides = self.rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        if self.config.learner_side in _LEARNER_SIDES:
            sides[:] = _LEARNER_SIDES[self.config.learner_side]
        sided = draws < self._edges[-1] + self.config.opponent_share
        self.sides[begun] = xp.astype(xp.where(sided, sides, NOBODY), xp.int8)
        places = xp.searchsorted(self._places, draws, side="right")
        self.named[begun] = xp.astype(xp.where(draws < self._edges[-1], places + 1, 0), xp.int8)

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs: the batch, who plays which side, and the generators."""
        own: dict[str, Any] = {"sides": to_host(self.sides), "named": to_host(self.named)}
        generators = {"generator": self.rng, "agents_generator": self._agents_rng}
        own |= {name: generator.bit_generator.state for name, generator in generators.items()}
        return {**self.batch.state_dict(), **agents_state(self.agents), **own}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        """
        missing = [name for name in ("generator", "agents_generator", "sides", "named") if name not in saved]
        if missing:
            raise InvalidOptionError(f"the saved games lack {', '.join(missing)}")
        self.batch.load_state_dict(saved)
        restore_agents(self.agents, saved)
        self.rng.bit_generator.state = saved["generator"]
        self._agents_rng.bit_generator.state = saved["agents_generator"]
        self.sides[:], self.named[:] = (self.device.array(saved[name]) for name in ("sides", "named"))


def shared_rewards(rewards: Any, landlords: Any, players: int, objective: str) -> Any:
    """One reward for each side: the landlord's, and its opposite for every peasant.

    Args:
        rewards: Returns by seat, shape ``[envs, 3]``.
        landlords: The landlord's seat, shape ``[envs]``, integers; negative where there is none.
        players: How many seats.
        objective: ``win``, or ``stake``: the landlord's return is then the sum over its opponents, of which one
            opponent's share is taken.

    Returns:
        Shape ``[envs, 3]``, float32.

    Example:
        >>> import numpy as np
        >>> shared_rewards(np.array([[1.0, -0.5, -0.5]]), np.array([0]), 3, "win").tolist()
        [[1.0, -1.0, -1.0]]
        >>> shared_rewards(np.array([[-4.0, 8.0, -4.0]]), np.array([1]), 3, "stake").tolist()
        [[-4.0, 4.0, -4.0]]
    """
    xp = array_namespace(rewards)
    every = xp.arange(len(rewards), device=device(rewards))
    there = landlords >= 0
    own = xp.where(there, rewards[every, xp.where(there, landlords, 0)], 0.0)
    if objective == "stake":
        own = own / (players - 1)
    shared = xp.stack([-own] * 3, axis=1)
    shared[every[there], landlords[there]] = own[there]
    shared[:, players:] = 0.0
    return xp.astype(shared, xp.float32)
