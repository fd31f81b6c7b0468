"""The games of a rollout: who plays which side, and the record of every step.

Every step of a group of games has the same parts: :meth:`RolloutGames.turn` says who is to decide,
:meth:`RolloutGames.encode_decisions` writes the decisions as bytes, the networks choose, and :meth:`RolloutGames.play`
plays the actions.  Describing and playing are compiled and may be shared among threads, chunk by chunk: a game's
decision has its place before anybody writes it, so results do not depend on who comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ddz_agents.neural.decisions import (
    Decisions,
    describe_decisions,
    new_decisions,
    new_hand_value_cache,
    new_legal_actions,
)
from ddz_agents.rules.workspace import RuleWorkspace
from ddz_env.core.engine.legal import count_legal, nth_legal
from ddz_env.core.engine.words import U0
from ddz_env.core.observation import OBSERVATION
from ddz_env.core.view import NO_ROLE
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.stepping import ACT, Slots, step_games
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.compiling import kernel
from ddz_env.support.errors import InvalidOptionError
from ddz_training.learn.ppo.config import GamesConfig
from ddz_training.learn.ppo.opponents import FrozenAgent, with_prefix_removed

BoolArray = npt.NDArray[np.bool_]

NO_SIDE, LANDLORD_SIDE, PEASANT_SIDE = 0, 1, 2
"""Which side of a game an opponent plays."""

_LEARNER_SIDES = {"landlord": PEASANT_SIDE, "peasants": LANDLORD_SIDE}
"""The side that is left to an opponent."""

_KICKER_STAGE = OBSERVATION.offsets["stage"] + 2


# --- What is noted ----------------------------------------------------------------------------------------------------


class RecordedSteps(NamedTuple):
    """The records of a rollout's steps in all of its games, in arrays of shape ``[steps, games, ...]``.

    Attributes:
        seats: Who acted, int8.
        roles: The actor's role, int8.
        begins: Whether a move began, bool.
        done: Whether the game ended, bool.
        rewards: What each seat got, both peasants alike, ``[..., 3]``, float32.
        rows: The learner's decision, by its number in the rollout; -1 where it had none, int32.
    """

    seats: npt.NDArray[np.int8]
    roles: npt.NDArray[np.int8]
    begins: BoolArray
    done: BoolArray
    rewards: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]

    @classmethod
    def allocate(cls, steps: int, games: int) -> RecordedSteps:
        """Allocate arrays of zeros for the records of ``steps`` steps of ``games`` games."""
        return cls._make(np.zeros((steps, games, *shape), kind) for kind, *shape in _STEP_ARRAYS)

    def for_games(self, games: slice) -> RecordedSteps:
        """Return the records of the given games, as views of this object's arrays."""
        return RecordedSteps._make(part[:, games] for part in self)

    @property
    def decides(self) -> BoolArray:
        """Whether the learner had a choice, shape ``[steps, games]``, bool."""
        return self.rows >= 0


_STEP_ARRAYS: tuple[tuple[Any, ...], ...] = (
    (np.int8,),
    (np.int8,),
    (np.bool_,),
    (np.bool_,),
    (np.float32, 3),
    (np.int32,),
)
"""The type of each array, and its dimensions after steps and games."""


# --- The games --------------------------------------------------------------------------------------------------------


@kernel
def _count_actions(bits: np.ndarray, counts: np.ndarray) -> None:
    for game in range(counts.size):
        counts[game] = count_legal(bits[game])


@kernel
def _order_first_actions(slots: Slots) -> None:
    """Preset every game's next action to its first legal action, which stands if it is the only one."""
    for index in range(slots.games.shape[0]):
        slots.games[index]["order"] = ACT
        slots.games[index]["action"] = np.int64(nth_legal(slots.bits[index], U0))


