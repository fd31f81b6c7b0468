"""A peer's game and ours, played side by side: the same seat to act, the same moves, the same end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import pytest

from ddz_env.core.notation import Move
from ddz_env.core.state import State
from tests.oracles.positions import Position


class Peer(Protocol):
    """A game of theirs; an action is what names a move there."""

    seat: int
    legal: Iterable[Any]
    is_over: bool

    def action(self, move: Move) -> Any: ...

    def play(self, action: Any) -> None: ...


Pair = tuple[Any, State]


def assert_same_moves(peer: Peer, state: State) -> dict[Any, Move]:
    """Both sides have the same seat to act and the same moves; return them by their actions."""
    moves = state.legal_moves()
    ours = {peer.action(move): move for move in moves}
    assert len(ours) == len(moves), "two moves are one to the peer"
    assert peer.seat == state.seat
    assert sorted(peer.legal) == sorted(ours)
    return ours


def play(peer: Peer, state: State, move: Move) -> None:
    peer.play(peer.action(move))
    state.step(move)


def check_games(
    deal: Callable[[np.random.Generator], Pair], ended: Callable[..., None], number: int, seed: int
) -> None:
    """Play random games; compare before every move until enough positions are compared, and how the games end."""
    rng, compared = np.random.default_rng(seed), 0
    while compared < number:
        peer, state = deal(rng)
        while not peer.is_over:
            ours = assert_same_moves(peer, state)
            compared += state.stage == "play"
            shy = state.stage == "bid" and rng.random() < 0.5
            play(peer, state, ours[0] if shy else ours[sorted(ours)[int(rng.integers(len(ours)))]])
        assert state.is_over
        ended(peer, state)


def check_positions(begun: Callable[[Position], Pair], positions: Iterable[Position], number: int) -> None:
    """Compare rare positions; leads and follows must both be common."""
    leads = 0
    for position in positions:
        peer, state = begun(position)
        for move in position.moves:
            play(peer, state, Move(*move))
        leads += all(not move.is_pass for move in assert_same_moves(peer, state).values())
    assert number // 10 < leads < number // 2


def often(usual: int, long: int) -> pytest.MarkDecorator:
    """A number of comparisons, and in the long suite more with another seed."""
    return pytest.mark.parametrize(("number", "seed"), [(usual, 1), pytest.param(long, 3, marks=pytest.mark.long)])
