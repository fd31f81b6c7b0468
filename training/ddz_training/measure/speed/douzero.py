"""Decisions of DouZero's networks: our agent beside DouZero's own, on the same decisions with the same weights.

The weights are random; what they are does not change the work.  Features are on the clock on both sides, the legal
moves on ours alone: DouZero's agent is handed them.
"""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ddz_env import Move, State, View
from ddz_training.measure.speed.benchmark import Contender, Work, rate

DECISIONS = 256
"""As many as random games give, of all roles, where there is more than one legal move."""

_NUMBERS = (*range(3, 15), 17, 20, 30)
"""DouZero's number of each rank."""


@functools.cache
def decisions() -> tuple[View, ...]:
    """What is decided."""
    rng, game = np.random.default_rng(0), 0
    views: list[View] = []
    while len(views) < DECISIONS:
        state = State.new(0, "douzero", game)
        while not state.is_over:
            moves = state.legal_moves()
            if len(moves) > 1:
                views.append(state.view())
            state.step(moves[int(rng.integers(len(moves)))])
        game += 1
    return tuple(views[:DECISIONS])


@contextmanager
def _checkpoints() -> Iterator[Path]:
    """A folder of random weights."""
    import torch

    from ddz_agents.external.douzero.network import new_networks

    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, network in new_networks().items():
            torch.save(network.state_dict(), Path(folder) / f"{name}.ckpt")
        yield Path(folder)


@rate
def ours(together: int) -> Work:
    """Our agent.

    Args:
        together: How many decisions are made at once.
    """
    from ddz_agents.external.douzero.agent import DouZeroAgent

    with _checkpoints() as folder:
        agent = DouZeroAgent(folder)
    rngs = [np.random.default_rng(0)] * together
    while True:
        for first in range(0, DECISIONS, together):
            agent.act_batch(decisions()[first : first + together], rngs)
        yield DECISIONS


@rate
def theirs() -> Work:
    """DouZero's ``DeepAgent``, with the features that it computes."""
    from ddz_env.core.view import ROLES

    sys.modules.setdefault("git", types.ModuleType("git"))  # the package wants it to log trainings
    agent_of = importlib.import_module("douzero.evaluation.deep_agent").DeepAgent
    names = dict(zip(ROLES, ("landlord", "landlord_down", "landlord_up"), strict=True))
    with _checkpoints() as folder:
        agents = {name: agent_of(name, str(folder / f"{name}.ckpt")) for name in names.values()}
    asked = [(agents[names[view.role or ""]], infoset(view, list(names.values()))) for view in decisions()]
    while True:
        for agent, seen in asked:
            agent.act(seen)
        yield DECISIONS


def infoset(view: View, names: list[str]) -> Any:
    """What DouZero's agent reads of a decision.

    Args:
        view: What the seat to act sees; seat 0 is the landlord.
        names: DouZero's names of the seats.
    """
    moves = [move for _, move in view.history]
    last = {
        name: next((move for seat, move in reversed(view.history) if seat == place), None)
        for place, name in enumerate(names)
    }
    return SimpleNamespace(
        player_position=names[view.seat],
        player_hand_cards=_numbers(view.hand.counts),
        other_hand_cards=_numbers(view.unseen.counts),
        num_cards_left_dict=dict(zip(names, view.hand_sizes, strict=True)),
        played_cards={name: _numbers(view.played(seat).counts) for seat, name in enumerate(names)},
        last_move=_cards(view.target[1] if view.target else None),
        last_move_dict={name: _cards(move) for name, move in last.items()},
        card_play_action_seq=[_cards(move) for move in moves],
        bomb_num=sum(move.category in ("bomb", "rocket") for move in moves),
        legal_actions=[_cards(move) for move in view.legal_moves()],
    )


def _cards(move: Move | None) -> list[int]:
    return _numbers(move.cards.counts) if move else []


def _numbers(counts: tuple[int, ...]) -> list[int]:
    return [number for number, count in zip(_NUMBERS, counts, strict=True) for _ in range(count)]


NETWORKS = (
    Contender("ddz-env douzero, one decision at a time", ours(1)),
    Contender(f"ddz-env douzero, {DECISIONS} decisions at once", ours(DECISIONS)),
    Contender("DouZero DeepAgent", theirs(), is_peer=True),
)
