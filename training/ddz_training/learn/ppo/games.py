"""The games of a rollout: what is recorded, and who plays the sides that the learner does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import exp
from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
import torch

from ddz_agents.neural.columns import GAME_COLUMNS, HandValues
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import Critic, PolicyNetwork, legal_log_probabilities, policy_input
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.errors import InvalidOptionError
from ddz_env.core.observation import CONCEALED, OBSERVATION, OBSERVATION_SIZE
from ddz_env.core.view import NO_ROLE
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.generators import agent_generator
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.opponents import FrozenAgent, behind

Evaluate = Callable[[Bytes, Bytes], tuple[Floats, HandValues]]
"""Logarithms of the probabilities, shape ``[n, 400]``, and the appraisals of what the actions leave, from observations
and masks."""

Flags = npt.NDArray[np.bool_]

NO_SIDE, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

_LEARNER_SIDES = {"landlord": PEASANT_SIDE, "peasants": LANDLORD_SIDE}
"""The side that is left to an opponent."""

_KICKER_STAGE = OBSERVATION.offsets["stage"] + 2


# --- Choosing actions -------------------------------------------------------------------------------------------------


def evaluate(
    network: PolicyNetwork, observations: Bytes, masks: Bytes, *, normalized: bool = True
) -> tuple[Floats, HandValues]:
    """A policy's logarithms of the probabilities, ``[n, 400]`` float32, and the appraisals of what the actions leave.

    Args:
        network: The policy, on any device.
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
        normalized: If not, the logits themselves; minus infinity where illegal, too.
    """
    with torch.inference_mode():
        seen, appraisals = policy_input(observations, masks, network.architecture.history)
        found = network.legal_logits(seen)[0].cpu()
        if normalized:
            found = legal_log_probabilities(found, seen.rows, len(masks))
        whole = np.full(masks.shape, -np.inf, np.float32)
        whole[seen.rows, seen.actions] = found
        return whole, appraisals


def value_games(critic: Critic, games: Floats) -> Floats:
    """A critic's values of games (``[n, GAME_COLUMNS]``, float32) for the seats to act, shape ``[n]``, float32."""
    with torch.inference_mode():
        values: Floats = critic(torch.from_numpy(games).to(critic.value.weight.device)).cpu().numpy()
        return values


@pure_kernel
def _draw(log_probabilities: np.ndarray, draws: np.ndarray, actions: np.ndarray, chosen: np.ndarray) -> None:
    for row in range(log_probabilities.shape[0]):
        total = 0.0
        actions[row] = -1
        for action in range(log_probabilities.shape[1]):
            value = log_probabilities[row, action]
            if value > -np.inf:
                actions[row] = action
                chosen[row] = value
                total += exp(np.float64(value))
                if total > draws[row]:
                    break


