"""Deals of one's own: an environment plays the cards that it is given, and otherwise as ever."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ddz_env import Rules, State
from ddz_env.batch import SelfPlayBatch
from ddz_env.core.engine.layout import HANDS
from ddz_env.envs.deals import CustomDeals, format_deal, parse_deal
from ddz_env.gym import DouDizhuVectorEnv
from ddz_env.support.errors import DouDizhuError

N, SEED = 5, 11
JOKERS = "3345667TJQKAA22BR / 3345568899TJQKKA2 / 44677788TTJJQQKA2 / 599"
ARRAYS = "observation", "mask", "seat", "role", "reward", "done", "game"


def shuffled(rng: np.random.Generator, number: int) -> str:
    """The deal that a batch of this seed has anyway."""
    return format_deal(State.new(SEED, "standard", number))


def drawn(rng: np.random.Generator, number: int) -> str:
    """Any hands of 17 that the generator draws."""
    cards = rng.permutation(list("3456789TJQKA2") * 4 + ["B", "R"])
    return " / ".join("".join(cards[first:stop]) for first, stop in ((0, 17), (17, 34), (34, 51), (51, 54)))


def jokers(rng: np.random.Generator, number: int) -> str:
    """The landlord has both jokers."""
    cards = rng.permutation(list("3456789TJQKA2") * 4)
    return "BR" + " / ".join("".join(cards[first:stop]) for first, stop in ((0, 15), (15, 32), (32, 49), (49, 52)))


def steps(batch: SelfPlayBatch, count: int) -> list[list[np.ndarray]]:
    seen = []
    for _ in range(count):
        batch.step(batch.sample_actions())
        seen.append([getattr(batch, name).copy() for name in ARRAYS])
    return seen


def test_a_batch_that_is_given_the_shuffled_deals_plays_as_one_that_shuffles() -> None:
    given, plain = SelfPlayBatch(N, seed=SEED, deals=shuffled), SelfPlayBatch(N, seed=SEED)
    for ours, theirs in zip(steps(given, 300), steps(plain, 300), strict=True):
        for name, one, other in zip(ARRAYS, ours, theirs, strict=True):
            assert (one == other).all(), name


def test_a_batch_deals_a_list_in_turn_and_its_state_continues_with_the_same_deals() -> None:
    deals = [JOKERS, *(shuffled(np.random.default_rng(), number) for number in range(6))]
    batch = SelfPlayBatch(3, seed=SEED, deals=deals)
    for _ in range(300):
        batch.step(batch.sample_actions())
        for slot in batch.done.nonzero()[0].tolist():
            started = parse_deal(deals[int(batch.game[slot]) % len(deals)], Rules())
            assert (batch.state(slot).row[: HANDS + 3] == started.row[: HANDS + 3]).all()
    assert batch.game.max() > len(deals)
    again = SelfPlayBatch(3, seed=SEED, deals=deals)
    again.load_state_dict(batch.state_dict())
    assert (np.array(steps(batch, 200)[-1][0]) == steps(again, 200)[-1][0]).all()


def test_a_seed_gives_the_same_drawn_deals_and_another_seed_others() -> None:
    one, same, other = (SelfPlayBatch(64, seed=seed, deals=drawn).rows[:, HANDS] for seed in (1, 1, 2))
    assert (one == same).all()
    assert len({*one.tolist()} & {*other.tolist()}) == 0


def test_make_vec_takes_deals_of_ones_own() -> None:
    envs: Any = gymnasium.make_vec(
        "ddz_env/DouDizhu-v0", N, "vector_entry_point", role="landlord", opponents="rules", deals=[JOKERS]
    )
    envs.reset(seed=0)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(100):
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in envs.unwrapped.action_masks()]
        _, _, terminated, _, _ = envs.step(np.array(actions))
        ended += int(terminated.sum())
    assert ended > N
    assert {str(envs.unwrapped._games.state(index).bottom) for index in range(N)} == {JOKERS.rpartition(" / ")[2]}


def test_numbers_count_the_deals_of_a_vector_environment() -> None:
    numbers: list[int] = []

    def counted(rng: np.random.Generator, number: int) -> str:
        numbers.append(number)
        return JOKERS

    envs = DouDizhuVectorEnv(3, role="landlord", deals=counted, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert numbers == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("deals", "message"),
    [
        ("no_such_module:deal", "no_such_module"),
        ("math:no_such_function", "no_such_function"),
        ("math:pi", "is not a function"),
        ([], "not []"),
        (3, "not 3"),
        (["345 / 678"], "must be 3 hands as dealt"),
        ([JOKERS.replace("R", "B")], "2 cards of rank B"),
        ([State.new(1, "mini")], "mini rules"),
        ([3], "not 3"),
    ],
)
def test_what_is_no_deal_is_named(deals: Any, message: str) -> None:
    with pytest.raises(DouDizhuError) as error:
        SelfPlayBatch(2, deals=deals)
    assert message in str(error.value)


def test_a_function_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_deals.py").write_text(f"def deal(rng, number):\n    return {JOKERS!r}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert format_deal(CustomDeals("my_own_deals:deal", Rules()).state(1, 2, 3)) == JOKERS
