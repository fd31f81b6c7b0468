"""Collecting decisions: the learner plays many games on; in some, a past self or the rule agent plays one side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.neural.features import APPRAISAL
from agents.neural.leavings import Appraisals
from agents.neural.model import Bytes, Floats
from agents.neural.teacher import RulesTeacher
from ddz_env.actions import NUM_ACTIONS
from ddz_env.batch import SelfPlayBatch
from ddz_env.engine.layout import ROW_WORDS
from ddz_env.errors import InvalidOptionError
from ddz_env.observation import CONCEALED, OBSERVATION, OBSERVATION_SIZE
from training.ppo.lookahead import NONE, Candidates, add_probes, pick_candidates
from training.ppo.returns import shared_rewards
from training.ppo.sampling import draw_actions

Evaluate = Callable[[Bytes, Bytes], tuple[Floats, Appraisals]]
"""Logarithms of the probabilities, shape ``[n, 400]``, and the appraisals of what the actions leave, from observations
and masks."""

NOBODY, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

_KICKER_STAGE = OBSERVATION.offsets["stage"] + 2
_NO_ROLE = 3


@dataclass
class Rollout:
    """Some steps of some games, time first.

    Attributes:
        observations: Shape ``[steps, games, OBSERVATION_SIZE]``, int8.
        masks: As bits, shape ``[steps, games, 7]``, uint64 (:func:`unpack_masks`).
        concealed: Shape ``[steps, games, CONCEALED.size]``, int8.
        actions: Shape ``[steps, games]``, int64.
        log_probabilities: Of the learner's decisions, shape ``[steps, games]``, float32.
        seats: Who acted, shape ``[steps, games]``, int8.
        roles: In which role, shape ``[steps, games]``, int8.
        rewards: What each seat got, both peasants alike, shape ``[steps, games, 3]``, float32.
        done: Whether the game ended, shape ``[steps, games]``, bool.
        decides: Whether the learner had a choice, shape ``[steps, games]``, bool.
        begins: Whether a move began, shape ``[steps, games]``, bool.
        by_rules: Whether the rule agent plays one side of the game, shape ``[steps, games]``, bool.
        rows: The games at the learner's decisions, shape ``[steps, games, 32]``, uint64.
        counts: How much its decisions count for the policy, shape ``[steps, games]``, float32.
        candidates: The actions that it considered there and a place for a probe, ``[steps, games, candidates + 1]``.
        firsts: Where the appraisals of its decisions begin, shape ``[steps, games]``, int64.
        appraisals: Of the legal actions of each of its decisions, shape ``[pairs, APPRAISAL]``, int16.
    """

    observations: npt.NDArray[np.int8]
    masks: npt.NDArray[np.uint64]
    concealed: npt.NDArray[np.int8]
    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    seats: npt.NDArray[np.int8]
    roles: npt.NDArray[np.int8]
    rewards: npt.NDArray[np.float32]
    done: npt.NDArray[np.bool_]
    decides: npt.NDArray[np.bool_]
    begins: npt.NDArray[np.bool_]
    by_rules: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.float32]
    candidates: Candidates
    firsts: npt.NDArray[np.int64]
    appraisals: Appraisals

    @classmethod
    def allocate(cls, steps: int, games: int, candidates: int = 1) -> Rollout:
        """Zeroed arrays.

        Args:
            steps: How many steps.
            games: How many games.
            candidates: Room for the actions that the learner considers, besides a probe.
        """
        shape = (steps, games)
        return cls(
            observations=np.zeros((*shape, OBSERVATION_SIZE), np.int8),
            masks=np.zeros((*shape, -(-NUM_ACTIONS // 64)), np.uint64),
            concealed=np.zeros((*shape, CONCEALED.size), np.int8),
            actions=np.zeros(shape, np.int64),
            log_probabilities=np.zeros(shape, np.float32),
            seats=np.zeros(shape, np.int8),
            roles=np.zeros(shape, np.int8),
            rewards=np.zeros((*shape, 3), np.float32),
            done=np.zeros(shape, np.bool_),
            decides=np.zeros(shape, np.bool_),
            begins=np.zeros(shape, np.bool_),
            by_rules=np.zeros(shape, np.bool_),
            rows=np.zeros((*shape, ROW_WORDS), np.uint64),
            counts=np.zeros(shape, np.float32),
            candidates=Candidates.allocate(*shape, candidates + 1),
            firsts=np.zeros(shape, np.int64),
            appraisals=np.zeros((0, APPRAISAL), np.int16),
        )

    def part(self, games: slice) -> Rollout:
        """Some of the games, sharing memory; the appraisals are its own."""
        arrays = {
            name: value[:, games] for name, value in vars(self).items() if name not in ("candidates", "appraisals")
        }
        return Rollout(**arrays, candidates=self.candidates[:, games], appraisals=self.appraisals)

    def gather(self, parts: list[Rollout]) -> None:
        """Take over the appraisals of all parts, which cover the games in order."""
        total = 0
        for part in parts:
            part.firsts += total
            total += len(part.appraisals)
        self.appraisals = np.concatenate([part.appraisals for part in parts])


def unpack_masks(words: npt.NDArray[np.uint64]) -> Bytes:
    """Masks as bytes.

    Args:
        words: Shape ``[n, 7]``, uint64.

    Returns:
        Shape ``[n, 400]``, int8.
    """
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=NUM_ACTIONS, bitorder="little")
    return bits.view(np.int8)


def policy_counts(contested: npt.NDArray[np.bool_], settled_share: float, rng: np.random.Generator) -> Floats:
    """How much each decision counts for the policy.

    Where all but one action have hardly any probability, there is little to learn, at the cost of any decision.  Such
    settled decisions are sampled, and those drawn stand for the others: each counts once on average.

    Args:
        contested: Whether the policy considered more than one action, shape ``[n]``, bool.
        settled_share: Share of the other decisions that count.
        rng: Draws them.

    Returns:
        Shape ``[n]``, float32: 1 where contested, else 0 or ``1 / settled_share``.

    Example:
        >>> import numpy as np
        >>> contested = np.array([True, False, False, True])
        >>> policy_counts(contested, 1.0, np.random.default_rng(0)).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    drawn = rng.random(len(contested)) < settled_share
    counts: Floats = np.where(contested, 1.0, drawn / settled_share).astype(np.float32)
    return counts