class RolloutGames:
    """A group of games played in lockstep, with a record of what the learner sees and does.

    Args:
        batch: The games; it must write observations and concealed cards, and masks if agents play by name.
        config: The settings: the objective, and the shares of the opponents.
        rng: The generator of who plays which side.
        key: The key of the generator that the agents by name draw from.
        pinned: Whether what is described lies in memory from which a GPU copies.

    Attributes:
        sides: Which side an opponent plays, shape ``[games]``, int8.
        opponent_ids: Who that is: 0 a past self, 1 the first of the agents by name, 2 the second, shape ``[games]``,
            int8.
        agents: The agents by name.
        decisions: Room for a decision of every game.
        legal_actions: Room for their legal actions, shape ``[pairs]``, int16; it grows.
        legal_values: Room for the hand values of what each leaves, shape ``[pairs, 2]``, int16.
        learner_games: The games in which the learner has a choice now, shape ``[n]``, ascending.
        past_self_games: The games in which a past self has a choice.
        opponent_turns: Whether an opponent is to act, forced steps included, shape ``[games]``, bool.
        sizes: How many legal actions the decisions have, those of the learner first, shape ``[decisions]``, int64.

    Raises:
        UnknownAgentError: If an agent does not exist.
        InvalidAgentOptionError: If its options are wrong.
    """

    def __init__(
        self,
        batch: SelfPlayBatch,
        config: GamesConfig,
        rng: np.random.Generator,
        key: tuple[int, ...] = (0,),
        *,
        pinned: bool = False,
    ) -> None:
        self.batch, self.config, self.rng = batch, config, rng
        self._agents_rng = make_agent_generator(key)
        names, shares = zip(*config.named_opponents, strict=True) if config.named_opponents else ((), ())
        self.agents = [FrozenAgent(name, batch, self._agents_rng) for name in names]
        self._edges = np.cumsum(shares) if shares else np.zeros(1)
        self._rules = np.array([False, *(name.strip() == "rules" for name in names)])
        count, self._pinned = batch.num_games, pinned
        self.sides, self.opponent_ids = np.full(count, NO_SIDE, np.int8), np.zeros(count, np.int8)
        self.decisions = Decisions(*self._pin_memory(new_decisions(count)))
        self.legal_actions, self.legal_values = self._pin_memory(new_legal_actions(0))
        self.learner_games = self.past_self_games = np.empty(0, np.intp)
        self.opponent_turns, self.sizes = np.zeros(count, np.bool_), np.empty(0, np.int64)
        self._memory = new_hand_value_cache(count)
        self._legal, self._rows, self._pair_starts = (np.zeros(count, np.int32) for _ in range(3))
        self._draw_sides(self.sides == NO_SIDE)

    def _pin_memory(self, arrays: Sequence[npt.NDArray[Any]]) -> Sequence[npt.NDArray[Any]]:
        """Copy arrays to pinned memory, from which a GPU copies faster, if pinning is enabled."""
        return [torch.from_numpy(array).pin_memory().numpy() for array in arrays] if self._pinned else arrays

    @property
    def against_rules(self) -> BoolArray:
        """Whether each game's opponent is the rule agent, shape ``[games]``, bool."""
        flags: BoolArray = self._rules[self.opponent_ids]
        return flags

    def close(self) -> None:
        """Close the opponents that are named agents."""
        for agent in self.agents:
            agent.close()

    def is_opponent_to_act(self, *, has_past: bool) -> BoolArray:
        """Return whether an opponent is to act in each game, shape ``[games]``, bool."""
        role, side = self.batch.role, self.sides
        landlord = (role == 0) & (side == LANDLORD_SIDE)
        peasant = (role != 0) & (role != NO_ROLE) & (side == PEASANT_SIDE)
        acts: BoolArray = (landlord | peasant) & ((self.opponent_ids > 0) | has_past)
        return acts

    def find_decisions(self, *, has_past: bool) -> None:
        """Find the games in which a decision is due, and assign each decision a row of the output arrays.

        Args:
            has_past: Whether there is a past self; where there is none the learner plays its side, too.
        """
        _count_actions(self.batch.slots.bits, self._legal)
        self.opponent_turns, choice = self.is_opponent_to_act(has_past=has_past), self._legal > 1
        self.learner_games = np.flatnonzero(choice & ~self.opponent_turns)
        self.past_self_games = np.flatnonzero(choice & self.opponent_turns & (self.opponent_ids == 0))
        games = np.concatenate([self.learner_games, self.past_self_games])
        self.sizes = self._legal[games].astype(np.int64)
        ends = np.cumsum(self.sizes)
        self._rows.fill(-1)
        self._rows[games], self._pair_starts[games] = np.arange(len(games)), ends - self.sizes
        if len(games) and ends[-1] > len(self.legal_actions):
            self.legal_actions, self.legal_values = self._pin_memory(new_legal_actions(2 * int(ends[-1])))

    def encode_decisions(self, first: int, stop: int, scratch: RuleWorkspace) -> None:
        """Write the network inputs of the due decisions of games ``first..stop-1``, without holding the GIL."""
        indices = self._rows, self._pair_starts, self.against_rules
        slots, outputs = self.batch.slots, (self.decisions, self.legal_actions, self.legal_values)
        describe_decisions(first, stop, slots, *indices, self._memory, scratch, *outputs)

    def encoded_decisions(self) -> list[npt.NDArray[Any]]:
        """Return the output of :meth:`encode_decisions`: inputs, hand values, and legal actions with hand values."""
        count, pairs = len(self.sizes), int(self.sizes.sum())
        decisions = [part[:count] for part in self.decisions]
        return [*decisions, self.legal_actions[:pairs], self.legal_values[:pairs]]

    def set_actions(self, actions: npt.NDArray[np.int64]) -> None:
        """Set every game's next action: the learner's, a named opponent's, or the only legal action.

        Args:
            actions: In the order of the decisions, shape ``[decisions]``, integers.
        """
        _order_first_actions(self.batch.slots)
        chosen = self.batch.slots.games["action"]
        chosen[np.concatenate([self.learner_games, self.past_self_games])] = actions
        for number, agent in enumerate(self.agents, 1):
            games = np.flatnonzero(self.opponent_turns & (self.opponent_ids == number))
            if len(games):  # forced stages too: the first says which kickers follow
                chosen[games] = agent.choose_actions(games)

    def play(self, first: int, stop: int) -> None:
        """Play the chosen actions in the games ``first..stop-1``, in a kernel that runs without the GIL."""
        step_games(first, stop, self.batch.slots)

    def record_actors(self, played: RecordedSteps, step: int, first_row: int) -> None:
        """Record who acts in each game before actions are played, numbering decisions from ``first_row``."""
        batch = self.batch
        played.seats[step], played.roles[step] = batch.seat, batch.role
        played.begins[step] = batch.observation[:, _KICKER_STAGE] == 0
        played.rows[step] = -1
        played.rows[step, self.learner_games] = first_row + np.arange(len(self.learner_games))

    def record_results(self, played: RecordedSteps, step: int) -> None:
        """Record rewards and ends of games after a step, and draw who plays which side in the next games."""
        batch, done = self.batch, self.batch.done
        seats, roles = (part[step].astype(np.int64) for part in (played.seats, played.roles))
        landlords = np.where(roles == NO_ROLE, -1, (seats - roles) % batch.rules.players)
        rewards = batch.slots.returns
        played.rewards[step] = share_rewards_by_side(rewards, landlords, batch.rules.players, self.config.objective)
        played.done[step] = done
        batch.place_custom_deals(done.nonzero()[0])
        self._draw_sides(done)

    def _draw_sides(self, begun: BoolArray) -> None:
        count = int(begun.sum())
        draws = self.rng.random(count)
        sides = self.rng.integers(LANDLORD_SIDE, PEASANT_SIDE + 1, count)
        if self.config.learner_side in _LEARNER_SIDES:
            sides[:] = _LEARNER_SIDES[self.config.learner_side]
        sided = draws < self._edges[-1] + self.config.opponent_share
        self.sides[begun] = np.where(sided, sides, NO_SIDE)
        agents = np.searchsorted(self._edges, draws, side="right")
        self.opponent_ids[begun] = np.where(draws < self._edges[-1], agents + 1, 0)

    def state_dict(self) -> dict[str, Any]:
        """Return the games' state for :meth:`load_state_dict`: the batch, the side assignments and generators."""
        state: dict[str, Any] = {"sides": self.sides.copy(), "named": self.opponent_ids.copy()}
        generators = {"generator": self.rng, "agents_generator": self._agents_rng}
        state |= {name: generator.bit_generator.state for name, generator in generators.items()}
        for number, agent in enumerate(self.agents):
            state |= {f"agent.{number}.{name}": array for name, array in agent.state_dict().items()}
        return {**self.batch.state_dict(), **state}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore the games from the result of :meth:`state_dict`.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        """
        missing = [name for name in ("generator", "agents_generator", "sides", "named") if name not in saved]
        if missing:
            raise InvalidOptionError(
                f"the saved games lack {', '.join(missing)}, as those of an older version do: begin a new run"
            )
        self.batch.load_state_dict(saved)
        for number, agent in enumerate(self.agents):
            agent.load_state_dict(with_prefix_removed(f"agent.{number}.", saved))
        self.rng.bit_generator.state = saved["generator"]
        self._agents_rng.bit_generator.state = saved["agents_generator"]
        self.sides[:], self.opponent_ids[:] = saved["sides"], saved["named"]


def share_rewards_by_side(
    rewards: npt.NDArray[Any], landlords: npt.NDArray[np.int64], players: int, objective: str
) -> npt.NDArray[np.float32]:
    """Give each side one reward: the landlord's own reward, and its negative to every peasant.

    Args:
        rewards: Returns by seat, shape ``[envs, 3]``.
        landlords: The landlord's seat, shape ``[envs]``, integers; negative where there is none.
        players: How many seats.
        objective: ``win``, or ``stake``: the landlord's return is then divided by the number of its opponents.

    Returns:
        Shape ``[envs, 3]``, float32.

    Example:
        >>> share_rewards_by_side(np.array([[1.0, -0.5, -0.5]]), np.array([0]), 3, "win").tolist()
        [[1.0, -1.0, -1.0]]
        >>> share_rewards_by_side(np.array([[-4.0, 8.0, -4.0]]), np.array([1]), 3, "stake").tolist()
        [[-4.0, 4.0, -4.0]]
    """
    with_landlord = np.flatnonzero(landlords >= 0)
    landlord_rewards = np.zeros(len(rewards))
    landlord_rewards[with_landlord] = rewards[with_landlord, landlords[with_landlord]]
    if objective == "stake":
        landlord_rewards /= players - 1
    shared = np.stack([-landlord_rewards] * 3, axis=1)
    shared[with_landlord, landlords[with_landlord]] = landlord_rewards[with_landlord]
    shared[:, players:] = 0.0
    return shared.astype(np.float32)
