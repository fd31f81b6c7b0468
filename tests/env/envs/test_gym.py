"""The single-agent Gymnasium environment and its opponents."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import metadata
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ddz_agents.random import RandomAgent
from ddz_env import PRESETS, Move, Rules, State, View
from ddz_env.core.engine.moves import draw_move, list_all_moves
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import observe
from ddz_env.core.view import ROLES
from ddz_env.envs.gym import DouDizhuEnv
from ddz_env.playing.many import first_illegal_move
from ddz_env.support.errors import (
    GameOverError,
    IllegalMoveError,
    InvalidAgentOptionError,
    InvalidMoveError,
    InvalidOptionError,
    InvalidRulesError,
    UnknownAgentError,
)
from tests.listener import Listener

ID = "ddz_env/DouDizhu-v0"


class First(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[View] = []
        self.seats: list[int] = []
        self.closed = False

    def reset(self, seat: int, rules: Rules) -> None:
        super().reset(seat, rules)
        self.seats.append(seat)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        self.seen.append(view)
        return super().act(view, rng)

    def close(self) -> None:
        self.closed = True


class Cheat:
    cheats = True

    def act(self, state: State, rng: np.random.Generator) -> Move:
        assert isinstance(state, State)
        return state.legal_moves()[-1]


def play(env: Any, rng: np.random.Generator) -> float:
    """Play the running game at random; returns the reward."""
    reward, over = 0.0, False
    while not over:
        assert reward == 0
        _, reward, over, truncated, _ = env.step(int(rng.choice(np.flatnonzero(env.unwrapped.action_masks()))))
        assert not truncated
    return float(reward)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rules", ["standard", "bidding", "mini"])
def test_gymnasium_checker(rules: str) -> None:
    check_env(gymnasium.make(ID, rules=rules).unwrapped, skip_render_check=True)


def test_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("PIL")
    monkeypatch.setitem(DouDizhuEnv.metadata, "render_fps", 1000)  # do not wait
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray), ("human", type(None))):
        env = gymnasium.make(ID, render_mode=mode)
        env.reset(seed=1)
        assert isinstance(env.render(), kind)
        play(env, np.random.default_rng(0))
        assert isinstance(env.render(), kind)
        env.close()


@pytest.mark.parametrize(("module", "modes"), [("PIL", ["ansi"]), ("pygame", ["ansi", "rgb_array"])])
def test_a_mode_whose_package_is_missing_is_refused_by_its_name_when_it_shows_something(
    module: str, modes: list[str]
) -> None:
    """Not before: SB3's ``make_vec_env`` asks for pictures that nobody looks at."""
    pytest.importorskip("pygame")
    pytest.importorskip("PIL")
    script = f"""
import sys
sys.modules[{module!r}] = None
import gymnasium
from ddz_env import dou_dizhu_v0
from ddz_env.support.errors import MissingDependencyError
for mode in ("ansi", "rgb_array", "human"):
    for env in (gymnasium.make({ID!r}, render_mode=mode), dou_dizhu_v0.env(render_mode=mode)):
        try:
            env.reset(seed=1)
            env.render()
        except MissingDependencyError as error:
            assert mode not in {modes} and {module!r}.replace("PIL", "Pillow").lower() in str(error).lower()
        else:
            assert mode in {modes}
"""
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", script], check=True, timeout=300)


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("opponent", ["random", "random-staged"])
def test_episodes_end_with_the_state_s_return(rules: str, opponent: str) -> None:
    env = DouDizhuEnv(rules=rules, opponents=opponent)
    rng = np.random.default_rng(1)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        assert (observation == observe(env.game_state(), info["seat"])).all()
        assert (info["action_mask"].astype(bool) == env.action_masks()).all()
        reward, state = play(env, rng), env.game_state()
        assert state.is_over
        assert reward == pytest.approx(state.returns()[info["seat"]])
        assert np.flatnonzero(env.action_masks()).tolist() == [0]
        with pytest.raises(GameOverError, match="call reset"):
            env.step(0)


@pytest.mark.parametrize("role", ROLES)
def test_role_and_seed(role: str) -> None:
    env = DouDizhuEnv(role=role, infos="text")
    _, info = env.reset(seed=7)
    assert info["role"] == role
    assert role != "landlord" or env.game_state().hand(info["seat"]) == State.new(7).hand(0)
    env.reset()
    second = env.game_state()
    env.reset(seed=7)
    env.reset()
    assert env.game_state() == second
    anywhere = DouDizhuEnv(role="random", infos="text")
    assert role in {anywhere.reset(seed=seed)[1]["role"] for seed in range(30)}


