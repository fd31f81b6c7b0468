"""Games with one learner each whose opponents answer in batches, as a Gymnasium vector environment.

:class:`~ddz_env.gym.DouDizhuVectorEnv` plays ``random`` inside its compiled step and asks other opponents game by game.
Here the opponents are one :class:`~training.sb3.players.Player`: while any game waits for an opponent, all of those
are answered in one call, stage by stage, and played on in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ddz_env.actions import NUM_ACTIONS
from ddz_env.batch import Slots, begin_game, check_actions, check_count, first_illegal, refuse_action, show_game
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.layout import LANDLORD, NO_SEAT, STAGE, STAGE_OVER
from ddz_env.engine.random import advance, below, key, mix
from ddz_env.engine.score import write_returns
from ddz_env.engine.step import apply_and_record
from ddz_env.errors import InvalidOptionError
from ddz_env.learner import RANDOM_ROLE, check_role
from ddz_env.observation import OBSERVATION, OBSERVATION_WORDS, write_observation, mask_bytes
from ddz_env.rules import R_PLAYERS, Rules
from ddz_env.state import game_key
from ddz_env.stepping import choose_scoring, random_seed
from ddz_env.threads import run_chunks, usable_threads
from training.sb3.players import Player

_SEAT_STREAM = np.uint64(0x4F50504F4E454E54)
"""The stream from which :mod:`ddz_env.learner` draws the learner's seat: a seed means the same games to both."""

_NO_SEAT = np.uint64(NO_SEAT)
_STAGE_OVER = np.uint64(STAGE_OVER)
_ONE = np.uint64(1)


class Learners(NamedTuple):
    """What a batch of ``n`` games knows of its learners, as kernels take it.

    Attributes:
        seeds: Seed of each slot, shape ``[n]``, uint64.
        seats: The learner's seat, shape ``[n]``, int8.
        decided: Whether it has decided anything in this game, shape ``[n]``, bool.
        ended: Whether its game has ended since this was cleared, shape ``[n]``, bool.
        returns: All seats' returns of that game, shape ``[n, 3]``, float64.
        rewards: The learner's, shape ``[n]``, float64.
        final: What it saw at the end, shape ``[n, OBSERVATION_WORDS]``, uint64.
    """

    seeds: Any
    seats: Any
    decided: Any
    ended: Any
    returns: Any
    rewards: Any
    final: Any

    @classmethod
    def allocate(cls, n: int) -> Learners:
        """Zeroed arrays for ``n`` games."""
        return cls(
            seeds=np.zeros(n, np.uint64),
            seats=np.zeros(n, np.int8),
            decided=np.zeros(n, np.bool_),
            ended=np.zeros(n, np.bool_),
            returns=np.zeros((n, 3), np.float64),
            rewards=np.zeros(n, np.float64),
            final=np.zeros((n, OBSERVATION_WORDS), np.uint64),
        )


class Terms(NamedTuple):
    """What stays the same, as kernels take it.

    Attributes:
        rules: The rules array, shape ``[16]``, uint64.
        role: The learner's role 0..2, or ``RANDOM_ROLE``.
        scoring: The engine's number of the scoring.
        peasant_reward: See :class:`~ddz_env.Rules`.
    """

    rules: Any
    role: int
    scoring: int
    peasant_reward: float


@pure_kernel
def deal_slot(index: int, slots: Slots, learners: Learners, terms: Terms) -> None:
    """Deal a slot's game (``slots.games`` says which of its seed) and choose the learner's seat."""
    row, rules = slots.rows[index], terms.rules
    begin_game(row, slots.rings[index], learners.seeds[index], slots.games[index], rules)
    learners.decided[index] = False
    if terms.role == RANDOM_ROLE or row[LANDLORD] == _NO_SEAT:
        bits = mix(advance(key(learners.seeds[index] ^ _SEAT_STREAM, slots.games[index])))
        learners.seats[index] = np.int8(below(bits, rules[R_PLAYERS]))
    else:
        learners.seats[index] = np.int8((row[LANDLORD] + np.uint64(terms.role)) % rules[R_PLAYERS])


@pure_kernel
def deal_range(first: int, stop: int, slots: Slots, learners: Learners, terms: Terms) -> None:
    """Deal the games ``first..stop-1``."""
    for index in range(first, stop):
        deal_slot(index, slots, learners, terms)
        show_game(index, slots, terms.rules)


@pure_kernel
def end_game(index: int, slots: Slots, learners: Learners, terms: Terms) -> None:
    """Note what a finished game was to its learner; nothing if the learner has decided nothing in it."""
    if not learners.decided[index]:
        return
    row, seat, returns = slots.rows[index], learners.seats[index], learners.returns[index]
    write_returns(row, terms.rules, terms.scoring, terms.peasant_reward, returns)
    write_observation(row, slots.rings[index], terms.rules, np.uint64(seat), learners.final[index])
    learners.rewards[index] = returns[seat]
    learners.ended[index] = True


@pure_kernel
def play_range(
    first: int,
    stop: int,
    games: np.ndarray,
    actions: np.ndarray,
    slots: Slots,
    learners: Learners,
    terms: Terms,
) -> None:
    """Play a legal action in each of the games ``games[first:stop]``; a game that it ends is dealt anew.

    Args:
        first: The first place.
        stop: The end.
        games: The games, shape ``[k]``, int64.
        actions: Their actions, shape ``[k]``, int64.
        slots: The batch.
        learners: Its learners.
        terms: What stays the same.
    """
    for place in range(first, stop):
        index = games[place]
        row = slots.rows[index]
        learners.decided[index] |= slots.seats[index] == learners.seats[index]
        apply_and_record(row, slots.rings[index], np.uint64(actions[place]), terms.rules)
        if row[STAGE] == _STAGE_OVER:
            end_game(index, slots, learners, terms)
            slots.games[index] += _ONE
            deal_slot(index, slots, learners, terms)
        show_game(index, slots, terms.rules)


