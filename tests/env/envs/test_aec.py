"""The PettingZoo environments: contract, turn-taking in two stages, rewards, illegal actions, copies."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_state_space

from ddz_env import PRESETS, State, dou_dizhu_v0
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION, STATE, full_state, observe
from ddz_env.core.view import ROLES, STAGE_NAMES
from ddz_env.peers import flat_action
from ddz_env.support.errors import (
    GameOverError,
    IllegalMoveError,
    InvalidDealError,
    InvalidMoveError,
    InvalidOptionError,
    InvalidRulesError,
)

QUIET = [
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
    "ignore:reset ignores the options",
]


def play(env: Any, rng: np.random.Generator, *, max_steps: int = 10_000) -> dict[str, list[float]]:
    """Play a game at random; returns the rewards of ``last()`` by agent."""
    rewards: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
    for agent in env.agent_iter(max_steps):
        observation, reward, termination, truncation, _ = env.last()
        rewards[agent].append(float(reward))
        mask = observation["action_mask"]
        if termination or truncation:
            assert not mask.any()
            env.step(None)
        else:
            env.step(int(rng.choice(np.flatnonzero(mask))))
    return rewards


@pytest.mark.filterwarnings("error", *QUIET)
@pytest.mark.parametrize("make", [dou_dizhu_v0.env, dou_dizhu_v0.raw_env, flat_action.env], ids=["env", "raw", "flat"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_pettingzoo_api(make: Any, dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(make(dtype=dtype), num_cycles=200)
    assert "Passed" in capsys.readouterr().out


@pytest.mark.parametrize("make", [dou_dizhu_v0.env, flat_action.env], ids=["env", "flat"])
def test_pettingzoo_seed(make: Any) -> None:
    seed_test(make, num_cycles=100)


@pytest.mark.filterwarnings("error")
def test_pettingzoo_state() -> None:
    env = dou_dizhu_v0.env()
    env.reset(seed=1)
    check_state_space(env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gymnasium's logger: the test samples illegal actions
        check_state(env, num_cycles=10)


def test_pettingzoo_render(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("PIL")
    monkeypatch.setitem(dou_dizhu_v0.raw_env.metadata, "render_fps", 0)  # do not wait
    render_test(dou_dizhu_v0.env)


def test_registered_with_pettingzoo() -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry for third parties")
    env = pettingzoo.make("aec", "ddz_env/dou_dizhu_v0", rules="mini")
    assert env.unwrapped.rules.name == "mini"
    assert str(env) == "dou_dizhu_v0"
    assert len(pettingzoo.make("parallel", "ddz_env/dou_dizhu_v0", rules="mini").reset(seed=1)[0]) == 2


@pytest.mark.filterwarnings("error", *QUIET, "ignore:Agent was given", "ignore:Live agent was not given")
@pytest.mark.parametrize("module", [dou_dizhu_v0, flat_action], ids=["two stages", "flat"])
def test_the_parallel_form_is_the_same_game(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_api_test(module.parallel_env(rules="mini"), num_cycles=200)
    parallel_seed_test(lambda: module.parallel_env(rules="mini"), num_cycles=50)
    assert "Passed" in capsys.readouterr().out
    parallel, turns, rng = module.parallel_env(rules="rlcard"), module.env(rules="rlcard"), np.random.default_rng(1)
    for seed in range(3):
        observations, _ = parallel.reset(seed=seed)
        turns.reset(seed=seed)
        paid = dict.fromkeys(parallel.agents, 0.0)
        while parallel.agents:
            agent = turns.agent_selection
            able = [name for name, seen in observations.items() if seen["action_mask"].any()]
            assert able == [agent]
            action = int(rng.choice(np.flatnonzero(observations[agent]["action_mask"])))
            others = {name: int(rng.integers(400)) for name in parallel.agents}  # what they say is ignored
            observations, rewards, over, _, _ = parallel.step(others | {agent: action})
            turns.step(action)
            assert (over, rewards) == (turns.terminations, turns.rewards)
            paid = {name: value + rewards[name] for name, value in paid.items()}
        assert tuple(paid.values()) == turns.unwrapped.game_state().returns()


@pytest.mark.parametrize("rules", PRESETS)
def test_environment_equals_the_state(rules: str) -> None:
    env, plain = (dou_dizhu_v0.raw_env(rules=rules, infos=infos) for infos in ("text", "numbers"))
    rng = np.random.default_rng(1)
    for number in range(3):
        for each in (env, plain):
            each.reset(seed=5 if number == 0 else None)
        state = State.new(5, rules, number)
        while not state.is_over:
            assert env.agent_selection == f"player_{state.seat}"
            assert env.game_state() == state
            assert (env.state() == full_state(state)).all()
            mover, move = state.history[-1] if state.history else (-1, None)
            for seat, agent in enumerate(env.agents):
                seen = env.observe(agent)
                assert (seen["observation"] == observe(state, seat)).all()
                legal = state.legal_actions() if seat == state.seat else []
                assert np.flatnonzero(seen["action_mask"]).tolist() == legal
                assert env.observation_space(agent).contains(seen)
                role, stage = state.role(seat), state.view(seat).stage
                assert env.infos[agent] == {
                    "seat": seat,
                    "role": role or "",
                    "stage": stage,
                    "last_move": "" if move is None else str(move),
                    "last_player": "" if move is None else f"player_{mover}",
                }
                numbers = (seat, 3 if role is None else ROLES.index(role), STAGE_NAMES.index(stage))
                last = (-1 if move is None else move.main, mover)
                keys = ("seat", "role", "stage", "last_action", "last_player")
                assert plain.infos[agent] == dict(zip(keys, numbers + last, strict=True))
                assert {type(value) for value in plain.infos[agent].values()} == {np.int64}
            action = int(rng.choice(state.legal_actions()))
            state.step_action(action)
            for each in (env, plain):
                each.step(action)
        assert [env.rewards[agent] for agent in env.agents] == list(state.returns())


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("make", [dou_dizhu_v0.env, flat_action.env], ids=["env", "flat"])
def test_each_return_is_seen_once(make: Any, rules: str) -> None:
    try:
        env = make(rules=rules)
    except InvalidRulesError:
        pytest.skip("the flat table does not cover these rules")
    rng = np.random.default_rng(2)
    for seed in range(3):
        env.reset(seed=seed)
        rewards = play(env, rng)
        final = env.unwrapped.game_state().returns()
        for seat, agent in enumerate(env.possible_agents):
            assert sum(rewards[agent]) == pytest.approx(final[seat])
            assert not any(rewards[agent][:-1])


def test_forms_of_observations() -> None:
    plain, scaled = dou_dizhu_v0.env(), dou_dizhu_v0.env(dtype="float32", observation_key="obs", mask_key="mask")
    for env in (plain, scaled):
        env.reset(seed=3)
    rng = np.random.default_rng(1)
    while not any(plain.terminations.values()):
        for agent in plain.possible_agents:
            one, other = plain.observe(agent), scaled.observe(agent)
            assert other in scaled.observation_space(agent)
            assert other.keys() == {"obs", "mask"}
            assert other["obs"].dtype == np.float32
            assert (np.rint(other["obs"] * OBSERVATION.high) == one["observation"]).all()
            assert (other["mask"] == one["action_mask"]).all()
        assert scaled.state().dtype == np.float32
        assert scaled.state() in scaled.state_space
        assert (np.rint(scaled.state() * STATE.high) == plain.state()).all()
        action = int(rng.choice(np.flatnonzero(plain.last()[0]["action_mask"])))
        plain.step(action)
        scaled.step(action)
    scaled.reset(seed=3)
    scaled.step(0)  # the wrapper finds the mask under its key, and the lead cannot pass
    assert scaled.rewards == {"player_0": -1.0, "player_1": 0, "player_2": 0}
    flat = flat_action.env(dtype="float32", mask_key="mask")
    flat.reset(seed=3)
    assert flat.last()[0] in flat.observation_space("player_0")
    assert flat.last()[0]["mask"].any()
    assert dou_dizhu_v0.env(dtype=np.float32).observation_space("player_0")["observation"].dtype == np.float32


@pytest.mark.parametrize(
    ("module", "options"),
    [
        *((dou_dizhu_v0, {name: "unknown"}) for name in ("rules", "scoring", "render_mode", "dtype", "infos")),
        *((dou_dizhu_v0, {"mask_key": key}) for key in ("", "observation")),
        *((flat_action, {"rules": rules}) for rules in ("bidding", "openspiel", "botzone", "douzero")),
    ],
)
def test_unknown_options_are_refused(module: Any, options: dict[str, Any]) -> None:
    with pytest.raises((InvalidOptionError, InvalidRulesError)):
        module.env(**options)


def test_between_main_group_and_kickers() -> None:
    env = dou_dizhu_v0.raw_env(infos="text")
    env.reset(options={"hands": ["333456", "778899", "TTJJQQ"], "check_sizes": False})
    trio = next(g.id for g in MAIN_GROUPS if g.name == "trio+solo 333+")
    env._cumulative_rewards = {"player_0": 5.0, "player_1": 6.0, "player_2": 7.0}  # as if earned before
    env.step(trio)
    assert env.agent_selection == "player_0"
    assert [env.infos[agent]["stage"] for agent in ("player_0", "player_1")] == ["kicker", "play"]
    assert set(env.rewards.values()) == {0.0}
    assert env._cumulative_rewards == {"player_0": 0.0, "player_1": 6.0, "player_2": 7.0}
    env.step(KICKER_BASE + 1)
    assert env.agent_selection == "player_1"
    told = env.infos["player_1"]
    assert (told["last_move"], told["last_player"]) == ("333+4", "player_0")


def test_refused_actions_leave_the_game_unchanged() -> None:
    env, wrapped = dou_dizhu_v0.raw_env(), dou_dizhu_v0.env()
    for each in (env, wrapped):
        each.reset(seed=3)
    before = pickle.dumps(env.game_state())
    with pytest.raises(IllegalMoveError, match="not legal for seat 0; legal are"):
        env.step(0)
    for wrong in (NUM_ACTIONS, -1, 10**9):
        with pytest.raises(InvalidMoveError, match="does not exist"):
            env.step(wrong)
    for wrong in ("3", 1.5, 5.0, None, True, [5], np.array([5])):
        for each in (env, wrapped):
            with pytest.raises(InvalidMoveError, match="an action is one integer from 0 to 399, not "):
                each.step(wrong)
    assert pickle.dumps(env.game_state()) == pickle.dumps(wrapped.unwrapped.game_state()) == before
    assert env.agent_selection == "player_0"
    flat = flat_action.raw_env()
    flat.reset(seed=3)
    with pytest.raises(IllegalMoveError, match=r"action 27471 \(pass\) is not legal"):
        flat.step(27471)
    with pytest.raises(InvalidMoveError, match="flat ids run from 0 to 27471"):
        flat.step(27472)


@pytest.mark.parametrize("make", [dou_dizhu_v0.env, flat_action.env], ids=["env", "flat"])
def test_an_illegal_action_ends_the_game(make: Any) -> None:
    env = make(illegal_reward=-2.5)
    env.reset(seed=3)
    mask = env.last()[0]["action_mask"]
    env.step(int(np.flatnonzero(mask == 0)[0]))
    rewards = play(env, np.random.default_rng(0))
    assert rewards == {"player_0": [-2.5], "player_1": [0.0], "player_2": [0.0]}
    env.reset()  # and it can be played again
    assert sum(len(r) for r in play(env, np.random.default_rng(0)).values()) > 3


def test_slips_are_named() -> None:
    with pytest.raises(InvalidOptionError, match=r"no option 'rule' \(did you mean 'rules'\?\)"):
        dou_dizhu_v0.env(rule="mini")
    env = dou_dizhu_v0.env()
    with pytest.raises(AttributeError, match="agent_selection cannot be accessed before reset"):
        env.last()
    env.reset(seed=3)
    with pytest.raises(InvalidMoveError, match="an action is one integer from 0 to 399, not None"):
        env.step(None)


def test_after_an_illegal_action_each_agent_sees_its_own_cards() -> None:
    env = dou_dizhu_v0.env()
    env.reset(seed=3)
    own = {agent: env.observe(agent)["observation"] for agent in env.agents}
    env.step(399)
    for agent in env.agent_iter():
        observation, *_, info = env.last()
        assert (observation["observation"] == own[agent]).all(), agent
        assert info is env.infos[agent]
        env.step(None)


def test_finished_and_unstarted_games_refuse_steps() -> None:
    env = dou_dizhu_v0.raw_env()
    with pytest.raises(GameOverError, match="call reset"):
        env.step(1)
    env.reset(seed=1)
    play(env, np.random.default_rng(1))
    assert env.agents == []
    with pytest.raises(GameOverError, match="call reset"):
        env.step(None)
    env.reset(options={"hands": ["3", "4", "5"], "check_sizes": False})
    env.step(1)
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(1)
    with pytest.raises(AttributeError, match="before reset"):
        _ = dou_dizhu_v0.env().agents


def test_observations_are_the_callers_own() -> None:
    env = dou_dizhu_v0.raw_env()
    env.reset(seed=1)
    first = env.last()[0]
    kept = {name: array.copy() for name, array in first.items()}
    env.step(int(np.flatnonzero(first["action_mask"])[0]))
    assert all((first[name] == kept[name]).all() for name in kept)
    second = env.last()[0]
    second["action_mask"][:] = 0
    assert env.last()[0]["action_mask"].any()


def test_deals_by_option() -> None:
    env = dou_dizhu_v0.raw_env()
    hands = ["3334445556667778", "8889999TTTTJJJJQ", "QQQKKKKAAAA2222B"]
    deal = {"hands": hands, "check_sizes": False}
    for options in (deal, {"deal": deal}, {"deal": State.from_hands(hands, check_sizes=False)}):
        env.reset(options=options)
        assert [str(env.game_state().hand(seat)) for seat in range(3)] == hands
    for wrong in ({"hands": hands, "botom": "3"}, {"deal": {"bottom": "3"}}, {"deal": State.new(1, "mini")}):
        with pytest.raises(InvalidOptionError):
            env.reset(options=wrong)
    with pytest.raises(InvalidDealError):
        env.reset(options={"hands": hands})
    with pytest.raises(InvalidDealError):
        env.reset(seed=-1)


@pytest.mark.parametrize("make", [dou_dizhu_v0.env, flat_action.env], ids=["env", "flat"])
def test_a_position_is_put_back_and_played_on(make: Any) -> None:
    env = make(rules="rlcard")
    env.reset(seed=4)
    following = copy.deepcopy(env)
    following.reset()
    rng = np.random.default_rng(3)
    play(env, rng, max_steps=9)
    saved, seen, infos = env.game_state(), env.last()[0], copy.deepcopy(env.infos)
    games = []
    for _ in range(2):
        play(env, np.random.default_rng(5))
        games.append(env.game_state())
        env.set_state(saved)
        assert env.game_state() == saved
        assert env.infos == infos
        np.testing.assert_equal(env.last()[0], seen)
    assert games[0] == games[1]
    env.set_state(games[0])
    assert tuple(env.rewards.values()) == games[0].returns()
    assert all(env.terminations.values())
    env.reset()
    np.testing.assert_equal(env.last()[0], following.last()[0])
    for wrong in (None, saved.row, State.new(1, "mini")):
        with pytest.raises(InvalidOptionError):
            env.set_state(wrong)


@pytest.mark.parametrize("rules", ["standard", "rlcard", "mini", "half-deck", "half-deck-open"])
def test_flat_mask_is_the_legal_moves(rules: str) -> None:
    env = flat_action.raw_env(rules=rules)
    moves = flat_action.flat_moves()
    rng = np.random.default_rng(1)
    for seed in range(3):
        env.reset(seed=seed)
        while not all(env.terminations.values()):
            mask = env.last()[0]["action_mask"]
            legal = env.unwrapped.game_state().legal_moves()  # type: ignore[attr-defined]
            assert sorted(map(str, legal)) == sorted(str(moves[i]) for i in np.flatnonzero(mask))
            env.step(int(rng.choice(np.flatnonzero(mask))))