@pytest.mark.parametrize("rules", sorted(PRESETS))
def test_compiled_random_draws_by_the_order_of_the_list(rules: str) -> None:
    rng, mask = np.random.default_rng(2), np.empty(MASK_WORDS, np.uint64)
    for seed in range(10):
        state = State.new(seed, rules=rules)
        while state.stage != "over":
            mains, kickers = list_all_moves(state.row, state.rule_words)
            place = int(rng.integers(len(mains)))
            bits = np.uint64(((place << 32) + len(mains) - 1) // len(mains) << 32)
            assert draw_move(state.row, state.rule_words, mask, bits) == (mains[place], kickers[place])
            assert (
                first_illegal_move(state.row[None], state.rule_words, mask, np.array([[mains[place], kickers[place]]]))
                == -1
            )
            odd = np.array([[mains[place], kickers[place] | np.uint64(1 << 63)]])
            assert first_illegal_move(state.row[None], state.rule_words, mask, odd) == 0
            state.step(Move.from_words(int(mains[place]), int(kickers[place])))


def test_python_opponents_see_a_view_and_hear_every_move() -> None:
    first = First()
    env = DouDizhuEnv(opponents=first, role="peasant_up")
    env.reset(seed=2)
    play(env, np.random.default_rng(3))
    history = env.game_state().history
    assert first.heard == history
    assert {view.seat for view in first.seen} == {0, 1}
    assert all(isinstance(view, View) and view.acting_seat == view.seat for view in first.seen)
    env.reset()
    env.close()
    assert (first.seats, first.closed) == ([0, 1, 0, 1], True), "a reset for each seat that it plays"
    first = First()
    env = DouDizhuEnv(opponents={"peasant_down": first, "peasant_up": Cheat()}, role="landlord")
    env.reset(seed=2)
    play(env, np.random.default_rng(3))
    assert {view.role for view in first.seen} == {"peasant_down"}
    assert first.seats == [1]
    by_role = {role: First() for role in ROLES}
    env = DouDizhuEnv(opponents=by_role)
    own = []
    for seed in range(6):
        own.append(env.reset(seed=seed)[1]["role"])
        play(env, np.random.default_rng(3))
    assert {*own} == {0, 1, 2}
    for number, one in enumerate(by_role.values()):
        assert len(one.seats) == 6 - own.count(number), "who has the learner's role sits out"
    first = First()
    env = DouDizhuEnv(opponents=first, rules="bidding")
    env.reset(seed=2)
    play(env, np.random.default_rng(3))
    assert {*first.seats} == {view.seat for view in first.seen}


def test_a_peasants_partner_may_be_another_than_the_opponents() -> None:
    for role, other in (("peasant_down", "peasant_up"), ("peasant_up", "peasant_down")):
        rewards = []
        for options in (
            {"opponents": "rules", "partner": First()},
            {"opponents": {"landlord": "rules", other: First()}},
        ):
            env = gymnasium.make(ID, role=role, **options)
            env.reset(seed=3)
            rewards.append([play(env, np.random.default_rng(1)), env.reset()[0].tolist()])
        assert rewards[0] == rewards[1]
    for wrong, told in (
        ({"role": "landlord"}, "not 'landlord'"),
        ({"role": "random"}, "not 'random'"),
        ({"role": "peasant_down", "rules": "mini"}, "mini has 2 players"),
        (
            {"role": "peasant_down", "opponents": {"landlord": "rules", "peasant_up": "rules"}},
            "not opponents by role",
        ),
    ):
        with pytest.raises(InvalidOptionError, match=told):
            DouDizhuEnv(partner="rules", **wrong)


def test_keys_are_for_a_dict_alone() -> None:
    for key in ("observation_key", "mask_key"):
        with pytest.raises(InvalidOptionError, match="a vector has no keys"):
            gymnasium.make_vec(ID, 2, **{key: "obs"})
        gymnasium.make(ID, observation="dict", **{key: "obs"})


def test_opponents_are_whatever_an_agent_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for opponents in (f"{__name__}:First", "isuct:iterations=20", {"landlord": "rules", "peasant_up": First()}):
        env: Any = gymnasium.make(ID, opponents=opponents, role="peasant_down")
        env.reset(seed=1)
        play(env, np.random.default_rng(1))
    with pytest.raises(InvalidAgentOptionError, match="did you mean 'iterations'"):
        gymnasium.make(ID, opponents="isuct:iteration=3")
    for wrong in ("nobody", f"{__name__}:Second", ":First", 3, First):
        with pytest.raises(UnknownAgentError):
            DouDizhuEnv(opponents=wrong)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    DouDizhuEnv(opponents="random")  # compiled, so it needs no entry point


@pytest.mark.parametrize(
    ("error", "options"),
    [
        *((InvalidRulesError, options) for options in ({"rules": "texas"}, {"scoring": "elo"})),
        (InvalidRulesError, {"role": "landlord", "rules": "bidding"}),
        *((InvalidOptionError, options) for options in ({"role": "king"}, {"role": "peasant_up", "rules": "mini"})),
        *((InvalidOptionError, options) for options in ({"illegal_action": "ignore"}, {"render_mode": "hologram"})),
        (InvalidOptionError, {"opponents": {"landlord": "random"}, "role": "landlord"}),
        (InvalidOptionError, {"opponents": {"peasant": "random"}}),
        (InvalidOptionError, {"opponents": {role: First() for role in ROLES}, "rules": "bidding"}),
    ],
)
def test_options_are_checked(error: type[Exception], options: dict[str, Any]) -> None:
    with pytest.raises(error):
        DouDizhuEnv(**options)


def test_illegal_actions() -> None:
    env = DouDizhuEnv(role="landlord")
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)
    assert np.flatnonzero(env.action_masks()).tolist() == [0]
    assert observation in env.observation_space
    env.reset(seed=1)
    assert env.step(10**6)[1:3] == (-1.0, True)
    costly = gymnasium.make(ID, rules="bidding", illegal_reward=-50)
    costly.reset(seed=1)
    assert costly.step(costly.unwrapped.action_masks().argmin())[1] == -50  # type: ignore[attr-defined]
    with pytest.raises(InvalidOptionError, match="illegal_reward=nan must be a number"):
        DouDizhuEnv(illegal_reward=np.nan)
    assert env.reset(seed=1)[1]["illegal"] == 0

    strict = DouDizhuEnv(role="landlord", illegal_action="raise")
    with pytest.raises(GameOverError, match="the game has not begun: call reset"):
        strict.step(1)
    strict.reset(seed=1)
    before = pickle.dumps(strict.game_state())
    with pytest.raises(IllegalMoveError, match="legal are 1 "):
        strict.step(0)
    with pytest.raises(InvalidMoveError, match="does not exist"):
        strict.step(400)
    batch_of_one = type("Batch", (), {"ndim": 1, "__index__": lambda self: 1})()  # as PyTorch's
    for wrong in ("3", 1.5, 5.0, None, True, [1], np.array([1]), batch_of_one):
        with pytest.raises(InvalidMoveError, match="an action is one integer from 0 to 399"):
            strict.step(wrong)  # type: ignore[arg-type]
    assert pickle.dumps(strict.game_state()) == before