def _drawn(
    log_probabilities: Floats, draws: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Actions drawn from the probabilities, and logarithms of theirs."""
    actions, chosen = np.empty(len(draws), np.int64), np.empty(len(draws), np.float32)
    draw_actions(log_probabilities, draws, actions, chosen)
    return actions, chosen


class Collector:
    """Plays the games of a batch on.

    Args:
        batch: The games; it must write observations, masks and concealed cards.
        objective: ``win`` or ``stake``.
        opponent_share: Share of the games in which a past self plays one side, once there is one.
        rng: The generator of every choice made here.
        rules_share: Share of the games in which the rule agent plays one side.
        least: The least probability of an action that the learner is said to consider.
        settled_share: Share of the decisions with no two such actions that count for the policy.
        probes: Whether one more action is looked at where a decision counts.

    Attributes:
        sides: Which side an opponent plays, shape ``[games]``, int8.
        by_rules: Whether that is the rule agent, shape ``[games]``, bool.
    """

    def __init__(
        self,
        batch: SelfPlayBatch,
        objective: str,
        opponent_share: float,
        rng: np.random.Generator,
        rules_share: float = 0.0,
        least: float = 1.0,
        settled_share: float = 1.0,
        *,
        probes: bool = False,
    ) -> None:
        self.batch = batch
        self._least, self._settled_share, self._probes = least, settled_share, probes
        self._appraised, self._appraisals = 0, list[Appraisals]()
        self._objective = objective
        self._share, self._rules_share = opponent_share, rules_share
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
        self._appraised, self._appraisals = 0, []
        for step in range(len(rollout.actions)):
            self._note(rollout, step, has_past=past is not None)
            actions = self._choose(rollout, step, learner, past)
            rollout.actions[step] = actions
            self.batch.step(actions)
            self._settle(rollout, step)
        rollout.appraisals = np.concatenate([rollout.appraisals[:0], *self._appraisals])

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
        peasant = (role != 0) & (role != _NO_ROLE) & (side == PEASANT_SIDE)
        acts: npt.NDArray[np.bool_] = (landlord | peasant) & (self.by_rules | has_past)
        return acts

    def _choose(self, rollout: Rollout, step: int, learner: Evaluate, past: Evaluate | None) -> npt.NDArray[np.int64]:
        """Actions of all games: the only legal one, the learner's or the opponent's."""
        actions: npt.NDArray[np.int64] = self.batch.mask.argmax(axis=1).astype(np.int64)
        draws = self._rng.random(len(actions))
        mine = np.flatnonzero(rollout.decides[step])
        rollout.log_probabilities[step] = 0.0
        if len(mine):
            rollout.log_probabilities[step, mine] = self._consider(rollout, step, learner, mine, draws, actions)
        theirs = self._opponent_acts(has_past=past is not None)
        if past is not None:
            choices = np.flatnonzero(theirs & ~self.by_rules & (np.count_nonzero(self.batch.mask, axis=1) > 1))
            if len(choices):
                found, _ = past(self.batch.observation[choices], self.batch.mask[choices])
                actions[choices], _ = _drawn(found, draws[choices])
        games = np.flatnonzero(theirs & self.by_rules)
        if len(games):  # forced stages too: the first says which kickers follow
            actions[games] = self._teacher.actions_of(self.batch.rows, games)
        return actions

    def _consider(
        self,
        rollout: Rollout,
        step: int,
        learner: Evaluate,
        games: npt.NDArray[np.intp],
        draws: npt.NDArray[np.float64],
        actions: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.float32]:
        """Let the learner decide in some games, and keep what it considered; its logarithms of probabilities."""
        masks = self.batch.mask[games]
        found, appraisals = learner(self.batch.observation[games], masks)
        actions[games], chosen = _drawn(found, draws[games])
        pairs = np.count_nonzero(masks, axis=1)
        rollout.firsts[step, games] = self._appraised + np.cumsum(pairs) - pairs
        self._appraisals.append(appraisals)
        self._appraised += len(appraisals)
        rollout.rows[step, games] = self.batch.rows[games]
        room = rollout.candidates.actions.shape[-1]
        counts, considered = self._considered(found, room)
        rollout.counts[step, games] = counts
        rollout.candidates.actions[step, games] = considered.actions
        rollout.candidates.probabilities[step, games] = considered.probabilities
        return chosen

    def _considered(self, log_probabilities: Floats, room: int) -> tuple[Floats, Candidates]:
        """How much decisions count for the policy, and their candidates; the last place is the probe's."""
        found = Candidates.allocate(len(log_probabilities), room)
        pick_candidates(log_probabilities, self._least, found.actions[:, :-1], found.probabilities[:, :-1])
        counts = policy_counts(found.actions[:, 0] != NONE, self._settled_share, self._rng)
        if self._probes:
            draws = self._rng.random(len(counts))
            add_probes(log_probabilities, draws, counts > 0, found.actions, found.probabilities)
        return counts, found

    def _settle(self, rollout: Rollout, step: int) -> None:
        """Write down what the step brought, and decide who plays the games that begin."""
        batch = self.batch
        players = batch.rules.players
        seats, roles = rollout.seats[step].astype(np.int64), rollout.roles[step].astype(np.int64)
        landlords = np.where(roles == _NO_ROLE, -1, (seats - roles) % players)
        rollout.rewards[step] = shared_rewards(batch.reward, landlords, players, self._objective)
        rollout.done[step] = batch.done
        self._draw_sides(batch.done)

    def _draw_sides(self, begun: npt.NDArray[np.bool_]) -> None:
        count = int(begun.sum())
        draws = self._rng.random(count)
        sides = self._rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        self.sides[begun] = np.where(draws < self._rules_share + self._share, sides, NOBODY)
        self.by_rules[begun] = draws < self._rules_share

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs: the batch, the sides and the generator."""
        generator = self._rng.bit_generator.state
        own = {
            "generator": generator,
            "sides": self.sides.copy(),
            "by_rules": self.by_rules.copy(),
            "plans": self._teacher.plans.copy(),
        }
        return {**self.batch.state_dict(), **own}

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
