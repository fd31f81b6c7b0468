"""The vector environment equals the single one step for step, in every autoreset mode."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from ddz_agents.random import RandomAgent
from ddz_env import Move, State, View
from ddz_env.core.observation import OBSERVATION
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv
from ddz_env.playing.many import WaitingGames, has_act_many
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import GameOverError, IllegalMoveError, InvalidMoveError, InvalidOptionError

N = 7


def short_deal(rng: np.random.Generator, number: int) -> State:
    """An endgame of up to three cards each, which an opponent may end before the learner acts."""
    cards = "".join(rng.choice(list("3456789TJQKA2"), 9, replace=False))
    hands = [cards[first : first + int(rng.integers(1, 4))] for first in (0, 3, 6)]
    return State.from_hands(hands, check_sizes=False)


ID = "ddz_env/DouDizhu-v0"
SETTINGS: dict[str, dict[str, Any]] = {
    "landlord": {"role": "landlord", "scoring": "stake"},
    "staged": {"role": "random", "opponents": "random-staged"},
    "bidding": {"rules": "bidding"},
    "mini": {"rules": "mini", "role": "peasant_down"},
    "half-deck": {"rules": "half-deck", "scoring": "botzone"},
    "python": {"opponents": RandomAgent(), "role": "peasant_up"},
    "dict": {"observation": "dict", "observation_key": "obs", "mask_key": "mask", "role": "landlord"},
    "scaled": {"dtype": "float32", "infos": "text", "rules": "bidding"},
    "scaled dict": {"dtype": "float32", "observation": "dict", "rules": "mini"},
    "own deals": {"deals": short_deal},
    "mixed": {"opponents": {"landlord": "random", "peasant_down": RandomAgent()}, "role": "peasant_up"},
}
EARLY: dict[str, Any] = {"hands": ["33", "4", "5"], "check_sizes": False}
"""The landlord goes out at once."""
BEFORE_IT: dict[str, Any] = {"opponents": "rules", "role": "peasant_up"}


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([int(rng.choice(np.flatnonzero(mask))) for mask in masks])


def assert_same(ours: Any, theirs: Any) -> None:
    """Equal arrays, or dicts and lists of them, to the key and the dtype."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        ours, theirs = ours.values(), [theirs[key] for key in ours]
    elif isinstance(ours, np.ndarray) and ours.dtype != object:
        assert ours.dtype == theirs.dtype
        assert (ours == theirs).all()
        return
    elif not isinstance(ours, (list, tuple, np.ndarray)):
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_equals_gymnasium_s_vector_of_single_environments(setting: dict[str, Any], mode: AutoresetMode) -> None:
    vector = DouDizhuVectorEnv(N, **setting, autoreset_mode=mode, threads=2)
    singles: Any = SyncVectorEnv([lambda: DouDizhuEnv(**setting)] * N, autoreset_mode=mode)
    assert vector.metadata["autoreset_mode"] == mode
    assert vector.observation_space == singles.observation_space
    assert vector.action_space == singles.action_space
    ours, our_infos = vector.reset(seed=3)
    theirs, their_infos = singles.reset(seed=3)
    assert ours in vector.observation_space
    assert_same([ours, our_infos], [theirs, their_infos])
    rng = np.random.default_rng(5)
    ended = 0
    for _ in range(150):
        masks = vector.action_masks()
        actions = choose(masks, rng)
        for index in np.flatnonzero(rng.random(N) < 0.01):
            actions[index] = 399  # illegal in play
        *ours, our_infos = vector.step(actions)
        *theirs, their_infos = singles.step(actions)
        assert_same([*ours, our_infos], [*theirs, their_infos])
        ended += int(ours[2].sum())
    assert ended > 2 * N


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_episodes_are_cut_off_as_by_gymnasium_s_time_limit(mode: AutoresetMode) -> None:
    """Also what a partial reset says: of which games its infos are."""
    options: dict[str, Any] = {"rules": "mini", "max_episode_steps": 5}
    vector: Any = gymnasium.make_vec(ID, num_envs=N, **options, autoreset_mode=mode)
    singles: Any = SyncVectorEnv([lambda: gymnasium.make(ID, **options)] * N, autoreset_mode=mode)
    assert_same(list(vector.reset(seed=3)), list(singles.reset(seed=3)))
    rng, cut, ended = np.random.default_rng(5), 0, 0
    for _ in range(60):
        actions = choose(vector.action_masks(), rng)
        ours, theirs = vector.step(actions), singles.step(actions)
        assert_same(list(ours), list(theirs))
        cut, ended = cut + int(ours[3].sum()), ended + int(ours[2].sum())
        over = ours[2] | ours[3]
        if mode == AutoresetMode.DISABLED and over.any():
            (seen, told), (their_seen, their_told) = (
                env.reset(options={"reset_mask": over}) for env in (vector, singles)
            )
            assert (seen[over] == their_seen[over]).all()
            assert told.keys() == their_told.keys()
            for key, value in told.items():
                assert (value[over] == their_told[key][over]).all(), key
                assert not key.startswith("_") or (value == over).all()
    assert cut > 0
    assert ended > 0


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_infos_hold_the_same_numbers_from_the_first_step_on(mode: AutoresetMode) -> None:
    vector = DouDizhuVectorEnv(N, rules="mini", autoreset_mode=mode)
    _, infos = vector.reset(seed=1)
    shapes = {key: (value.shape, value.dtype) for key, value in infos.items()}
    rng, finals = np.random.default_rng(1), 0
    for _ in range(60):
        _, _, ended, _, infos = vector.step(choose(infos["action_mask"], rng))
        if "final_info" in infos:
            finals += 1
            assert not any(np.shares_memory(ended, value) for value in infos["final_info"].values())
            assert {key: (value.shape, value.dtype) for key, value in infos.pop("final_info").items()} == shapes
            for key in ("final_obs", "_final_obs", "_final_info"):
                del infos[key]
        assert {key: (value.shape, value.dtype) for key, value in infos.items()} == shapes
        assert infos["action_mask"].any(axis=1).all()  # a distribution over the legal actions always exists
        if mode == AutoresetMode.DISABLED and ended.any():
            _, infos = vector.reset(options={"reset_mask": ended})
    assert (finals > 0) == (mode == AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_a_game_that_ends_before_the_learner_may_act_is_an_episode_of_one_step(mode: str) -> None:
    single = DouDizhuEnv(**BEFORE_IT)
    _, info = single.reset(options=EARLY)
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]
    assert single.step(0)[1:3] == (-0.5, True)
    with pytest.raises(GameOverError, match="call reset"):
        single.step(0)
    vector = DouDizhuVectorEnv(2, **BEFORE_IT, autoreset_mode=mode)
    vector.reset(seed=3, options=EARLY)
    assert (vector.action_masks().sum(axis=1) == 1).all()
    _, rewards, ended, _, infos = vector.step(np.array([0, 399]))
    assert rewards.tolist() == [-0.5, -0.5]
    assert ended.tolist() == [True, True]
    assert infos["illegal"].tolist() == [0, 0]  # an action for a finished game is ignored
    skipping = DouDizhuVectorEnv(2, **BEFORE_IT, autoreset_mode="SameStep")  # passes over such games
    observations, _ = skipping.reset(seed=3, options=EARLY)
    assert not any(OBSERVATION.split(observation)["over"].any() for observation in observations)
    assert (observations == vector.reset()[0]).all()  # the next game of the seed


