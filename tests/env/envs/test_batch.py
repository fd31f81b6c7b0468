"""The self-play batch equals ``State`` step for step, with any number of threads."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from ddz_env import PRESETS, State
from ddz_env.core.observation import CONCEALED, CONCEALED_WORDS, OBSERVATION, action_mask, observe, write_concealed
from ddz_env.core.view import ROLES
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, InvalidOptionError
from ddz_env.support.threads import check_threads, run_chunks

ARRAYS = ("observation", "mask", "mask_words", "concealed", "seat", "role", "reward", "done", "game")


def arrays(batch: SelfPlayBatch) -> dict[str, np.ndarray]:
    return {name: getattr(batch, name).copy() for name in ARRAYS}


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name in ARRAYS:
        assert one[name].dtype == other[name].dtype
        assert (one[name] == other[name]).all(), name


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("scoring", ["win", "stake", "botzone"])
def test_equals_the_state_step_for_step(rules: str, scoring: str) -> None:
    n = 4
    batch = SelfPlayBatch(n, rules, seed=9, scoring=scoring, concealed=True)
    games = list(range(n))
    states = [State.new(9, rules, game) for game in games]
    rng, concealed = np.random.default_rng(1), np.empty(CONCEALED_WORDS, np.uint64)
    ended = 0
    for _ in range(150):
        for index, state in enumerate(states):
            assert (batch.observation[index] == observe(state)).all()
            assert (batch.mask[index] == action_mask(state)).all()
            bits = [64 * w + b for w in range(7) for b in range(64) if (int(batch.mask_words[index, w]) >> b) & 1]
            assert bits == state.legal_actions()
            role = state.role()
            assert batch.role[index] == (3 if role is None else ROLES.index(role))
            assert batch.seat[index] == state.seat
            assert batch.game[index] == games[index]
            assert (batch.state(index).row == state.row).all()
            write_concealed(state.row, state.rule_words, np.uint64(state.seat), concealed)
            assert (batch.concealed[index] == concealed.view(np.int8)).all()
        actions = [int(rng.choice(state.legal_actions())) for state in states]
        batch.step(np.array(actions, np.int32))
        for index, state in enumerate(states):
            state.step_action(actions[index])
            returns = state.returns(scoring)
            assert batch.done[index] == state.is_over
            assert batch.reward[index, : len(returns)].tolist() == pytest.approx(returns)
            if state.is_over:
                ended += 1
                games[index] += n
                states[index] = State.new(9, rules, games[index])
    assert ended > n


def test_threads_do_not_matter() -> None:
    batches = [SelfPlayBatch(700, "bidding", seed=2, threads=threads, concealed=True) for threads in (1, 2, 5)]
    ended = 0
    for _ in range(120):
        for batch in batches:
            batch.step(batch.sample_actions())
        reference = arrays(batches[0])
        ended += int(reference["done"].sum())
        for batch in batches[1:]:
            assert_same(reference, arrays(batch))
    assert ended > 700


def test_samples_are_uniform_and_reproducible() -> None:
    batch = SelfPlayBatch(4000, "mini", seed=1)
    mask = batch.mask[0].astype(bool)
    batch.slots.bits[:] = batch.slots.bits[0]
    counts = np.bincount(batch.sample_actions(), minlength=400)
    assert (counts[~mask] == 0).all()
    expected = 4000 / mask.sum()
    assert ((counts[mask] - expected) ** 2 / expected).sum() < 3 * mask.sum()
    one, two = SelfPlayBatch(50, seed=8), SelfPlayBatch(50, seed=8)
    assert (one.sample_actions() == two.sample_actions()).all()
    assert (SelfPlayBatch(50, seed=9).sample_actions() != one._actions).any()


def test_parts_can_be_left_out() -> None:
    full = SelfPlayBatch(20, seed=1, concealed=True)
    masks = SelfPlayBatch(20, seed=1, observation=False)
    bare = SelfPlayBatch(20, seed=1, observation=False, mask=False)
    shapes = full.concealed.shape, masks.observation.shape, bare.mask.shape
    assert shapes == ((20, CONCEALED.size), (0, OBSERVATION.size), (0, 400))
    for _ in range(50):
        actions = full.sample_actions()
        for batch in (full, masks, bare):
            batch.step(actions)
        assert (full.mask == masks.mask).all()
        assert (full.mask_words == bare.mask_words).all()


def test_illegal_actions_leave_every_game_unchanged() -> None:
    batch = SelfPlayBatch(5, seed=1)
    before, rows, actions = arrays(batch), batch.slots.rows.copy(), batch.sample_actions().copy()
    for wrong, error, text in (
        (0, IllegalMoveError, r"game 3: action 0 \(pass\) is not legal; legal are [1-9]"),
        (400, InvalidMoveError, "game 3: action 400 does not exist: ids run from 0 to 399"),
        (-1, InvalidMoveError, "game 3: action -1 does not exist"),
    ):
        actions[3] = wrong
        with pytest.raises(error, match=text):
            batch.step(actions)
    for shape in (np.zeros(4, int), np.zeros((5, 1), int), np.zeros(5), "11111", None):
        with pytest.raises(InvalidMoveError, match=r"integers of shape \[5\]"):
            batch.step(shape)  # type: ignore[arg-type]
    assert_same(before, arrays(batch))
    assert (rows == batch.slots.rows).all()


def test_a_batch_with_the_kept_state_of_another_continues_identically() -> None:
    batch = SelfPlayBatch(30, "bidding", seed=4, concealed=True)
    for _ in range(40):
        batch.step(batch.sample_actions())
    twin = SelfPlayBatch(30, "bidding", seed=99, concealed=True)
    twin.load_state_dict(batch.state_dict())
    for _ in range(60):
        assert_same(arrays(batch), arrays(twin))
        batch.step(batch.sample_actions())
        twin.step(twin.sample_actions())
    for seed in (None, 5):  # and a reset starts again
        batch.reset(seed)
        assert_same(arrays(SelfPlayBatch(30, "bidding", seed=seed or 4, concealed=True)), arrays(batch))


def test_wrong_saved_batches() -> None:
    saved = SelfPlayBatch(3).state_dict()
    lacking = {name: value for name, value in saved.items() if name != "rows"}
    for batch, kept in ((SelfPlayBatch(3), lacking), (SelfPlayBatch(3, "mini"), saved), (SelfPlayBatch(4), saved)):
        with pytest.raises(InvalidOptionError):
            batch.load_state_dict(kept)


HAMMER = """
import threading
import numpy as np
from ddz_env import dou_dizhu_v0
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.support.errors import GameOverError, IllegalMoveError, SharedGamesError
from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv

