"""Collecting decisions: the learner plays many games on; in some, a past self or an agent by name plays one side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ddz_agents.neural.afterstates import HandValues
from ddz_agents.neural.model import Bytes, Floats
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.errors import InvalidOptionError
from ddz_env.core.observation import CONCEALED, OBSERVATION, OBSERVATION_SIZE
from ddz_env.core.view import NO_ROLE
from ddz_env.playing.generators import agent_generator
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.device import HOST, Device, Draws, to_host
from ddz_training.learn.ppo.frozen import FrozenAgent
from ddz_training.learn.ppo.returns import shared_rewards
from ddz_training.learn.ppo.sampling import NONE, Candidates, policy_counts

Evaluate = Callable[[Bytes, Bytes], tuple[Floats, HandValues]]
"""Logarithms of the probabilities, shape ``[n, 400]``, and the appraisals of what the actions leave, from observations
and masks."""

NOBODY, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

_LEARNER_SIDES = {"landlord": PEASANT_SIDE, "peasants": LANDLORD_SIDE}
"""The side that is left to an opponent."""

_KICKER_STAGE = OBSERVATION.offsets["stage"] + 2


def _each(kind: Any, *shape: int) -> dict[str, Any]:
    """What an array of a rollout holds for each step of each game."""
    return {"kind": kind, "shape": shape}


@dataclass
class Rollout:
    """Some steps of some games: every array begins with ``[steps, games]``.

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
        appraisals: What each decision's legal actions leave (``Afterstates``), an
            array a decision: found when it is made, and needed again when it is learned from.  On a device they are
            found again instead, and this is empty.
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

    def part(self, games: slice) -> Rollout:
        """Some of the games, sharing memory."""
        return Rollout(**{name: value[:, games] for name, value in vars(self).items()})


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
    """Plays the games of a batch on.

    Args:
        batch: The games: a :class:`~ddz_env.batch.SelfPlayBatch` or a
        :class:`~ddz_training.learn.ppo.device.DeviceBatch` that
            writes observations, masks and concealed cards.
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
        self,
        batch: Any,
        config: SelfPlayConfig,
        rng: Draws,
        key: tuple[int, ...] = (0,),
        device: Device = HOST,
    ) -> None:
        self.batch = batch
        self._device = device
        self._config = config
        self._rng = rng
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
    def by_rules(self) -> npt.NDArray[np.bool_]:
        """Whether the opponent is the rule agent, shape ``[games]``, bool."""
        found: npt.NDArray[np.bool_] = self._rules[self._device.xp.astype(self.named, self._device.xp.int64)]
        return found

    @property
    def _choice(self) -> npt.NDArray[np.bool_]:
        """Where more than one action is legal, shape ``[games]``, bool."""
        found: npt.NDArray[np.bool_] = self._device.xp.count_nonzero(self.batch.mask, axis=1) > 1
        return found

    def close(self) -> None:
        """Release what the agents hold."""
        for agent in self.agents:
            agent.close()

    def collect(self, rollout: Rollout, learner: Evaluate, past: Evaluate | None) -> None:
        """Fill a rollout.

        Args:
            rollout: The arrays to fill.
            learner: The policy that learns.
            past: A past self; None where there is none yet, and the learner plays every side.
        """
        if self._device.on_host:
            rollout.appraisals[:] = None
        for step in range(len(rollout.actions)):
            self._note(rollout, step, has_past=past is not None)
            actions = self._choose(rollout, step, learner, past)
            rollout.actions[step] = actions
            self.batch.step(actions)
            self._settle(rollout, step)

    def _note(self, rollout: Rollout, step: int, *, has_past: bool) -> None:
        """Write down what is seen before the step."""
        batch = self.batch
        rollout.observations[step] = batch.observation
        rollout.masks[step] = batch.mask_words
        rollout.concealed[step] = batch.concealed
        rollout.seats[step] = batch.seat
        rollout.roles[step] = batch.role
        rollout.begins[step] = batch.observation[:, _KICKER_STAGE] == 0
        theirs, choice = self._opponent_acts(has_past=has_past), self._choice
        rollout.by_rules[step] = self.by_rules
        rollout.frozen[step] = (self.named > 0) & ~self.by_rules
        rollout.watched[step] = theirs & choice & rollout.frozen[step]
        rollout.decides[step] = choice & ~theirs
        # Nothing of the update before: the policy learns nothing from a decision that counts 0 without candidates.
        rollout.counts[step, rollout.watched[step]] = 0.0
        rollout.candidates.actions[step, rollout.watched[step]] = NONE

    def _opponent_acts(self, *, has_past: bool) -> npt.NDArray[np.bool_]:
        """Where an opponent is to act."""
        role, side = self.batch.role, self.sides
        landlord = (role == 0) & (side == LANDLORD_SIDE)
        peasant = (role != 0) & (role != NO_ROLE) & (side == PEASANT_SIDE)
        acts: npt.NDArray[np.bool_] = (landlord | peasant) & ((self.named > 0) | has_past)
        return acts

    def _choose(self, rollout: Rollout, step: int, learner: Evaluate, past: Evaluate | None) -> npt.NDArray[np.int64]:
        """Actions of all games: the only legal one, the learner's or the opponent's."""
        xp, drawn = self._device.xp, self._device.kernels.drawn
        actions: npt.NDArray[np.int64] = xp.astype(xp.argmax(self.batch.mask, axis=1), xp.int64)
        draws = self._rng.random(len(actions))
        mine = xp.nonzero(rollout.decides[step])[0]
        rollout.log_probabilities[step] = 0.0
        if len(mine):
            found, appraisals = learner(self.batch.observation[mine], self.batch.mask[mine])
            actions[mine], rollout.log_probabilities[step, mine] = drawn(found, draws[mine])
            self._consider(rollout, step, mine, found, appraisals)
        theirs = self._opponent_acts(has_past=past is not None)
        if past is not None:
            choices = xp.nonzero(theirs & (self.named == 0) & self._choice)[0]
            if len(choices):
                found, _ = past(self.batch.observation[choices], self.batch.mask[choices])
                actions[choices], _ = drawn(found, draws[choices])
        for number, agent in enumerate(self.agents, 1):
            games = np.flatnonzero(theirs & (self.named == number))
            if len(games):  # forced stages too: the first says which kickers follow
                actions[games] = agent.actions(games)
        return actions

    def _consider(
        self, rollout: Rollout, step: int, games: npt.NDArray[np.intp], found: Floats, appraisals: HandValues
    ) -> None:
        """Note what the learner considered in the games in which it decides."""
        rollout.rows[step, games] = self.batch.rows[games]
        if self._device.on_host:
            self._keep_appraisals(rollout, step, games, appraisals)
        config, rng, kernels = self._config, self._rng, self._device.kernels
        considered = Candidates.allocate(len(found), rollout.candidates.actions.shape[-1], zeros=self._device.zeros)
        actions, chances = considered.actions, considered.probabilities
        kernels.pick_candidates(found, config.least, actions[:, :-1], chances[:, :-1])  # the last place is the probe's
        counts = policy_counts(actions[:, 0] != NONE, config.settled_share, rng)
        if config.probes:
            kernels.add_probes(found, rng.random(len(counts)), counts > 0, actions, chances)
        rollout.counts[step, games] = counts
        rollout.candidates.actions[step, games], rollout.candidates.probabilities[step, games] = actions, chances

    def _keep_appraisals(
        self, rollout: Rollout, step: int, games: npt.NDArray[np.intp], appraisals: HandValues
    ) -> None:
        behind = 0
        for game, pairs in zip(games.tolist(), np.count_nonzero(self.batch.mask[games], axis=1).tolist(), strict=True):
            rollout.appraisals[step, game] = appraisals[behind : behind + pairs]
            behind += pairs

    def _settle(self, rollout: Rollout, step: int) -> None:
        """Write down what the step brought, and decide who plays the games that begin."""
        batch, xp = self.batch, self._device.xp
        players = batch.rules.players
        seats, roles = (xp.astype(each[step], xp.int64) for each in (rollout.seats, rollout.roles))
        landlords = xp.where(roles == NO_ROLE, -1, (seats - roles) % players)
        rollout.rewards[step] = shared_rewards(batch.reward, landlords, players, self._config.objective)
        rollout.done[step] = batch.done
        self._draw_sides(batch.done)

    def _draw_sides(self, begun: npt.NDArray[np.bool_]) -> None:
        xp, count = self._device.xp, int(begun.sum())
        draws = self._rng.random(count)
        sides = self._rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        if self._config.learner_side in _LEARNER_SIDES:
            sides[:] = _LEARNER_SIDES[self._config.learner_side]
        sided = draws < self._edges[-1] + self._config.opponent_share
        self.sides[begun] = xp.astype(xp.where(sided, sides, NOBODY), xp.int8)
        places = xp.searchsorted(self._places, draws, side="right")
        self.named[begun] = xp.astype(xp.where(draws < self._edges[-1], places + 1, 0), xp.int8)

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs: the batch, who plays which side, and the generators."""
        own: dict[str, Any] = {"sides": to_host(self.sides), "named": to_host(self.named)}
        for number, agent in enumerate(self.agents):
            own |= {f"agent.{number}.{name}": array for name, array in agent.state_dict().items()}
        generators = {"generator": self._rng, "agents_generator": self._agents_rng}
        own |= {name: generator.bit_generator.state for name, generator in generators.items()}
        return {**self.batch.state_dict(), **own}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        """
        missing = [name for name in ("generator", "agents_generator", "sides", "named") if name not in saved]
        if missing:
            raise InvalidOptionError(f"the saved games lack {', '.join(missing)}")
        self.batch.load_state_dict(saved)
        for number, agent in enumerate(self.agents):
            before = f"agent.{number}."
            agent.load_state_dict({n.removeprefix(before): part for n, part in saved.items() if n.startswith(before)})
        self._rng.bit_generator.state = saved["generator"]
        self._agents_rng.bit_generator.state = saved["agents_generator"]
        self.sides[:] = self._device.array(saved["sides"])
        self.named[:] = self._device.array(saved["named"])