@pytest.mark.parametrize(("opponents", "steps"), [("random", 60), ("rules", 10), ("policy", 4)])
def test_threads_and_numbers_of_games_do_not_matter(opponents: str, steps: int) -> None:
    many, few = (DouDizhuVectorEnv(n, opponents=opponents, threads=threads) for n, threads in ((400, 3), (200, 1)))
    rng = np.random.default_rng(5)
    one, two = many.reset(seed=3), few.reset(seed=3)
    for _ in range(steps):
        assert (one[0][:200] == two[0]).all()
        actions = choose(many.action_masks(), rng)
        one, two = many.step(actions), few.step(actions[:200])
        assert (one[1][:200] == two[1]).all()


def test_made_by_gymnasium() -> None:
    for mode in (None, "vector_entry_point"):
        vector: Any = gymnasium.make_vec(ID, num_envs=4, vectorization_mode=mode, role="landlord", render_mode="ansi")
        assert isinstance(vector, DouDizhuVectorEnv)
        observations, infos = vector.reset(seed=1)
        assert observations in vector.observation_space
        assert infos["action_mask"].shape == vector.action_masks().shape == (4, 400)
        assert [type(picture) for picture in vector.render()] == [str] * 4
        vector.close()
    singles = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", rules="mini")
    endless = gymnasium.make_vec(ID, num_envs=2, rules="mini", max_episode_steps=-1)
    assert singles.reset(seed=1)[0].shape == endless.reset(seed=1)[0].shape == (2, 512)
    assert DouDizhuVectorEnv(2).render() is None