@pytest.mark.parametrize("opponent", ["random", "rules", RandomAgent()], ids=["compiled", "batched", "python"])
@pytest.mark.parametrize("role", ["random", "peasant_up"])
def test_a_position_is_put_back_and_played_on(opponent: Any, role: str) -> None:
    """In the learner's seat; what follows is drawn afresh each time, unless a seed is given."""
    env = DouDizhuEnv(role=role, opponents=opponent, illegal_action="raise")
    env.reset(seed=4)
    for _ in range(2):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    saved, seen, seat = env.game_state(), env._make_outputs()[0], env._make_outputs()[1]["seat"]
    actions = env.action_masks()
    endings: dict[int | None, list[bytes]] = {None: [], 5: []}
    for seed in (None, 5, None, 5):
        observation, info = env.set_state(saved, seed=seed)
        assert (observation == seen).all()
        assert (info["seat"], info["illegal"]) == (seat, 0)
        assert (env.action_masks() == actions).all()
        play(env, np.random.default_rng(0))
        endings[seed].append(env.game_state().row.tobytes())
    assert endings[5][0] == endings[5][1]
    assert opponent == "rules" or endings[None][0] != endings[None][1]
    for wrong in (None, saved.row, State.new(1, "mini")):
        with pytest.raises(InvalidOptionError):
            env.set_state(wrong)  # type: ignore[arg-type]
