"""Collecting decisions: the learner plays many games on; in some, a past self or the rule agent plays one side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.neural.leavings import Appraisals
from agents.neural.model import Bytes, Floats
from agents.rule_agent.stages import RulesTeacher
from ddz_env.actions import NUM_ACTIONS
from ddz_env.batch import SelfPlayBatch
from ddz_env.engine.layout import ROW_WORDS
from ddz_env.errors import InvalidOptionError
from ddz_env.observation import CONCEALED, OBSERVATION, OBSERVATION_SIZE
from ddz_env.view import NO_ROLE
from training.ppo.config import SelfPlayConfig
from training.ppo.returns import shared_rewards
from training.ppo.sampling import NONE, Candidates, add_probes, drawn, pick_candidates, policy_counts

Evaluate = Callable[[Bytes, Bytes], tuple[Floats, Appraisals]]
"""Logarithms of the probabilities, shape ``[n, 400]``, and the appraisals of what the actions leave, from observations
and masks."""

NOBODY, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

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
        rows: The games at the learner's decisions.
        counts: How much its decisions count for the policy.
        appraisals: What each decision's legal actions leave (:class:`agents.neural.leavings.Leavings`), an array a
            decision: found when it is made, and needed again when it is learned from.
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
    rows: npt.NDArray[np.uint64] = field(metadata=_each(np.uint64, ROW_WORDS))
    counts: npt.NDArray[np.float32] = field(metadata=_each(np.float32))
    appraisals: npt.NDArray[np.object_] = field(metadata=_each(np.object_))

    @classmethod
    def allocate(cls, steps: int, games: int, candidates: int = 1) -> Rollout:
        """Zeroed arrays.

        Args:
            steps: How many steps.
            games: How many games.
            candidates: Room for the actions that the learner considers, besides a probe.
        """
        arrays = {
            each.name: np.zeros((steps, games, *each.metadata["shape"]), each.metadata["kind"])
            for each in fields(cls)
            if each.metadata
        }
        return cls(Candidates.allocate(steps, games, candidates + 1), **arrays)

    def part(self, games: slice) -> Rollout:
        """Some of the games, sharing memory."""
        return Rollout(**{name: value[:, games] for name, value in vars(self).items()})


def unpack_masks(words: npt.NDArray[np.uint64]) -> Bytes:
    """Masks as bytes.

    Args:
        words: Shape ``[n, 7]``, uint64.

    Returns:
        Shape ``[n, 400]``, int8.
    """
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=NUM_ACTIONS, bitorder="little")
    return bits.view(np.int8)


class Collector:
    """Plays the games of a batch on.

    Args:
        batch: The games; it must write observations, masks and concealed cards.
        config: The settings: the objective, the shares of the opponents, and what of a decision is noted.
        rng: The generator of every choice made here.

    Attributes:
        sides: Which side an opponent plays, shape ``[games]``, int8.
        by_rules: Whether that is the rule agent, shape ``[games]``, bool.
    """

    def __init__(self, batch: SelfPlayBatch, config: SelfPlayConfig, rng: np.random.Generator) -> None:
        self.batch = batch
        self._config = config
        self._rng = rng
        self._teacher = RulesTeacher(batch.num_games, batch.rules)
        self.sides = np.zeros(batch.num_games, np.int8)
        self.by_rules = np.zeros(batch.num_games, np.bool_)
        self._draw_sides(np.ones(batch.num_games, np.bool_))

    def collect(self, rollout: Rollout, learner: Evaluate, past: Evaluate | None) -> None:
        """Fill a rollout.

        Args:
            rollout: The arrays to fill.
            learner: The policy that learns.
            past: A past self; None where there is none yet, and the learner plays every side.
        """
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
        rollout.by_rules[step] = self.by_rules
        rollout.decides[step] = np.count_nonzero(batch.mask, axis=1) > 1
        rollout.decides[step] &= ~self._opponent_acts(has_past=has_past)

    def _opponent_acts(self, *, has_past: bool) -> npt.NDArray[np.bool_]:
        """Where an opponent is to act."""
        role, side = self.batch.role, self.sides
        landlord = (role == 0) & (side == LANDLORD_SIDE)
        peasant = (role != 0) & (role != NO_ROLE) & (side == PEASANT_SIDE)
        acts: npt.NDArray[np.bool_] = (landlord | peasant) & (self.by_rules | has_past)
        return acts

    def _choose(self, rollout: Rollout, step: int, learner: Evaluate, past: Evaluate | None) -> npt.NDArray[np.int64]:
        """Actions of all games: the only legal one, the learner's or the opponent's."""
        actions: npt.NDArray[np.int64] = self.batch.mask.argmax(axis=1).astype(np.int64)
        draws = self._rng.random(len(actions))
        mine = np.flatnonzero(rollout.decides[step])
        rollout.log_probabilities[step] = 0.0
        if len(mine):
            found, appraisals = learner(self.batch.observation[mine], self.batch.mask[mine])
            actions[mine], rollout.log_probabilities[step, mine] = drawn(found, draws[mine])
            self._consider(rollout, step, mine, found, appraisals)
        theirs = self._opponent_acts(has_past=past is not None)
        if past is not None:
            choices = np.flatnonzero(theirs & ~self.by_rules & (np.count_nonzero(self.batch.mask, axis=1) > 1))
            if len(choices):
                found, _ = past(self.batch.observation[choices], self.batch.mask[choices])
                actions[choices], _ = drawn(found, draws[choices])
        games = np.flatnonzero(theirs & self.by_rules)
        if len(games):  # forced stages too: the first says which kickers follow
            actions[games] = self._teacher.actions(games, self.batch.rows[games])
        return actions

    def _consider(
        self, rollout: Rollout, step: int, games: npt.NDArray[np.intp], found: Floats, appraisals: Appraisals
    ) -> None:
        """Note what the learner considered in the games in which it decides."""
        rollout.rows[step, games] = self.batch.rows[games]
        behind = 0
        for game, pairs in zip(games.tolist(), np.count_nonzero(self.batch.mask[games], axis=1).tolist(), strict=True):
            rollout.appraisals[step, game] = appraisals[behind : behind + pairs]
            behind += pairs
        config, rng = self._config, self._rng
        considered = Candidates.allocate(len(found), rollout.candidates.actions.shape[-1])
        actions, chances = considered.actions, considered.probabilities
        pick_candidates(found, config.least, actions[:, :-1], chances[:, :-1])  # the last place is the probe's
        counts = policy_counts(actions[:, 0] != NONE, config.settled_share, rng)
        if config.probes:
            add_probes(found, rng.random(len(counts)), counts > 0, actions, chances)
        rollout.counts[step, games] = counts
        rollout.candidates.actions[step, games], rollout.candidates.probabilities[step, games] = actions, chances

    def _settle(self, rollout: Rollout, step: int) -> None:
        """Write down what the step brought, and decide who plays the games that begin."""
        batch = self.batch
        players = batch.rules.players
        seats, roles = rollout.seats[step].astype(np.int64), rollout.roles[step].astype(np.int64)
        landlords = np.where(roles == NO_ROLE, -1, (seats - roles) % players)
        rollout.rewards[step] = shared_rewards(batch.reward, landlords, players, self._config.objective)
        rollout.done[step] = batch.done
        self._draw_sides(batch.done)

    def _draw_sides(self, begun: npt.NDArray[np.bool_]) -> None:
        count = int(begun.sum())
        draws = self._rng.random(count)
        sides = self._rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        rules_share, share = self._config.rules_share, self._config.opponent_share
        self.sides[begun] = np.where(draws < rules_share + share, sides, NOBODY)
        self.by_rules[begun] = draws < rules_share

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs: the batch, the sides and the generator."""
        own = {"sides": self.sides.copy(), "by_rules": self.by_rules.copy(), "plans": self._teacher.plans.copy()}
        return {**self.batch.state_dict(), **own, "generator": self._rng.bit_generator.state}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        """
        missing = [name for name in ("generator", "sides", "by_rules", "plans") if name not in saved]
        if missing:
            raise InvalidOptionError(f"the saved games lack {', '.join(missing)}")
        self.batch.load_state_dict(saved)
        self._rng.bit_generator.state = saved["generator"]
        self.sides[:] = saved["sides"]
        self.by_rules[:] = saved["by_rules"]
        self._teacher.plans[:] = saved["plans"]
