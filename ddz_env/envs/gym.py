"""Gymnasium environments with one learner against opponents that play inside ``step``.

    >>> import gymnasium, ddz_env
    >>> env = gymnasium.make("ddz_env/DouDizhu-v0", opponents="random", role="landlord")
    >>> observation, info = env.reset(seed=1)
    >>> observation.dtype, int(env.unwrapped.action_masks().sum()) > 0
    (dtype('int8'), True)

The observation is a plain ``Box`` (int8, by the table ``OBSERVATION`` of :mod:`ddz_env.core.observation`).  Legal
actions come from ``action_masks()``, which is where Stable-Baselines3 looks, and are in ``info["action_mask"]``;
``observation="dict"`` puts them beside the observation.  The reward comes at the end of the game.

A game that is over offers action 0 and no other, so that a distribution over its mask exists.  If opponents end a game
before the learner could act (possible in the half-deck game), that action ends the episode and brings the reward.

Version history: v0, the first release; infos became numbers shortly before it (``infos="text"`` for words).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.envs import outputs
from ddz_env.envs.games import check_num_games
from ddz_env.envs.learner_games import LearnerGames
from ddz_env.envs.opponents import add_partner
from ddz_env.envs.outputs import RENDER_MODES, make_info
from ddz_env.envs.stepping import ILLEGAL_REWARD, INFO_WIDTH
from ddz_env.support import checks
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.errors import DouDizhuError, InvalidMoveError, InvalidOptionError, short_repr
from ddz_env.support.options import Options, takes_options
from ddz_env.support.threads import GamesLock, check_threads, exclusive

__all__ = ["DouDizhuEnv", "DouDizhuVectorEnv"]

ILLEGAL_ACTIONS = ("terminate", "raise")
_NO_LIMIT = 2**62
"""A limit that no game reaches: more steps than any has."""


@dataclass(frozen=True)
class LearnerOptions(Options):
    """The options of :class:`DouDizhuEnv`, whose docstring describes them."""

    error: ClassVar[type[DouDizhuError]] = InvalidOptionError

    rules: str | Rules = "standard"
    opponents: Any = "random"
    role: str = "random"
    scoring: str | None = None
    illegal_action: str = "terminate"
    render_mode: str | None = None
    observation: str = "vector"
    dtype: Any = "int8"
    observation_key: str = "observation"
    mask_key: str = "action_mask"
    infos: str = "numbers"
    partner: Any = None
    deals: Any = None
    illegal_reward: float = ILLEGAL_REWARD


@dataclass(frozen=True)
class _NumEnvsOption(Options):
    num_envs: int = 1


@dataclass(frozen=True)
class VectorOptions(LearnerOptions, _NumEnvsOption):
    """The options of :class:`DouDizhuVectorEnv`, whose docstring describes them."""

    _: KW_ONLY
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP
    max_episode_steps: int | None = None
    threads: int | None = None
    copy: bool = True


class _LearnerEnv(WritableAfterUnpickling):
    """The base class of both Gymnasium environments, which handles options, games and missing seeds.

    A seed comes from ``np_random``, as Gymnasium's users expect, for a game that never had one, and for all games after
    ``np_random`` was set.  Otherwise the next game of the last seed is dealt.
    """

    observation_space: Any
    action_space: Any
    np_random: Any
    _render_modes: tuple[str, ...] = RENDER_MODES

    def _make_games(self, options: LearnerOptions, count: int = 1, **settings: Any) -> None:
        """Make the games from the options; ``settings`` go to :class:`~ddz_env.envs.learner_games.LearnerGames`."""
        self._raises_on_illegal = (
            checks.check_choice("illegal_action", options.illegal_action, ILLEGAL_ACTIONS) == "raise"
        )
        self.render_mode, self._screen = options.render_mode, outputs.Screen(options.render_mode, self._render_modes)
        keys = options.observation_key, options.mask_key
        self.form = outputs.ObservationForm(options.observation, options.dtype, *keys)
        self._text = outputs.is_text_wanted(options.infos)
        self.observation_space, self.action_space = self.form.make_space(), spaces.Discrete(NUM_ACTIONS)
        opponents = add_partner(options.partner, options.opponents, options.role, Rules.preset(options.rules))
        game = options.rules, opponents, options.role, options.scoring
        settings |= {"log": options.render_mode is not None, "deals": options.deals}
        settings["illegal_reward"] = checks.check_number("illegal_reward", options.illegal_reward)
        self._games = LearnerGames(count, *game, **settings)
        self._all = np.ones(count, np.bool_)
        self._source: Any = None  # np_random as it was at the last reset
        self._lock = GamesLock()

    def _fill_in_seeds(self, seeds: list[int | None], chosen: npt.NDArray[np.bool_]) -> list[int | None]:
        """Return the seeds of the chosen games, drawing missing ones from ``np_random`` where they are needed."""
        was_set = self.np_random is not self._source
        without = np.array([seed is None for seed in seeds]) & chosen
        for index in np.flatnonzero(without & (was_set | ~self._games.seeded)).tolist():
            seeds[index] = self._draw_seed()
        self._source = self.np_random
        return seeds

    def _draw_seed(self) -> int:
        return int(self.np_random.integers(0, 2**64, dtype=np.uint64))

    def _render_game(self, index: int, fps: float) -> Any:
        """Render a game as its learner sees it, as text or as a picture."""
        return self._screen.show(self._games.state(index).view(int(self._games.slots.games["learner"][index])), fps)


class DouDizhuEnv(_LearnerEnv, gymnasium.Env[Any, "np.int64"]):
    """A Gymnasium environment with one learner, whose opponents play inside ``reset`` and ``step``.

    A move with kickers is several steps: the main group, then each kicker.

    Args:
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        opponents: What :func:`ddz_env.playing.registry.make_agent` takes (``"rules"``, ``"isuct:iterations=200"``,
            ``module:Class``, an object with ``act(view, rng) -> Move``), or a dict by role.
        role: ``"landlord"``, ``"peasant_down"``, ``"peasant_up"``, or ``"random"``: a seat is drawn for every game
            (with an auction this is the only choice).
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``; the rules' own by default.
        illegal_action: ``"terminate"``: an illegal action ends the game with ``illegal_reward`` and
            ``info["illegal"]``; ``"raise"``: it raises and leaves the game unchanged.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.  Pictures show what the learner may see.
        observation: ``"vector"``, or ``"dict"``: the vector and the mask of legal actions beside it.
        dtype: ``"int8"``, or ``"float32"``: scaled to 0..1.
        observation_key: The vector's key in the dict.
        mask_key: The mask's key in the dict.
        infos: ``"numbers"``, which every library can stack, or ``"text"``.
        partner: Who plays the other peasant where the role is a peasant's: anything that ``opponents`` takes, as
            an object that plays with the learner's weights.  By default it is one of the opponents.
        deals: Deals of your own instead of shuffled ones (:mod:`ddz_env.envs.deals`).
        illegal_reward: Reward for an illegal action.  Where stakes are scored, choose one below what a game can lose.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown, or an auction decides on the role.
        InvalidOptionError: If an option is unknown, or the learner's role has no partner.
        UnknownAgentError: If an opponent cannot be found.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [*RENDER_MODES], "render_fps": 2}  # type: ignore[misc]

    @takes_options(LearnerOptions)
    def __init__(self, options: LearnerOptions) -> None:
        self._make_games(options)

    @exclusive
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Deal a game, and let the opponents play until the learner must decide.

        Args:
            seed: Starts game 0 of this seed (the deal of ``State.new(seed)``); without it the next game of the last,
                or, for the first game and after ``np_random`` was set, of a seed that ``np_random`` draws.
            options: ``{"hands": [...], "bottom": ...}`` (or the same under ``"deal"``) deals these cards.

        Returns:
            The observation, shape ``[OBSERVATION_SIZE]``, and the info.

        Raises:
            InvalidOptionError: If a deal has unknown fields.
            InvalidDealError: If the deal does not fit the rules or the seed is out of range.
        """
        seed = None if seed is None else checks.check_seed(seed)
        super().reset(seed=seed)
        self._games.begin(self._all, self._fill_in_seeds([seed], self._all), options)
        return self._make_outputs()

    @exclusive
    def set_state(self, state: State, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Continue from a copy of a given position (:meth:`game_state` returns one) under the same rules.

        The opponents play until the learner must decide.  The learner has the seat of its role, and where the role is
        random it keeps its seat.

        Args:
            state: The position.
            seed: Of all that follows: the opponents' draws, and the games after this one.  Without it ``np_random``
                draws one, so that copies of a position can be played on differently.

        Returns:
            The observation and the info, as :meth:`reset`.

        Raises:
            InvalidOptionError: If it is not a :class:`~ddz_env.State`, or its rules differ.
            InvalidDealError: If the seed is out of range.
        """
        self._games.resume(self._all, state, self._draw_seed() if seed is None else seed)
        return self._make_outputs()

    def game_state(self) -> State:
        """Return the game as an independent :class:`~ddz_env.State` that includes hidden cards.

        Its ``history`` is complete where the moves are read (a render mode, opponents that choose game by game),
        and otherwise empty.
        """
        return self._games.state(0)

    @exclusive
    def step(self, action: np.int64 | int) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play one action of the learner's move (main group or kicker), then the opponents' replies.

        Returns:
            Observation, reward (0 until the game ends), terminated, truncated (always False), info.

        Raises:
            GameOverError: If no game is running.
            InvalidMoveError: If the action is not an integer.
            IllegalMoveError: If it is not legal and ``illegal_action="raise"``.  The game is unchanged.
        """
        if (number := checks.as_integer(action)) is None:
            raise InvalidMoveError(f"an action is one integer from 0 to {NUM_ACTIONS - 1}, not {short_repr(action)}")
        checked = self._games.check(np.asarray([number]), self._all, refuse=self._raises_on_illegal)
        self._games.step(checked, self._all)
        (ended,), (reward,), _ = self._games.get_outcome()
        observed, info = self._make_outputs()
        return observed, float(reward), bool(ended), False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the mask of legal actions, shape ``[400]``, bool; only action 0 is set when the game is over."""
        return np.asarray(self._games.mask[0], np.bool_)

    def _make_outputs(self) -> tuple[Any, dict[str, Any]]:
        """Make the learner's observation and info in new arrays, and redraw the window in human mode."""
        if self.render_mode == "human":
            self.render()
        slots, mask = self._games.slots, self._games.mask[0]
        info = make_info(slots.infos[0, 0].tolist(), text=self._text)
        info |= {"illegal": np.int64(slots.games["illegal"][0]), "action_mask": mask.copy()}
        return self.form.convert_observation(self._games.observation[0], mask), info

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Draw what the learner may see as text, as a picture or in a window, depending on the render mode."""
        return self._render_game(0, self.metadata["render_fps"])  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the window and the opponents."""
        self._screen.close()
        self._games.close()


