"""Tabular policies for OpenSpiel's exact algorithms, estimated by asking agents in every information state.

Only for games whose tree can be walked through (``rules="micro"``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyspiel

from ddz_env.core.notation import Move
from ddz_env.peers.openspiel.game import DouDizhuGame, DouDizhuState
from ddz_env.playing.agent import Agent, is_cheating
from ddz_env.playing.game import notify_of_game
from ddz_env.support.checks import check_integer, check_seed
from ddz_env.support.errors import InvalidOptionError

_MAX_SAMPLES = 2**31


class Situation(NamedTuple):
    """An information state in which a player acts, with the player's previous information state and action.

    Attributes:
        state: A state of it.
        before: The player's last information state and action before it; None at the first.
    """

    state: DouDizhuState
    before: tuple[str, int] | None


def list_information_states(game: DouDizhuGame) -> dict[str, Situation]:
    """List every information state in which a player acts, with predecessors before their successors."""
    situations: dict[str, Situation] = {}
    nothing: tuple[tuple[str, int] | None, ...] = (None,) * game.num_players()
    waiting = [(game.new_initial_state(), nothing)]
    while waiting:
        state, before = waiting.pop()
        player, key = state.current_player(), ""
        if player >= 0:
            key = state.information_state_string()
            situations.setdefault(key, Situation(state, before[player]))
        for action in reversed(state.legal_actions()):
            history = (*before[:player], (key, action), *before[player + 1 :]) if player >= 0 else before
            waiting.append((state.child(action), history))
    return situations


def estimate_tabular_policy(
    situations: Mapping[str, Situation], agent: Agent, samples: int = 1, seed: int = 0
) -> pyspiel.TabularPolicy:
    """Estimate an agent's action probabilities in each information state by repeatedly asking for its move.

    The agent chooses whole moves, as in every game of ours.  A kicker has the share that it has among the moves
    with the same stages before it.  Where the agent never comes, because it never chose what leads there, it is not
    needed, and the policy is uniform: that changes no return against any opponent.

    Args:
        situations: Those of :func:`list_information_states`.
        agent: The agent; before each question it hears the game so far.
        samples: Questions in each information state, each with a generator of its own; 1 suffices where nothing is
            random.
        seed: Seed of the generators.

    Returns:
        A policy for every information state.

    Raises:
        InvalidOptionError: If the agent cheats, which no policy of information states can, or samples is not a number
            from 1 on.
        InvalidDealError: If the seed is out of range.
    """
    if is_cheating(agent):
        raise InvalidOptionError(f"{agent.name} looks at the whole state: it has no policy on information states")
    samples, seed = check_integer("samples", samples, 1, _MAX_SAMPLES, InvalidOptionError), check_seed(seed)
    chosen: dict[str, Counter[int]] = defaultdict(Counter)
    for number, (state, before) in enumerate(situations.values()):
        if before is not None and not chosen[before[0]][before[1]]:
            continue
        for move, times in _count_choices(state, agent, samples, (seed, number)).items():
            stage = state
            for action in move.actions:
                chosen[stage.information_state_string()][action] += times
                stage = stage.child(action)
    return pyspiel.TabularPolicy(
        {
            key: _action_probabilities(situation.state.legal_actions(), chosen[key])
            for key, situation in situations.items()
        }
    )


def _count_choices(state: DouDizhuState, agent: Agent, samples: int, seeds: tuple[int, int]) -> Counter[Move]:
    """Count how often an agent chooses each legal move, or return an empty counter in the middle of a move."""
    game = state.game
    if game is None or game.stage == "kicker":
        return Counter()
    moves = game.legal_moves()
    if len(moves) == 1:
        return Counter({moves[0]: samples})
    answers: Counter[Move] = Counter()
    for sample in range(samples):
        view = game.view()
        notify_of_game(agent, view.seat, game.rules, view.history)
        answers[agent.act(view, np.random.default_rng((*seeds, sample)))] += 1
    return answers


def _action_probabilities(legal: list[int], chosen: Counter[int]) -> list[tuple[int, float]]:
    total = chosen.total()
    return [(action, chosen[action] / total if total else 1 / len(legal)) for action in legal]