def test_disabled_autoreset_and_reset_masks() -> None:
    vector, rng = DouDizhuVectorEnv(N, role="landlord", autoreset_mode="Disabled"), np.random.default_rng(5)
    vector.reset(seed=3)
    ended = np.zeros(N, np.bool_)
    while not ended.any():
        observations, _, ended, _, _ = vector.step(choose(vector.action_masks(), rng))
    with pytest.raises(GameOverError, match="is over: call reset"):
        vector.step(choose(vector.action_masks(), rng))
    fresh, _ = vector.reset(options={"reset_mask": ended})
    assert (fresh[~ended] == observations[~ended]).all()
    vector.step(choose(vector.action_masks(), rng))
    for wrong in (np.zeros(N, np.bool_), np.ones(N - 1, np.bool_), np.ones(N)):
        with pytest.raises(InvalidOptionError, match="reset_mask"):
            vector.reset(options={"reset_mask": wrong})


def test_seeds() -> None:
    vector = DouDizhuVectorEnv(3)
    seeds = (10, [10, 11, 12], None, [10, None, 12])
    one, two, three, mixed = (vector.reset(seed=seed)[0] for seed in seeds)
    assert (one == two).all()
    assert (three != two).any()
    assert (mixed[[0, 2]] == one[[0, 2]]).all()
    assert (mixed[1] != one[1]).any()
    with pytest.raises(InvalidOptionError, match="got 2 for 3 games"):
        vector.reset(seed=[1, 2])
    fresh = [DouDizhuVectorEnv(2).reset()[0] for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()  # unseeded


@pytest.mark.parametrize("make", [DouDizhuEnv, functools.partial(DouDizhuVectorEnv, 2)], ids=["single", "vector"])
def test_games_without_a_seed_get_theirs_from_np_random(make: Any) -> None:
    """And those that have one do not: the next game of a seed is what it was."""
    first, second, seeded = make(), make(), make()
    seeded.reset(seed=1)
    following = seeded.reset()[0]
    dealt = []
    for env in (first, second, seeded):
        env.np_random = np.random.default_rng(3)
        dealt.append([env.reset()[0], env.reset()[0]])
        assert env.np_random_seed == -1
    assert all((one[number] == dealt[0][number]).all() for one in dealt for number in range(2))
    seeded.reset(seed=1)
    seeded.np_random.random()
    assert (seeded.reset()[0] == following).all()


def test_illegal_actions() -> None:
    vector = DouDizhuVectorEnv(2, role="landlord", illegal_action="raise")
    vector.reset(seed=1)
    masks = vector.action_masks()
    legal = choose(masks, np.random.default_rng(1))
    with pytest.raises(IllegalMoveError, match="game 1: action 0 "):
        vector.step(np.array([legal[0], 0]))
    assert (vector.action_masks() == masks).all()  # no game has changed
    for wrong in (np.array([1]), np.array([1.0, 2.0]), np.array([[1], [2]])):
        with pytest.raises(InvalidMoveError, match=r"shape \[2\]"):
            vector.step(wrong)
    with pytest.raises(GameOverError):
        DouDizhuVectorEnv(2).step(legal)


def test_returned_arrays_are_the_callers_own_unless_asked() -> None:
    vector = DouDizhuVectorEnv(2)
    first, infos = vector.reset(seed=1)
    kept, kept_mask = first.copy(), infos["action_mask"].copy()
    vector.step(choose(vector.action_masks(), np.random.default_rng(1)))
    assert (first == kept).all()
    assert (infos["action_mask"] == kept_mask).all()
    shared = DouDizhuVectorEnv(2, copy=False)
    assert shared.reset(seed=1)[0] is shared.reset(seed=2)[0]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
@pytest.mark.parametrize(
    ("agent", "rules", "role"),
    [
        *(("rules", "standard", "landlord"), ("rules", "standard", "random"), ("rules", "mini", "peasant_down")),
        *(("rules", "botzone", "peasant_up"), ("rules", "bidding", "random"), ("policy", "standard", "random")),
        ("policy:temperature=1.0", "bidding", "random"),
    ],
)
def test_opponents_in_batches_play_the_games_of_opponents_asked_one_by_one(
    agent: str, rules: str, role: str, mode: str
) -> None:
    settings: dict[str, Any] = {"rules": rules, "role": role, "autoreset_mode": mode, "illegal_action": "raise"}
    ours = DouDizhuVectorEnv(N, opponents=agent, **settings, threads=2)
    one_by_one = SimpleNamespace(name="one by one", act=make_agent(agent).act)  # without its batches
    theirs = DouDizhuVectorEnv(N, opponents=one_by_one, **settings, threads=1)
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    rng, ended = np.random.default_rng(1), 0
    for _ in range(120):
        actions = choose(ours.action_masks(), rng)
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other)
        ended += int(one[2].sum())
    assert ended > 0
    assert (ours.reset()[0] == theirs.reset()[0]).all()