def batch_step(batch):
    batch.step(batch.sample_actions())

def vector_step(env):
    masks = env.action_masks()
    env.step(masks.argmax(axis=1))

def aec_step(env):
    env.step(int(env.last()[0]["action_mask"].argmax()))

def gym_step(env):
    if env.step(int(env.action_masks().argmax()))[2]:
        env.reset()

def begun(env):
    env.reset(seed=1)
    return env

for make, step, rounds in (
    (lambda: SelfPlayBatch(512, seed=1, threads=2), batch_step, 150),
    (lambda: begun(DouDizhuVectorEnv(512, illegal_action="raise", threads=2)), vector_step, 100),
    (lambda: begun(DouDizhuEnv(illegal_action="raise")), gym_step, 400),
    (lambda: begun(dou_dizhu_v0.raw_env()), aec_step, 400),
):
    games, said = make(), set()

    def use():
        for _ in range(rounds):
            try:
                step(games)
            except (SharedGamesError, IllegalMoveError, GameOverError) as error:
                said.add(type(error))

    threads = [threading.Thread(target=use) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    step(make())  # a thread alone is not refused
    assert SharedGamesError in said or rounds == 400, step
print("alive")
"""


def test_games_that_several_threads_use_refuse_all_but_one_by_name() -> None:
    """In a process of its own, because what is unchecked in compiled code ends the process."""
    done = subprocess.run([sys.executable, "-c", HAMMER], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_games_may_change_hands_between_threads() -> None:
    batch = SelfPlayBatch(3, seed=1)
    thread = threading.Thread(target=lambda: batch.step(batch.sample_actions()))
    thread.start()
    thread.join()
    batch.step(batch.sample_actions())


def test_chunks_cover_everything_once_and_pass_errors_on() -> None:
    for count, threads in ((1, 4), (64, 2), (65, 2), (1000, 3), (5000, 1)):
        seen = np.zeros(count, int)

        def mark(first: int, stop: int, seen: np.ndarray = seen) -> None:
            seen[first:stop] += 1

        run_chunks(mark, count, threads)
        assert (seen == 1).all()

    def fail(first: int, stop: int) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run_chunks(fail, 1000, 2)
    assert check_threads(None) >= 1
