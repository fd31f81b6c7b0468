"""The PettingZoo environment: the AEC (agent–environment cycle) form of Dou Dizhu.

=============  ==================================================================================================
import         ``from ddz_env import dou_dizhu_v0``; ``dou_dizhu_v0.parallel_env(...)`` for the parallel API
agents         3 (two in Mini): ``player_0`` to ``player_2``, a landlord against two peasants
observation    ``Dict(observation: Box(int8, (512,)), action_mask: Box(0, 1, (400,), int8))``, what one seat may know
actions        ``Discrete(400)`` with a mask, in two stages: the main group, then its kickers
rewards        at the end: landlord ±1, each peasant ∓½; or stakes
state          ``Box(int8)``, every hand
rules          ``rules="standard"`` or another preset (:data:`ddz_env.PRESETS`)
=============  ==================================================================================================

    >>> from ddz_env import dou_dizhu_v0
    >>> env = dou_dizhu_v0.env()
    >>> env.reset(seed=1)
    >>> for agent in env.agent_iter():
    ...     observation, reward, termination, truncation, info = env.last()
    ...     if termination or truncation:
    ...         action = None
    ...     else:
    ...         action = env.action_space(agent).sample(observation["action_mask"])
    ...     env.step(action)

A move with kickers is several decisions of one agent: the main group, then each kicker.  Between them all rewards are
zero, and ``agent_selection`` stays.  Rewards come at the end of the game, and a learner that sums the rewards of
``last()`` gets each return exactly once.

Exactly one player decides at a time, and the next one depends on the action (a player who chooses kickers moves on), so
there is nothing to do in parallel.  :func:`parallel_env` is for libraries that take nothing but PettingZoo's parallel
interface: all agents see every step, and the action of the one that is to act counts.  For throughput step many games
at once with :class:`ddz_env.batch.SelfPlayBatch` or ``gymnasium.make_vec``.

Version history: v0, the first release; infos became numbers shortly before it (``infos="text"`` for words).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils import wrappers  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import turn_based_aec_to_parallel  # type: ignore[import-untyped]
from pettingzoo.utils.env_logger import EnvLogger  # type: ignore[import-untyped]

from ddz_env.core import observation
from ddz_env.core.actions import NUM_ACTIONS, check_action
from ddz_env.core.refusals import illegal_action_error
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.envs import outputs
from ddz_env.envs.games import GameBatch, check_position, draw_random_seed, state_from_options
from ddz_env.envs.stepping import ACT, BEGIN, ILLEGAL_REWARD, step_single_game
from ddz_env.support.checks import as_integer, check_number, check_seed
from ddz_env.support.errors import (
    DouDizhuError,
    GameOverError,
    IllegalMoveError,
    InvalidOptionError,
    unknown_name_message,
)
from ddz_env.support.options import Options, takes_options
from ddz_env.support.threads import GamesLock

__all__ = ["env", "parallel_env", "raw_env"]

Observation = dict[str, npt.NDArray[Any]]


def env(*, illegal_reward: float = ILLEGAL_REWARD, **options: Any) -> AECEnv[str, Observation, int | None]:
    """Make the PettingZoo environment, in a wrapper that ends the game at an illegal action.

    An illegal action ends the game: its player gets ``illegal_reward``, the others zero.  (There is no
    ``CaptureStdoutWrapper``: it is for environments that print, and ours returns its text.)

    Args:
        illegal_reward: Reward for an illegal action.
        **options: Those of :class:`raw_env`: ``rules``, ``render_mode``, ``scoring``, ``dtype``, ``observation_key``,
            ``mask_key`` and ``infos``.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If another option is unknown, or the reward is not a finite number.
    """
    return wrap_env(raw_env(**options), illegal_reward)


def parallel_env(**options: Any) -> ParallelEnv[str, Observation, int | None]:
    """Make the environment in PettingZoo's parallel form, as ``turn_based_aec_to_parallel(env(...))`` does.

    Every step takes an action of every agent and plays that of the agent that is to act; the others' are ignored.  That
    agent has the only mask with a non-zero entry, and after the first step its name is in every agent's
    ``info["active_agent"]``.  Rewards are those of the step; they come with the last one.

    Args:
        **options: Those of :func:`env`.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If another option is unknown.
    """
    return turn_based_aec_to_parallel(env(**options))


def wrap_env(
    game: AECEnv[str, Observation, int | None], illegal_reward: float = ILLEGAL_REWARD
) -> AECEnv[str, Observation, int | None]:
    """Wrap a raw environment as :func:`env` does, so that an illegal action ends the game.

    Args:
        game: ``raw_env`` or a wrapper of it.
        illegal_reward: Reward for an illegal action, which ends the game.

    Raises:
        InvalidOptionError: If the reward is not a finite number.
    """
    return _EndAtIllegalAction(game, check_number("illegal_reward", illegal_reward))


def _game_attribute(name: str) -> property:
    """Make a property that reads an attribute of the raw environment, past all wrappers in between.

    PettingZoo's wrappers look attributes up layer by layer, twenty times per step, which takes longer than everything
    else together.  Before ``reset`` the game has none, and the wrapper's own error follows.
    """
    return property(operator.attrgetter(f"game.{name}"))


class _EndAtIllegalAction(wrappers.OrderEnforcingWrapper):  # type: ignore[misc]  # untyped
    """A wrapper that, like PettingZoo's own, enforces the call order and ends the game at an illegal action."""

    agents = _game_attribute("agents")
    agent_selection = _game_attribute("agent_selection")
    rewards = _game_attribute("rewards")
    terminations = _game_attribute("terminations")
    truncations = _game_attribute("truncations")
    infos = _game_attribute("infos")
    _cumulative_rewards = _game_attribute("_cumulative_rewards")

    def __init__(self, env: AECEnv[str, Observation, int | None], illegal_reward: float) -> None:
        self.game, self._illegal_reward = env.unwrapped, illegal_reward
        super().__init__(env)

    def step(self, action: Any) -> None:
        try:
            super().step(action)
        except IllegalMoveError:
            self._end_game()

    def last(self, observe: bool = True) -> Any:
        if not hasattr(self.game, "agent_selection"):
            return super().last(observe)  # whose error says that reset comes first
        return self.env.last(observe)

    def _end_game(self) -> None:
        """End the game after an illegal action: its player gets the penalty, and the other players get zero."""
        EnvLogger.warn_on_illegal_move()
        game = self.game
        game._cumulative_rewards[game.agent_selection] = 0.0
        game.terminations = dict.fromkeys(game.agents, True)
        game.truncations = dict.fromkeys(game.agents, True)
        game.rewards = dict.fromkeys(game.agents, 0.0) | {game.agent_selection: self._illegal_reward}
        game._accumulate_rewards()

    def __str__(self) -> str:
        return str(self.env)