class SeatedVectorEnv(VectorEnv[npt.NDArray[np.int8], npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Many games for one learner, against opponents that answer in batches.

    As :class:`~ddz_env.gym.DouDizhuVectorEnv` with ``autoreset_mode="SameStep"`` and ``illegal_action="raise"``: slot
    ``i`` of ``reset(seed=s)`` plays the games of the seed ``s + i``.  A game that ends before its learner has decided
    anything (possible in the half-deck game) is passed over.

    Args:
        num_envs: How many games.
        player: Plays the opponents.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        role: ``"landlord"``, ``"peasant_down"``, ``"peasant_up"`` or ``"random"``.
        scoring: The rules' own by default.
        threads: How many threads step; None for one a core.  Results do not depend on it.

    Raises:
        InvalidRulesError: If preset, scoring or role does not exist under the rules.
        InvalidOptionError: If an option is out of range.
    """

    def __init__(
        self,
        num_envs: int,
        player: Player,
        rules: str | Rules = "standard",
        role: str = "random",
        scoring: str | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.num_envs = check_count("num_envs", num_envs)
        self.rules = Rules.preset(rules)
        self.player = player
        self.render_mode = None
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = spaces.Box(OBSERVATION.low, OBSERVATION.high, dtype=np.int8)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._terms = Terms(
            self.rules.words(),
            check_role(role, self.rules),
            choose_scoring(self.rules, scoring),
            self.rules.peasant_reward,
        )
        self._threads = usable_threads(threads)
        self._all = np.arange(self.num_envs)
        self._slots = Slots.allocate(self.num_envs)
        self._observations: npt.NDArray[np.int8] = self._slots.observations.view(np.int8)
        self._masks: npt.NDArray[np.int8] = mask_bytes(self._slots.masks)
        self._learners = Learners.allocate(self.num_envs)
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.int8], dict[str, Any]]:
        """Deal all games, and let the opponents play until every learner must decide.

        Args:
            seed: Slot ``i`` gets ``seed + i``, or the ``i``-th of a sequence; None continues with the next games.
            options: There are none.

        Returns:
            Observations, shape ``[num_envs, OBSERVATION_SIZE]``, int8, and infos.

        Raises:
            InvalidOptionError: If there are options, or the number of seeds does not fit.
            InvalidDealError: If a seed is out of range.
        """
        if options:
            raise InvalidOptionError(f"these games take no options, not {', '.join(map(repr, options))}")
        seeds = self._new_seeds(seed)
        self._slots.games[:] += _ONE
        for index, value in enumerate(seeds):
            if value is None and self._begun:
                continue
            self._learners.seeds[index] = np.uint64(random_seed() if value is None else value)
            self._slots.games[index] = np.uint64(0)
        self._begun = True
        run_chunks(deal_range, self.num_envs, self._threads, self._slots, self._learners, self._terms)
        self._play_opponents()
        return self._observations.copy(), {"action_mask": self._masks.copy()}

    def _new_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        seeds: list[int | None] = list(range(seed, seed + self.num_envs)) if isinstance(seed, int) else list(seed)
        if len(seeds) != self.num_envs:
            raise InvalidOptionError(f"{len(seeds)} seeds for {self.num_envs} games")
        for value in seeds:
            if value is not None:
                game_key(value)  # refuses a seed out of range
        return seeds

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Play the learners' actions, and the opponents' until every learner must decide again.

        Args:
            actions: Action ids, shape ``[num_envs]``, any integer type.

        Returns:
            Observations ``[num_envs, OBSERVATION_SIZE]`` int8, rewards ``[num_envs]`` float64, terminations and
            truncations ``[num_envs]`` bool, infos (``final_obs`` as in Gymnasium).

        Raises:
            InvalidOptionError: If nothing has been dealt.
            InvalidMoveError: If the actions are not integers of that shape, or an id does not exist.
            IllegalMoveError: If an action is not legal.  No game has changed.
        """
        if not self._begun:
            raise InvalidOptionError("no games are running: call reset first")
        played = check_actions(actions, self.num_envs)
        wrong = int(first_illegal(played, self._slots.bits))
        if wrong >= 0:
            refuse_action(f"game {wrong}", int(played[wrong]), np.flatnonzero(self._masks[wrong]).tolist())
        self._learners.ended[:] = False
        self._learners.rewards[:] = 0.0
        self._play(self._all, played)
        self._play_opponents()
        ended, rewards = self._learners.ended.copy(), self._learners.rewards.copy()
        infos: dict[str, Any] = {"action_mask": self._masks.copy()}
        if ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(ended).tolist():
                final[index] = self._learners.final[index].view(np.int8).copy()
            infos |= {"final_obs": final, "_final_obs": ended.copy()}
        return self._observations.copy(), rewards, ended, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions, shape ``[num_envs, 400]``, bool."""
        return np.asarray(self._masks, np.bool_)

    def _play_opponents(self) -> None:
        """Ask for the opponents' actions until every game waits for its learner."""
        slots = self._slots
        while True:
            games = np.flatnonzero(slots.seats != self._learners.seats)
            if not len(games):
                return
            actions = self.player.actions(games, slots.rows[games], self._observations[games], self._masks[games])
            self._play(games, actions)

    def _play(self, games: npt.NDArray[np.intp], actions: npt.NDArray[np.int64]) -> None:
        run_chunks(play_range, len(games), self._threads, games, actions, self._slots, self._learners, self._terms)