def draw_actions(log_probabilities: Floats, draws: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Draw an action for each row; an illegal one is never drawn, however numbers are rounded.

    Args:
        log_probabilities: Shape ``[n, actions]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, shape ``[n]``, float64.

    Returns:
        Action ids, shape ``[n]``, int64, -1 in a row without legal actions; and logarithms of their probabilities.
    """
    actions, chosen = np.empty(len(draws), np.int64), np.empty(len(draws), np.float32)
    _draw(log_probabilities, draws, actions, chosen)
    return actions, chosen


# --- What is noted ----------------------------------------------------------------------------------------------------


@dataclass
class Rollout:
    """Some steps of some games: every array begins with ``[steps, games]``.

    Attributes:
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
        counts: How much the learner's decisions count for the policy.
        appraisals: What each decision's legal actions leave (``Afterstates``), an array a decision: found when it is
            made, and needed again when it is learned from.
        games: What the critic read of the learner's decisions (:func:`ddz_agents.neural.columns.describe_games`).
        advantages: Of the learner's decisions of which enough is known, normalized.
        targets: What the critic should have said of them.
    """

    observations: Annotated[npt.NDArray[np.int8], np.int8, OBSERVATION_SIZE]
    masks: Annotated[npt.NDArray[np.uint64], np.uint64, -(-NUM_ACTIONS // 64)]
    concealed: Annotated[npt.NDArray[np.int8], np.int8, CONCEALED.size]
    actions: Annotated[npt.NDArray[np.int64], np.int64]
    log_probabilities: Annotated[npt.NDArray[np.float32], np.float32]
    seats: Annotated[npt.NDArray[np.int8], np.int8]
    roles: Annotated[npt.NDArray[np.int8], np.int8]
    rewards: Annotated[npt.NDArray[np.float32], np.float32, 3]
    done: Annotated[npt.NDArray[np.bool_], np.bool_]
    decides: Annotated[npt.NDArray[np.bool_], np.bool_]
    begins: Annotated[npt.NDArray[np.bool_], np.bool_]
    by_rules: Annotated[npt.NDArray[np.bool_], np.bool_]
    counts: Annotated[npt.NDArray[np.float32], np.float32]
    appraisals: Annotated[npt.NDArray[np.object_], np.object_]
    games: Annotated[npt.NDArray[np.float32], np.float32, GAME_COLUMNS]
    advantages: Annotated[npt.NDArray[np.float32], np.float32]
    targets: Annotated[npt.NDArray[np.float32], np.float32]

    @classmethod
    def allocate(cls, steps: int, games: int) -> Rollout:
        """Zeroed arrays."""
        hints = get_type_hints(cls, include_extras=True)
        kinds = [hints[each.name].__metadata__ for each in fields(cls)]
        return cls(*(np.zeros((steps, games, *shape), kind) for kind, *shape in kinds))

    def __getitem__(self, rows: Any) -> Rollout:
        """Some of the steps or games, by any index that arrays take."""
        return Rollout(**{name: part[rows] for name, part in vars(self).items()})

    def __len__(self) -> int:
        return len(self.actions)

    def flat(self) -> Rollout:
        """The same arrays with one row for each step of each game."""
        return Rollout(**{name: part.reshape(-1, *part.shape[2:]) for name, part in vars(self).items()})


def unpack_masks(words: npt.NDArray[np.uint64]) -> Bytes:
    """Masks as bytes, shape ``[n, 400]``, int8, from words, shape ``[n, 7]``."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=NUM_ACTIONS, bitorder="little").view(np.int8)


class Collector:
    """The games of a batch, and who plays them.

    Args:
        batch: The games; it must write observations, masks and concealed cards.
        config: The settings: the objective, and the shares of the opponents.
        rng: The generator of every choice made here.
        key: The key of the generator that the agents by name draw from.

    Attributes:
        sides: Which side an opponent plays, shape ``[games]``, int8.
        named: Who that is: 0 a past self, 1 the first of the agents by name, 2 the second, shape ``[games]``, int8.
        agents: The agents by name.

    Raises:
        UnknownAgentError: If an agent does not exist.
        InvalidAgentOptionError: If its options are wrong.
    """

    def __init__(
        self, batch: SelfPlayBatch, config: SelfPlayConfig, rng: np.random.Generator, key: tuple[int, ...] = (0,)
    ) -> None:
        self.batch, self.config, self.rng = batch, config, rng
        self._agents_rng = agent_generator(key)
        names, shares = zip(*config.agents, strict=True) if config.agents else ((), ())
        self.agents = [FrozenAgent(name, batch, self._agents_rng) for name in names]
        self._edges = np.cumsum(shares) if shares else np.zeros(1)
        self._rules = np.array([False, *(name.strip() == "rules" for name in names)])
        self.sides = np.full(batch.num_games, NO_SIDE, np.int8)
        self.named = np.zeros(batch.num_games, np.int8)
        self._draw_sides(self.sides == NO_SIDE)

    @property
    def by_rules(self) -> Flags:
        """Whether the opponent is the rule agent, shape ``[games]``, bool."""
        found: Flags = self._rules[self.named]
        return found

    @property
    def _choice(self) -> Flags:
        """Whether more than one action is legal, shape ``[games]``, bool."""
        found: Flags = np.count_nonzero(self.batch.mask, axis=1) > 1
        return found

    def close(self) -> None:
        """Release what the agents hold."""
        for agent in self.agents:
            agent.close()

    def opponent_acts(self, *, has_past: bool) -> Flags:
        """Whether an opponent is to act, shape ``[games]``, bool."""
        role, side = self.batch.role, self.sides
        landlord = (role == 0) & (side == LANDLORD_SIDE)
        peasant = (role != 0) & (role != NO_ROLE) & (side == PEASANT_SIDE)
        found: Flags = (landlord | peasant) & ((self.named > 0) | has_past)
        return found

    def note(self, rollout: Rollout, step: int, *, has_past: bool) -> Flags:
        """Write down what is seen before a step.

        Args:
            rollout: The arrays to fill.
            step: The step.
            has_past: Whether there is a past self; where there is none the learner plays its side, too.

        Returns:
            Where an opponent is to act, shape ``[games]``, bool.
        """
        batch, theirs = self.batch, self.opponent_acts(has_past=has_past)
        rollout.observations[step], rollout.masks[step] = batch.observation, batch.mask_words
        rollout.concealed[step], rollout.seats[step], rollout.roles[step] = batch.concealed, batch.seat, batch.role
        rollout.begins[step] = batch.observation[:, _KICKER_STAGE] == 0
        rollout.by_rules[step] = self.by_rules
        rollout.decides[step] = self._choice & ~theirs
        return theirs

    def play_others(
        self, actions: npt.NDArray[np.int64], theirs: Flags, draws: npt.NDArray[np.float64], past: Evaluate | None
    ) -> None:
        """Write the opponents' actions over those of the games in which they are to act."""
        if past is not None:
            games = np.flatnonzero(theirs & (self.named == 0) & self._choice)
            if len(games):
                logs, _ = past(self.batch.observation[games], self.batch.mask[games])
                actions[games], _ = draw_actions(logs, draws[games])
        for number, agent in enumerate(self.agents, 1):
            games = np.flatnonzero(theirs & (self.named == number))
            if len(games):  # forced stages too: the first says which kickers follow
                actions[games] = agent.actions(games)

    def settle(self, rollout: Rollout, step: int, actions: npt.NDArray[np.int64]) -> None:
        """Play the actions, write down what they brought, and decide who plays the games that begin."""
        batch = self.batch
        rollout.actions[step] = actions
        batch.step(actions)
        seats, roles = (each[step].astype(np.int64) for each in (rollout.seats, rollout.roles))
        landlords = np.where(roles == NO_ROLE, -1, (seats - roles) % batch.rules.players)
        rollout.rewards[step] = shared_rewards(batch.reward, landlords, batch.rules.players, self.config.objective)
        rollout.done[step] = batch.done
        self._draw_sides(batch.done)

    def _draw_sides(self, begun: Flags) -> None:
        count = int(begun.sum())
        draws = self.rng.random(count)
        sides = self.rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        if self.config.learner_side in _LEARNER_SIDES:
            sides[:] = _LEARNER_SIDES[self.config.learner_side]
        sided = draws < self._edges[-1] + self.config.opponent_share
        self.sides[begun] = np.where(sided, sides, NO_SIDE)
        places = np.searchsorted(self._edges, draws, side="right")
        self.named[begun] = np.where(draws < self._edges[-1], places + 1, 0)

    def state_dict(self) -> dict[str, Any]:
        """The state for :meth:`load_state_dict`: the batch, who plays which side, and the generators."""
        own: dict[str, Any] = {"sides": self.sides.copy(), "named": self.named.copy()}
        generators = {"generator": self.rng, "agents_generator": self._agents_rng}
        own |= {name: generator.bit_generator.state for name, generator in generators.items()}
        for number, agent in enumerate(self.agents):
            own |= {f"agent.{number}.{name}": array for name, array in agent.state_dict().items()}
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
            agent.load_state_dict(behind(f"agent.{number}.", saved))
        self.rng.bit_generator.state = saved["generator"]
        self._agents_rng.bit_generator.state = saved["agents_generator"]
        self.sides[:], self.named[:] = saved["sides"], saved["named"]


def shared_rewards(
    rewards: npt.NDArray[Any], landlords: npt.NDArray[np.int64], players: int, objective: str
) -> npt.NDArray[np.float32]:
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
        >>> shared_rewards(np.array([[1.0, -0.5, -0.5]]), np.array([0]), 3, "win").tolist()
        [[1.0, -1.0, -1.0]]
        >>> shared_rewards(np.array([[-4.0, 8.0, -4.0]]), np.array([1]), 3, "stake").tolist()
        [[-4.0, 4.0, -4.0]]
    """
    there = np.flatnonzero(landlords >= 0)
    own = np.zeros(len(rewards))
    own[there] = rewards[there, landlords[there]]
    if objective == "stake":
        own /= players - 1
    shared = np.stack([-own] * 3, axis=1)
    shared[there, landlords[there]] = own[there]
    shared[:, players:] = 0.0
    return shared.astype(np.float32)