@dataclass(frozen=True)
class RawEnvOptions(Options):
    """The options of :class:`raw_env`, whose docstring describes them."""

    error: ClassVar[type[DouDizhuError]] = InvalidOptionError

    _: KW_ONLY
    rules: str | Rules = "standard"
    render_mode: str | None = None
    scoring: str | None = None
    dtype: Any = "int8"
    observation_key: str = "observation"
    mask_key: str = "action_mask"
    infos: str = "numbers"


class raw_env(AECEnv):  # type: ignore[misc]
    """The unwrapped environment, in which an illegal action raises an error and leaves the game unchanged.

    Observation of each agent: a dict of ``"observation"``, shape ``[OBSERVATION_SIZE]``, int8, by the table
    ``OBSERVATION`` of :mod:`ddz_env.core.observation`, and ``"action_mask"``, shape ``[400]``, int8: all zero unless it
    is the agent's turn.  ``state()`` is the whole game by the table ``STATE``.

    ``infos[agent]`` holds what the table ``INFOS`` of :mod:`ddz_env.envs.outputs` says, an ``np.int64`` under each key.

    Args:
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``; the rules' own by default.
        dtype: ``"int8"``, or ``"float32"``: observations and ``state()`` scaled to 0..1.
        observation_key: The vector's key in an observation.
        mask_key: The key of the mask of legal actions.
        infos: ``"numbers"``, which every library can stack, or ``"text"``.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If another option is unknown.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "dou_dizhu_v0",
        "is_parallelizable": False,
        "render_fps": 2,
        "render_modes": [*outputs.RENDER_MODES],
    }
    _infos: dict[str, dict[str, Any]]

    @takes_options(RawEnvOptions)
    def __init__(self, options: RawEnvOptions) -> None:
        super().__init__()
        self.rules = Rules.preset(options.rules)
        self.render_mode, self._screen = options.render_mode, outputs.Screen(options.render_mode)
        self.form = outputs.ObservationForm("dict", options.dtype, options.observation_key, options.mask_key)
        self._text = outputs.is_text_wanted(options.infos)
        self._games = GameBatch(
            1, self.rules, options.scoring, masks=True, observations=True, logs=True, infos=self.rules.players
        )
        self._bind_rows()
        self._lock = GamesLock()
        self._seed = draw_random_seed()
        self._number = 0
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: self.form.make_space() for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.state_space = self.form.make_box(observation.STATE)

    def _bind_rows(self) -> None:
        """Store references to the game's observation, mask and info arrays, to save their lookup in each step."""
        self._arrays = tuple(self._games.slots)
        self._observation_row, self._mask = self._games.observation[0], self._games.mask[0]
        self._numbers = list(self._games.slots.infos[0])

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._bind_rows()  # the rows of a copy are those of its own games

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent, the same object at every call.

        Raises:
            InvalidOptionError: If there is no such agent.
        """
        return self.observation_spaces[self.possible_agents[self._seat_of(agent)]]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the action space of an agent, the same object at every call.

        Raises:
            InvalidOptionError: If there is no such agent.
        """
        return self.action_spaces[self.possible_agents[self._seat_of(agent)]]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Deal a new game, from a seed or from given hands.

        Args:
            seed: Starts game 0 of this seed (``State.new(seed)``); without it the next game of the last seed.
            options: ``{"hands": [...], "bottom": ...}`` (or the same under ``"deal"``) deals these cards, as
                :meth:`State.from_hands <ddz_env.State.from_hands>`.

        Raises:
            InvalidOptionError: If an option is unknown.
            InvalidDealError: If the deal does not fit the rules or the seed is out of range.
        """
        chosen, number = (self._seed, self._number) if seed is None else (check_seed(seed), 0)
        state = state_from_options(options, self.rules, chosen)
        self._begin_game(State.new(chosen, self.rules, number) if state is None else state)
        self._seed = chosen
        self._number = number + 1

    def set_state(self, state: State) -> None:
        """Continue from a copy of a given position (:meth:`game_state` returns one) under the same rules.

        No agent has a reward yet; ``reset`` without a seed deals the game that would have come next.

        Raises:
            InvalidOptionError: If it is not a :class:`~ddz_env.State`, or its rules differ.
        """
        self._begin_game(check_position(state, self.rules))

    def _begin_game(self, state: State) -> None:
        """Start at a position: clear the rewards and end flags, and pay the returns if the game is already over."""
        self._games.set_game_state(0, state)
        self._run_order(BEGIN)
        self.beginning = object()  # one per game, by which players recognize it
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._select_agent()

    def step(self, action: Any) -> None:
        """Play the selected agent's action, which must be None once that agent's game has ended.

        One kernel (:func:`ddz_env.envs.stepping.step_single_game`) checks the action, plays it, and writes the next
        observation, mask and infos; then an agent is selected, and at the end of the game every agent gets its return.

        Raises:
            GameOverError: If no agent is left.
            InvalidMoveError: If the id does not exist.
            IllegalMoveError: If the action is not legal now.  The game is unchanged.
            ValueError: If a dead agent's action is not None (PettingZoo's contract).
        """
        try:
            agent = self.agent_selection
            over = self.terminations[agent]
        except (AttributeError, KeyError):  # not begun, or no agent is left
            raise GameOverError("no game is running: call reset first") from None
        if over:
            self._was_dead_step(action)
            return
        number = action if type(action) is int else as_integer(action)
        if number is None or not 0 <= number < NUM_ACTIONS or not self._run_order(ACT, number):
            state = self.game_state()
            raise illegal_action_error(state.seat, check_action(action), state.legal_actions())
        self._cumulative_rewards[agent] = 0.0
        self._select_agent()

    def _run_order(self, order: int, action: int = 0) -> bool:
        """Begin the game or play an action; return False and change nothing if the action is illegal."""
        lock = self._lock
        if not lock.acquire(False):
            raise lock.make_error()
        try:
            seat, over = step_single_game(order, action, self._arrays)
        finally:
            lock.release()
        if seat >= 0:
            self._acting_seat, self._over = seat, over
        return seat >= 0

    def _select_agent(self) -> None:
        """Select the agent to act; when the game has ended, add each agent's return to its reward."""
        self.agent_selection = self.possible_agents[self._acting_seat]
        self._infos = {}
        if self._over:
            for agent, value in zip(self.agents, self._games.slots.returns[0].tolist(), strict=False):
                self.rewards[agent] = value
                self.terminations[agent] = True
            self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """Return an agent's current observation and action mask, in new arrays.

        Args:
            agent: One of ``possible_agents``.

        Raises:
            InvalidOptionError: If there is no such agent.
        """
        seat = self._seat_of(agent)
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            return self.form.convert_observation(self._observation_row, self._mask)  # type: ignore[no-any-return]
        slots, words = self._games.slots, np.empty(observation.OBSERVATION_WORDS, np.uint64)
        observation.write_observation(slots.rows[0], slots.rings[0], slots.rules, np.uint64(seat), words)
        return self.form.convert_observation(words.view(np.int8), np.zeros_like(self._mask))  # type: ignore[no-any-return]

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return the observation, cumulative reward, termination, truncation and info of the selected agent.

        Args:
            observe: Whether the observation is wanted; without, it is None.
        """
        agent = self.agent_selection
        info = self._infos.get(agent) or self._make_info(agent)
        seen = self.observe(agent) if observe else None
        return seen, self._cumulative_rewards[agent], self.terminations[agent], self.truncations[agent], info

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The info dict of each agent, built on access."""
        if len(self._infos) != len(self.agents):
            self._infos = {agent: self._infos.get(agent) or self._make_info(agent) for agent in self.agents}
        return self._infos

    def _make_info(self, agent: str) -> dict[str, Any]:
        info = self._infos[agent] = outputs.make_info(self._numbers[self._seats[agent]].tolist(), text=self._text)
        return info

    def state(self) -> npt.NDArray[Any]:
        """Return the whole game, ``[STATE_SIZE]``, in the layout ``STATE`` of :mod:`ddz_env.core.observation`."""
        out = np.empty(observation.STATE_WORDS, np.uint64)
        observation.write_state(self.row, self._games.slots.rules, out)
        return self.form.convert_vector(out.view(np.int8), observation.STATE)

    @property
    def row(self) -> npt.NDArray[np.uint64]:
        """The game-state array, shape ``[32]``, uint64; changes to it are not checked."""
        row: npt.NDArray[np.uint64] = self._games.slots.rows[0]
        return row

    def game_state(self) -> State:
        """Return the game as an independent :class:`~ddz_env.State` that includes all hands."""
        return self._games.state(0)

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Draw the table as text (``ansi``), as a picture (``rgb_array``) or in a window (``human``)."""
        return self._screen.show(self.game_state(), self.metadata["render_fps"])  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the window if one is open."""
        self._screen.close()

    def _seat_of(self, agent: str) -> int:
        try:
            return self._seats[agent]
        except (KeyError, TypeError):
            raise InvalidOptionError(unknown_name_message("agent", agent, self.possible_agents)) from None