class DouDizhuVectorEnv(_LearnerEnv, VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """A Gymnasium vector environment of many games, each with one learner, stepped by compiled code.

    Game ``i`` equals ``DouDizhuEnv`` step for step: ``reset(seed=s)`` seeds it with ``s + i``, as Gymnasium's own
    vector environments do.  There are three kinds of opponents, from fast to slow: ``random`` and ``random-staged`` run
    inside the compiled step; agents that offer ``act_many`` (``rules``, ``policy``) answer for all games that wait for
    them in one call; all others choose game by game.  One object plays in all games, so it must decide from the view
    alone: ``reset`` and ``observe`` are not called.

    Autoreset, declared in ``metadata["autoreset_mode"]``:

    - ``NEXT_STEP`` (default): the step after the end of a game ignores the action and returns the next game's first
      observation with reward 0.
    - ``SAME_STEP``: the step that ends a game already returns the next game's first observation; the last one is
      in ``infos["final_obs"]``, its infos in ``infos["final_info"]``.  A game that ends before its learner has decided
      anything (possible in the half-deck game) is passed over.
    - ``DISABLED``: call ``reset(options={"reset_mask": mask})``.

    ``infos`` holds what those of :class:`DouDizhuEnv` hold, stacked: shape ``[num_envs]``, of the mask
    ``[num_envs, 400]``.

    Args:
        num_envs: How many games.
        rules: This and the next twelve are the options of :class:`DouDizhuEnv`; ``render_mode`` is ``"ansi"`` or
            ``"rgb_array"``.
        autoreset_mode: One of Gymnasium's ``AutoresetMode``, or its value.
        max_episode_steps: After how many of its learner's steps a game is truncated, as by Gymnasium's ``TimeLimit``;
            None or -1 for never.
        threads: How many threads step, and call ``rules`` and ``policy``; None for one per core.  Results do not depend
            on it.
        copy: Whether observations and masks are the caller's own; without, every step overwrites them.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown, or an auction decides on the role.
        InvalidOptionError: If an option is unknown or out of range.
        UnknownAgentError: If an opponent cannot be found.
    """

    _render_modes = RENDER_MODES[:2]

    @takes_options(VectorOptions)
    def __init__(self, options: VectorOptions) -> None:
        if not isinstance(options.autoreset_mode, AutoresetMode):
            checks.check_choice("autoreset_mode", options.autoreset_mode, [mode.value for mode in AutoresetMode])
        self.num_envs = check_num_games("num_envs", options.num_envs)
        self.autoreset_mode = AutoresetMode(options.autoreset_mode)
        modes = {"render_modes": [*self._render_modes], "render_fps": 2}
        self.metadata = {**modes, "autoreset_mode": self.autoreset_mode}
        self._new_arrays = checks.check_flag("copy", options.copy)
        self._renews = self.autoreset_mode == AutoresetMode.SAME_STEP
        self._make_games(
            options,
            self.num_envs,
            threads=check_threads(options.threads),
            renews=self._renews,
            new_arrays=self._new_arrays,
        )
        self.single_observation_space, self.single_action_space = self.observation_space, self.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, np.bool_)
        self._elapsed_steps = np.zeros(self.num_envs, np.int64)
        self._max_steps = _NO_LIMIT
        limit = options.max_episode_steps
        if limit is not None and checks.as_integer(limit) != -1:
            self._max_steps = checks.check_integer("max_episode_steps", limit, 1, _NO_LIMIT)

    @exclusive
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal all games, or only the games selected by ``options["reset_mask"]``.

        Args:
            seed: Game ``i`` gets ``seed + i``, or the ``i``-th of a sequence; None continues with the next games, or,
                for first games and after ``np_random`` was set, with those of seeds that ``np_random`` draws.
            options: ``{"reset_mask": ...}``, shape ``[num_envs]``, bool; a deal as for :class:`DouDizhuEnv`.

        Returns:
            Observations of all games, shape ``[num_envs, OBSERVATION_SIZE]``, and infos, whose ``_key`` entries say
            which games were dealt.

        Raises:
            InvalidOptionError: If the mask, the number of seeds or a deal does not fit.
            InvalidDealError: If a seed is out of range.
        """
        seeds = self._list_seeds(seed)
        super().reset(seed=checks.as_integer(seed))
        chosen, deal_options = self._split_options(options)
        self._games.begin(chosen, self._fill_in_seeds(seeds, chosen), deal_options)
        self._ended[chosen] = False
        self._elapsed_steps[chosen] = 0
        return self._make_outputs(chosen)

    def _split_options(self, options: dict[str, Any] | None) -> tuple[npt.NDArray[np.bool_], dict[str, Any]]:
        if not isinstance(options, (Mapping, type(None))):
            raise InvalidOptionError(f"options of reset are a dict, not {short_repr(options)}")
        deal_options = dict(options or {})
        chosen = deal_options.pop("reset_mask", self._all)
        mask = checks.as_array(chosen)
        if mask is None or mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            expected = f"bool of shape [{self.num_envs}] with at least one True"
            raise InvalidOptionError(f"reset_mask must be {expected}, not {checks.describe_array(chosen)}")
        return mask, deal_options

    def _list_seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (list, tuple, range)) or (isinstance(seed, np.ndarray) and seed.ndim == 1):
            seeds: list[int | None] = [None if entry is None else checks.check_seed(entry) for entry in seed]
            if len(seeds) != self.num_envs:
                raise InvalidOptionError(f"reset needs one seed per game: got {len(seeds)} for {self.num_envs} games")
            return seeds
        first = checks.check_seed(seed)
        return list(range(first, first + self.num_envs))

    @exclusive
    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Play one action in every game, with the opponents' replies, and reset ended games by the autoreset mode.

        Args:
            actions: Action ids, shape ``[num_envs]``, any integer type.

        Returns:
            Observations ``[num_envs, OBSERVATION_SIZE]``, rewards ``[num_envs]`` float64, terminations and
            truncations (by ``max_episode_steps``) ``[num_envs]`` bool, infos.

        Raises:
            GameOverError: If a game is over and autoreset is disabled, or nothing has been dealt.
            InvalidMoveError: If the actions are not integers of that shape.
            IllegalMoveError: If one is not legal and ``illegal_action="raise"``.  No game has changed.
        """
        played = ~self._ended if self.autoreset_mode == AutoresetMode.NEXT_STEP else self._all
        checked = self._games.check(actions, played, refuse=self._raises_on_illegal)
        self._games.step(checked, played)
        ended, rewards, illegal = self._games.get_outcome()
        truncated = np.zeros(self.num_envs, np.bool_)
        if self._max_steps < _NO_LIMIT:
            self._elapsed_steps = np.where(played, self._elapsed_steps + 1, 0)
            truncated = self._elapsed_steps >= self._max_steps
        self._ended, cut = ended | truncated, truncated & ~ended
        final: dict[str, Any] = {}
        if self._renews and self._ended.any():
            left = cut if self._games.renews else self._ended  # what still shows its last position
            final = self._make_final_infos(ended, left, illegal)
            self._elapsed_steps[self._ended] = 0
            if left.any():
                self._games.begin(left)
        observed, infos = self._make_outputs()
        return observed, rewards, ended, truncated, infos | final

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the masks of legal actions, ``[num_envs, 400]``, bool; only action 0 is set where a game is over."""
        bits = self._games.slots.bits.view(np.uint8)
        return np.unpackbits(bits, axis=1, count=NUM_ACTIONS, bitorder="little").view(np.bool_)

    def _make_outputs(self, dealt: npt.NDArray[np.bool_] | None = None) -> tuple[Any, dict[str, Any]]:
        """Make the observations and infos of all games; ``dealt`` selects the games whose infos count as valid."""
        games, slots = self._games, self._games.slots
        values, masks = games.learner_outputs
        if self.form.scaled:
            values = self.form.convert_vector(values, OBSERVATION)
        present = (self._all if dealt is None else dealt).copy()
        # Where the step that ends a game deals the next one, no game that is shown has ended by an illegal action.
        illegal = np.zeros(self.num_envs, np.int64) if self._renews else slots.games["illegal"].astype(np.int64)
        infos = self._stack_infos(present, slots.infos[:, 0].T.copy(), illegal, masks)
        return self.form.make_observation(values, masks), infos

    def _stack_infos(
        self, present: npt.NDArray[np.bool_], written: Any, illegal: Any, masks: npt.NDArray[np.int8]
    ) -> dict[str, Any]:
        """Stack infos in Gymnasium's form: an array for each key, and a validity mask under ``_key``."""
        columns: dict[str, Any] = dict(zip(outputs.KEYS, written, strict=False))
        if self._text:
            texts = [make_info(numbers, text=True) for numbers in written.T.tolist()]
            columns = {"seat": columns["seat"]}
            for key in outputs.TEXT_KEYS[1:]:
                columns[key] = np.array([info[key] for info in texts], object)
                columns[key][~present] = None
        columns |= {"illegal": illegal, "action_mask": masks}
        return columns | dict.fromkeys(map("_".__add__, columns), present)

    def _make_final_infos(
        self, ended: npt.NDArray[np.bool_], left: npt.NDArray[np.bool_], illegal: Any
    ) -> dict[str, Any]:
        """Make the final observations and infos of games that have just ended, in Gymnasium's form."""
        slots, over = self._games.slots, self._ended
        (indices,) = over.nonzero()
        masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        masks[indices, 0] = 1
        if left.any():
            vectors, masks[left] = (part[left] for part in self._games.learner_outputs)
            slots.last_observations[left], slots.last_infos[left] = vectors, slots.infos[left, 0]
        last_seen = self.form.convert_vector(slots.last_observations[indices], OBSERVATION)
        observations = np.empty(self.num_envs, object)  # of None
        observations[indices] = np.fromiter(
            self.form.make_observations(last_seen, masks[indices]), object, len(indices)
        )
        written = np.zeros((INFO_WIDTH, self.num_envs), np.int64)
        written[:, indices] = slots.last_infos[indices].T
        info = self._stack_infos(over.copy(), written, (illegal & ended).astype(np.int64), masks)
        return {"final_obs": observations, "_final_obs": over.copy(), "final_info": info, "_final_info": over.copy()}

    def render(self) -> tuple[Any, ...] | None:
        """Render every game as its learner sees it, as text or as a picture."""
        return tuple(self._render_game(index, 0) for index in range(self.num_envs)) if self.render_mode else None

    def close_extras(self, **kwargs: Any) -> None:
        """Close the opponents when Gymnasium closes the environment."""
        self._games.close()
