"""Fit how players stray from the rule agent's move: the responses of :mod:`agents.worlds.rules_player`.

Games of one kind of player are played with all cards open.  At every decision that was not forced the facts are
collected that the likelihood reads (:func:`agents.worlds.likelihood.describe`), and the response is fitted to them
by maximum likelihood: expectation-maximization over the share that plays anything, and within it the minorization of
Hunter (2004, "MM algorithms for generalized Bradley-Terry models") for frequencies of which some are not on offer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.worlds.likelihood import (
    F_COUNTS,
    F_KIND,
    F_MOVES,
    F_OWN_KICKERS,
    F_SETS,
    F_SITUATION,
    FACTS,
    N_KINDS,
    N_SITUATIONS,
    SAME,
    T_UNIFORM,
    log_likelihood,
)
from agents.worlds.rules_player import Response, describe_move
from ddz_env import State
from ddz_env.actions import BID_BASE
from ddz_env.agent import Agent
from ddz_env.generators import published_generator
from ddz_env.playing import play_one, seat_generators
from ddz_env.registry import make_agent
from training.arena.results import OnProgress, no_progress

FIT_SEED = 1_000_003
"""Seed of the games that responses are fitted on; nothing is reported on them."""
_LEAST = 1e-3
"""Shares and frequencies stay this far from 0 and 1: a player never seen to do something may do it tomorrow."""
_ROUNDS = 60

FloatArray = npt.NDArray[np.float64]


def decision_facts(agent: str, games: int, seed: int = FIT_SEED, on_progress: OnProgress = no_progress) -> FloatArray:
    """Let an agent play against itself and describe every play decision that was not forced.

    Args:
        agent: An agent's specification (:func:`ddz_env.registry.make_agent`).
        games: How many games.
        seed: Their seed.
        on_progress: Told how many games are done.

    Returns:
        Shape ``[decisions, FACTS]``, float64.
    """
    player = make_agent(agent)
    facts: list[FloatArray] = []
    for game in range(games):
        on_progress(game, games)
        facts += _facts_of_game(player, seed, game)
    on_progress(games, games)
    return np.array(facts).reshape(-1, FACTS)


def _facts_of_game(player: Agent, seed: int, game: int) -> list[FloatArray]:
    state, facts = State.new(seed=seed, game=game), []
    agents = [player] * state.rules.players
    rngs = seat_generators([seed, game], len(agents), published_generator)
    while not state.is_over:
        before = state.row.copy()
        move = play_one(state, agents, rngs)
        if move.main < BID_BASE:
            described = describe_move(before, state.rules, move)
            if described[F_MOVES] > 1:
                facts.append(described)
    return facts


def fit_response(facts: FloatArray) -> Response:
    """The response under which described moves are most likely.

    Args:
        facts: Shape ``[decisions, FACTS]`` (:func:`decision_facts`).
    """
    offered = facts[:, F_COUNTS : F_COUNTS + N_KINDS] > 0
    situation, kind = facts[:, F_SITUATION].astype(int), facts[:, F_KIND].astype(int)
    choice = (kind == SAME) & (facts[:, F_SETS] > 1)
    table, own, share = np.full((N_SITUATIONS, N_KINDS), 1 / N_KINDS), 0.5, 0.5
    for _ in range(_ROUNDS):
        within = _strayed(facts, table, own)
        anything = share / facts[:, F_MOVES]
        strayed = 1 - anything / (anything + (1 - share) * within)
        share = float(np.clip(1 - strayed.mean(), _LEAST, 1 - _LEAST))
        if choice.any():
            own = float(np.clip(np.average(facts[choice, F_OWN_KICKERS], weights=strayed[choice]), _LEAST, 1 - _LEAST))
        for row in range(N_SITUATIONS):
            here = situation == row
            table[row] = _frequencies(table[row], kind[here], offered[here], strayed[here])
    kinds = tuple(tuple(round(float(value), 4) for value in row) for row in table)
    return Response(kinds, round(own, 4), round(share, 4))


def _strayed(facts: FloatArray, table: FloatArray, own: float) -> FloatArray:
    """The probability of each move for a player that never plays anything."""
    words = Response(tuple(map(tuple, table.tolist())), own, 0.5).table()
    words[T_UNIFORM] = 0.0
    return np.exp([log_likelihood(line, words) for line in facts])


def _frequencies(
    old: FloatArray, kind: npt.NDArray[np.int64], offered: npt.NDArray[np.bool_], weights: FloatArray
) -> FloatArray:
    """One step towards the frequencies of kinds in one situation, each seen against those offered beside it."""
    chosen = np.bincount(kind, weights, N_KINDS)
    against = (offered * (weights / (offered @ old))[:, None]).sum(axis=0)
    new = np.where(against > 0, chosen / np.maximum(against, 1e-12), 0.0)
    return np.asarray(np.maximum(new / new.sum(), _LEAST))


def mean_log_likelihood(facts: FloatArray, response: Response) -> float:
    """Nats a decision that a response gives to described moves: the higher, the better it knows the player."""
    words = response.table()
    return float(np.mean([log_likelihood(line, words) for line in facts]))