class AtOnce:
    name, calls, wrong = "first", 0, False

    def act(self, view: View, rng: np.random.Generator) -> Move:
        raise AssertionError("its batch goes first")


class ByRows(AtOnce):
    def act_many(self, waiting: WaitingGames) -> Any:
        self.calls += 1
        assert waiting.rng(0) is waiting.rng(0)
        assert self.calls > 1 or len(waiting.rows) == N
        if self.wrong:
            return np.full((len(waiting.rows), 2), 399, np.uint64)
        return np.array([waiting.view(index).legal_moves()[0].words for index in range(len(waiting.rows))], np.uint64)


def test_an_opponent_is_asked_once_for_all_games_and_its_answers_are_checked() -> None:
    opponent = ByRows()
    vector = DouDizhuVectorEnv(N, opponents=opponent, role="peasant_up")
    vector.reset(seed=1)
    assert 2 <= opponent.calls <= 3  # two seats
    opponent.wrong = True
    with pytest.raises(IllegalMoveError, match=r"agent 'first' on seat .*main id 399 "):
        vector.reset()


class InParts(ByRows):
    parallel = True

    def __init__(self) -> None:
        self.games: list[int] = []

    def act_many(self, waiting: WaitingGames) -> Any:
        self.games.append(len(waiting.rows))
        return np.array([waiting.view(index).legal_moves()[0].words for index in range(len(waiting.rows))], np.uint64)


def test_a_parallel_opponent_is_asked_by_several_threads() -> None:
    for threads in (1, 2):
        opponent = InParts()
        DouDizhuVectorEnv(300, opponents=opponent, role="peasant_up", threads=threads).reset(seed=1)
        assert (max(opponent.games) == 300) == (threads == 1), threads


def test_a_subclass_that_overrides_act_is_asked() -> None:
    """Its batched form is the parent's, which would play otherwise than the arena lets it play."""
    rules = type(make_agent("rules"))

    class Mine(rules):  # type: ignore[valid-type,misc]
        asked = 0

        def act(self, view: View, rng: np.random.Generator) -> Move:
            Mine.asked += 1
            return super().act(view, rng)

    vector = DouDizhuVectorEnv(4, opponents=Mine(), role="landlord")
    _, infos = vector.reset(seed=0)
    vector.step(infos["action_mask"].argmax(axis=1))
    assert Mine.asked > 0
    assert not has_act_many(Mine())
    assert has_act_many(make_agent("rules"))
    assert not has_act_many(make_agent("isuct"))


def test_with_an_auction_equal_names_by_role_are_one_opponent() -> None:
    by_role = dict.fromkeys(("landlord", "peasant_down", "peasant_up"), "isuct:iterations=20")
    DouDizhuVectorEnv(1, rules="bidding", opponents=by_role).close()
    with pytest.raises(InvalidOptionError, match="give one opponent for all seats"):
        DouDizhuVectorEnv(1, rules="bidding", opponents=by_role | {"landlord": "rules"})


@pytest.mark.parametrize(
    "options",
    [{"num_envs": 0}, {"threads": 0}, {"autoreset_mode": "never"}, {"render_mode": "human"}]
    + [{"max_episode_steps": steps} for steps in (0, -2, 1.5, "3")],
)
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptionError):
        DouDizhuVectorEnv(**options)
