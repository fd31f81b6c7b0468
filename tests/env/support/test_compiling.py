"""The compile cache cannot go stale, and kernels stay in unsigned 64-bit words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from ddz_env import State
from ddz_env.core.engine import deal, kickers, legal, random, score, words
from ddz_env.core.engine.layout import HANDS
from ddz_env.support.compiling import kernel
from tests.packages import ROOT

KERNEL = """
import numpy as np
from ddz_env.support.compiling import kernel

TABLE = np.array([10, 11])

@kernel
def look_up(index):
    return TABLE[index]
"""


@kernel
def half_of(number: int) -> int:
    if number % 2:
        raise ValueError("odd", number)
    return number // 2


@kernel
def quarter_of(number: int) -> int:
    return half_of(half_of(number))


def run_toy(folder: Path, cache: Path, **environment: str) -> str:
    """Run the toy kernel in a fresh process and return what it prints: the value and the number of cache hits."""
    code = "from toy.kernels import look_up; print(look_up(1), sum(look_up.stats.cache_hits.values()))"
    paths = os.pathsep.join([str(folder), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": paths, "DDZ_CACHE_DIR": str(cache), **environment}
    return subprocess.check_output([sys.executable, "-c", code], env=env, text=True, cwd=folder).strip()


def test_an_edit_is_seen_and_numbas_own_folder_is_left_alone(tmp_path: Path) -> None:
    package, cache, other = tmp_path / "toy", tmp_path / "cache", tmp_path / "numba"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(KERNEL)
    assert run_toy(tmp_path, cache, NUMBA_CACHE_DIR=str(other)) == "11 0"
    assert not other.exists()
    assert run_toy(tmp_path, cache) == "11 1", "the second process loads the compiled code"
    (package / "kernels.py").write_text(KERNEL.replace("11", "99"))
    assert run_toy(tmp_path, cache) == "99 0"


def test_what_a_kernel_raises_inside_another_one_arrives() -> None:
    assert quarter_of(8) == 2
    with pytest.raises(ValueError, match="odd") as caught:
        quarter_of(6)
    assert caught.value.args == ("odd", 3)


def test_no_signed_or_float_words_leak_out_of_the_kernels() -> None:
    """In Numba uint64 with a literal or a loop index silently becomes int64 or float64."""
    state, u = State.new(1), np.uint64
    hand, rules, mask = state.row[HANDS], state.rule_words, np.zeros(7, u)
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        *((function, (hand,)) for function in (words.popcount, words.lowest_bit)),
        *(
            (function, (hand, u(1)))
            for function in (words.select_bit, words.count_of, words.ranks_with_count, words.run_starts)
        ),
        *((function, (hand, u(3), u(1))) for function in (words.remove_cards, words.add_cards)),
        *((function, (hand, hand)) for function in (words.remove_hand, words.add_hand)),
        *((function, (u(1),)) for function in (random.advance, random.mix)),
        *(
            (function, (u(1), u(3)))
            for function in (random.scale_below, random.stream_state, words.body_mask, words.cards_of_ranks)
        ),
        (kickers.distinct_kickers, (hand, u(1), rules)),
        (legal.segment_starts, (hand, u(1), True, u(0), rules)),
        (legal.count_legal, (mask,)),
        (legal.nth_legal, (mask, u(0))),
        (legal.bomb_ranks, (hand, rules)),
        (score.compute_stake, (state.row,)),
    ]
    for function, arguments in calls:
        function(*arguments)
        for signature in function.nopython_signatures:
            if numba.int64 not in signature.args:  # other tests may have called it with plain integers
                assert signature.return_type == numba.uint64, function.__name__
    deal.distribute_cards(hand, u(20), u(1))
    assert set(deal.distribute_cards.nopython_signatures[0].return_type) == {numba.uint64}


def test_word_operations_against_counts() -> None:
    rng = np.random.default_rng(0)
    most = np.array([4] * 13 + [1, 1])

    def word(counts: np.ndarray) -> np.uint64:
        return np.uint64(sum(1 << (16 * copy + rank) for rank in range(15) for copy in range(counts[rank])))

    for _ in range(300):
        a, b = rng.integers(0, most + 1), rng.integers(0, most + 1)
        copies = int(rng.integers(1, 5))
        chosen = rng.random(15) < 0.4
        bits = np.uint64(sum(1 << rank for rank in range(15) if chosen[rank]))
        assert words.popcount(word(a)) == a.sum()
        assert words.remove_hand(word(a), word(b)) == word(np.maximum(a - b, 0))
        assert words.add_hand(word(a), word(b)) == word(np.minimum(a + b, 4))
        assert words.remove_cards(word(a), bits, np.uint64(copies)) == word(
            np.where(chosen, np.maximum(a - copies, 0), a)
        )
        assert words.cards_of_ranks(bits, np.uint64(copies)) == word(np.where(chosen, copies, 0))
        assert words.ranks_with_count(word(a), np.uint64(copies)) == sum(
            1 << rank for rank in range(15) if a[rank] == copies
        )
        assert ((word(a) & ~word(b)) == 0) == bool((a <= b).all())
        assert [words.count_of(word(a), np.uint64(rank)) for rank in range(15)] == a.tolist()


def test_deals_are_uniform_over_cards() -> None:
    """Each of the 54 cards lands in each hand in proportion to the hand's places (chi-square, 4,000 deals)."""
    counts = np.zeros((3, 15))
    for game in range(4000):
        state = State.new(5, game=game)
        counts += [state.hand(seat).counts for seat in range(3)]
    sizes, deck = np.array([20, 17, 17]), np.array([4] * 13 + [1, 1])
    expected = 4000 * np.outer(sizes, deck) / 54
    assert ((counts - expected) ** 2 / expected).sum() < 60, "28 degrees of freedom: p is about 0.0004"
