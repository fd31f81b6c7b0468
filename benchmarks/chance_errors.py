"""How far the chances that hints show are from those of worlds that are played out, and from the games' own results.

``python -m benchmarks.chance_errors --positions 600`` plays that many games of the policy with itself and looks at one
decision of each.  The chance of the policy's move is compared with the share of worlds that its side wins when the
policy plays them to the end; they are drawn from many more particles than the estimate has.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural_search.win_probability import WinProbability
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN
from ddz_env.envs.side_by_side import play_games_together
from ddz_env.playing.many import request_moves
from ddz_training.measure.statistics import normal_interval

PARTICLES = 1500
FIRST_DEAL = 9_000_000


def decisions(agent: ModelAgent, deals: range) -> Iterator[tuple[State, Move, bool]]:
    """One decision between several moves of each game, the move that is played, and whether its side wins."""
    for deal in deals:
        rng, state, moments = np.random.default_rng([1, deal]), State.new(0, game=deal), []
        while not state.is_over:
            move = agent.act(state.view(), rng)
            if len(state.view().legal_actions()) > 1:
                moments.append((state.copy(), move))
            state.step(move)
        before, move = moments[int(rng.integers(len(moments)))]
        yield before, move, state.returns()[before.seat] > 0


def played_out(agent: ModelAgent, games: list[State], seat: int) -> np.ndarray:
    """Whether a seat's side wins each game when the policy plays it to the end."""
    rng = np.random.default_rng(0)  # it draws nothing: the likeliest move is played
    rows, rings = np.stack([game.row for game in games]), np.stack([game.view().ring for game in games])
    rules, seats = games[0].rules, np.zeros((len(games), 3), np.int64)
    play_games_together(
        rows, rules, seats, lambda _, waiting: request_moves(agent, waiting), lambda game, of: rng, rings=rings
    )
    ended = [State(row, rules) for row in rows]
    return np.array([game.returns()[seat] > 0 for game in ended])


def reference(agent: ModelAgent, estimator: WinProbability, state: State, move: Move, worlds: int) -> float:
    """The share of so many worlds that are won after a move."""
    view: View = state.view()
    rng = np.random.default_rng([2, len(view.history)])
    rows, weights = estimator.sample_worlds(view, rng)
    drawn, counts = np.unique(rng.choice(len(rows), worlds, p=weights / weights.sum()), return_counts=True)
    games = []
    for row in rows[drawn]:
        game = state.copy()
        game.row[HANDS : HANDS + 3], game.row[HIDDEN] = row[HANDS : HANDS + 3], row[HIDDEN]
        game.step(move)
        games.append(game)
    return float(counts @ played_out(agent, games, view.seat) / worlds)


def main() -> None:
    """Print the mean error, and the Brier scores, with their 95 % intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=600)
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--first-deal", type=int, default=FIRST_DEAL)
    asked = parser.parse_args()
    model = load_policy()
    agent, shown, many = ModelAgent(model), WinProbability(model), WinProbability(model, worlds=PARTICLES)
    errors, briers = [], []
    deals = range(asked.first_deal, asked.first_deal + asked.positions)
    for number, (state, move, won) in enumerate(decisions(agent, deals), 1):
        chance = shown.estimate(state.view(), [move], np.random.default_rng([3, number]))[0].chance
        errors.append(100 * abs(chance - reference(agent, many, state, move, asked.worlds)))
        briers.append((chance - won) ** 2)
        if number % 20 == 0 or number == asked.positions:
            error, brier = normal_interval(errors), normal_interval(briers)
            print(
                f"{number} positions: mean error {error.mean:.1f} points ({error.low:.1f} to {error.high:.1f}), "
                f"Brier score of the game's result {brier.mean:.3f} ({brier.low:.3f} to {brier.high:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
