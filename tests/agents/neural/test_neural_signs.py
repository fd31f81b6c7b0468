"""Signs: the weakest solo and pair of an enemy that a seat let pass, among the moves that an observation shows."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.columns import describe_observations
from ddz_agents.neural.features import SIGNS
from ddz_env import Rules, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.observation import HISTORY, observe

NEXT, PREVIOUS = 0, 1
SOLO, PAIR = 0, 1
RANKS = "3456789TJQKA2BR"


def signs_of(state: State, seat: int) -> np.ndarray:
    """Of next and previous seat, on solos and pairs, by rank: shape ``[2, 2, 15]``."""
    return describe_observations(observe(state, seat)[None], 0)[0, -SIGNS:].reshape(2, 2, 15)


def lowest(state: State, seat: int, other: int, kind: int) -> str | None:
    """The rank from which on a seat is seen to have passed."""
    columns = signs_of(state, seat)[other, kind]
    first = int(columns.argmax()) if columns.any() else 15
    assert columns.tolist() == [0] * first + [1] * (15 - first)
    return RANKS[first] if first < 15 else None


def played(*moves: str, hands: tuple[str, ...] = ("34678899T", "55778JQ", "669TKKA")) -> State:
    """Moves from a deal of few cards; seat 0 is the landlord, 1 and 2 are the peasants."""
    state = State.from_hands(hands, check_sizes=False)
    for move in moves:
        state.step(move)
    return state


# --- What is a sign ---------------------------------------------------------------------------------------------------


def test_who_passes_on_an_enemys_solo_passed_on_all_higher_ones() -> None:
    state = played("9", "pass", "T")
    assert lowest(state, 0, NEXT, SOLO) == "9"
    assert lowest(state, 2, PREVIOUS, SOLO) == "9"
    assert signs_of(state, 0)[NEXT, PAIR].sum() == 0
    assert signs_of(state, 0)[PREVIOUS].sum() == 0


def test_letting_a_partners_solo_pass_is_no_sign() -> None:
    state = played("4", "8", "pass", "pass")  # the peasant down plays an 8; the peasant up and the landlord let it pass
    assert lowest(state, 1, NEXT, SOLO) is None
    assert lowest(state, 1, PREVIOUS, SOLO) == "8"  # the landlord is an enemy
    assert lowest(state, 2, NEXT, SOLO) == "8"
    state = played("4", "5", "K", "pass", "pass")  # the other way round
    assert lowest(state, 2, PREVIOUS, SOLO) is None
    assert lowest(state, 2, NEXT, SOLO) == "K"
    assert lowest(state, 0, NEXT, SOLO) is None


# --- A naive reading --------------------------------------------------------------------------------------------------


def naive_signs(state: State, observer: int) -> np.ndarray:
    """Read the moves one by one, as a person would."""
    found = np.zeros((2, 2, 15), np.float32)
    players, last = state.rules.players, None
    for seat, move in state.history[-HISTORY:]:
        if move.main >= BID_BASE:
            continue
        cards = {rank: count for rank, count in enumerate(move.cards.counts) if count}
        if cards:
            last = seat, cards
        elif last is not None and seat != observer:
            owner, beaten = last
            enemies = "landlord" in (state.role(owner), state.role(seat))
            ((rank, count),) = beaten.items() if len(beaten) == 1 else ((0, 0),)
            if enemies and count in (1, 2):
                found[(seat - observer) % players - 1, count - 1, rank:] = 1
    return found


def positions(rules: Rules, games: int) -> list[State]:
    """Every stage of games in which everybody likes solos, pairs and passing."""
    rng, found = np.random.default_rng(7), list[State]()
    for game in range(games):
        state = State.new(5, rules, game)
        while not state.is_over:
            found.append(state.copy())
            legal = np.array(state.legal_actions())
            weights = np.where(legal == 0, 6.0, np.where(legal < 29, 3.0, 1.0))  # pass, then solos and pairs
            state.step_action(int(rng.choice(legal, p=weights / weights.sum())))
    return found


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini", "half-deck"])
def test_signs_are_what_a_naive_reading_of_the_history_finds(rules: str) -> None:
    preset = Rules.preset(rules)
    states = positions(preset, 60 if rules == "standard" else 15)
    seats = [(state, seat) for state in states for seat in range(preset.players)]
    observations = np.stack([observe(state, seat) for state, seat in seats])
    expected = np.stack([naive_signs(state, seat) for state, seat in seats])
    found = describe_observations(observations, 0)[:, -SIGNS:]
    assert (found.reshape(expected.shape) == expected).all()
    assert len(seats) > (9000 if rules == "standard" else 300)
    others = expected[:, : preset.players - 1]
    assert others.any(axis=3).mean(axis=0).min() > 0.02  # of each seat, on each kind
    roles = np.array([str(state.role(seat)) for state, seat in seats])
    for role in ("landlord", "peasant_down"):
        assert expected[roles == role].any()


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini"])
def test_tensor_operations_read_the_same_signs_to_the_bit(rules: str) -> None:
    torch = pytest.importorskip("torch")
    from ddz_agents.neural.tensor_columns import read_signs

    states = positions(Rules.preset(rules), 15)
    observations = np.stack([observe(state, seat) for state in states for seat in range(state.rules.players)])
    found = read_signs(torch.from_numpy(observations)).numpy()
    assert found.dtype == np.float32
    assert found.tobytes() == np.ascontiguousarray(describe_observations(observations, 0)[:, -SIGNS:]).tobytes()
