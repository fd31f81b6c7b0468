"""The weights of a position by logistic regression: what the features say about who wins between rule agents.

``python -m training.tuning.regression`` prints them; rounded they are ``POSITION``, from which tuning starts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.mcts.simulate import landlord_won
from agents.rule_agent.mind import Mind, new_mind
from agents.rule_agent.position import POSITION, Appraiser, describe, new_appraiser, set_position
from agents.rule_agent.rules import rules_move
from agents.rule_agent.weights import WEIGHTS
from ddz_env import Rules
from ddz_env.engine.compiling import kernel
from ddz_env.engine.deal import new_game
from ddz_env.engine.layout import ROW_WORDS, STAGE, STAGE_PLAY
from ddz_env.engine.random import advance, key, mix
from ddz_env.engine.step import play_move

_EIGHTH = np.uint64(7)


@kernel
def gather(
    games: npt.NDArray[np.uint64],
    rules: npt.NDArray[np.uint64],
    mind: Mind,
    appraiser: Appraiser,
    w: npt.NDArray[np.int64],
    features: npt.NDArray[np.float64],
    won: npt.NDArray[np.float64],
) -> int:
    """Play games between rule agents and describe one position in eight.

    Args:
        games: The generator states of the deals, shape ``[n]``, uint64.
        rules: The rules array.
        mind: The rule agent's memory.
        appraiser: The evaluation's memory.
        w: The rule agent's weights.
        features: Output, shape ``[positions, 12]``, float64.
        won: Output, shape ``[positions]``: 1 where the landlord won.

    Returns:
        How many positions were written.
    """
    row = np.zeros(ROW_WORDS, np.uint64)
    found = 0
    for game in games:
        new_game(row, game, rules)
        first, state = found, game
        while row[STAGE] == STAGE_PLAY:
            state = advance(state)
            if mix(state) & _EIGHTH == 0 and found < won.size:
                set_position(row, rules, appraiser, w)
                describe(row, rules, appraiser)
                features[found] = appraiser.features
                found += 1
            main, kickers = rules_move(row, rules, mind, w)
            play_move(row, main, kickers, rules)
        for index in range(first, found):
            won[index] = 1.0 if landlord_won(row) else 0.0
    return found


def fit(features: npt.NDArray[np.float64], won: npt.NDArray[np.float64], steps: int = 30) -> npt.NDArray[np.float64]:
    """Logistic regression by Newton's method.

    Args:
        features: Shape ``[n, k]``.
        won: 0 or 1, shape ``[n]``.
        steps: Newton steps.

    Returns:
        The weights, shape ``[k]``.
    """
    weights = np.zeros(features.shape[1])
    for _ in range(steps):
        chance = 1.0 / (1.0 + np.exp(-np.clip(features @ weights, -30.0, 30.0)))
        curvature = (features * (chance * (1.0 - chance))[:, None]).T @ features + 1e-6 * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, features.T @ (won - chance))
    return weights


def regress(games: int, seed: int = 4242) -> tuple[npt.NDArray[np.float64], int, float]:
    """The weights, the number of positions and the log-loss of a number of games."""
    features, won = np.zeros((8 * games, len(POSITION))), np.zeros(8 * games)
    keys = np.array([key(np.uint64(seed), np.uint64(game)) for game in range(games)], np.uint64)
    found = gather(keys, Rules().words(), new_mind(), new_appraiser(), WEIGHTS, features, won)
    features, won = features[:found], won[:found]
    weights = fit(features, won)
    odds = features @ weights
    return weights, found, float(np.mean(np.logaddexp(0.0, odds) - won * odds))


def main() -> None:
    """Print what the regression says."""
    weights, found, loss = regress(10_000)
    print(f"{found:,} positions of 10,000 games, log-loss {loss:.4f}:", np.round(weights, 2).tolist())


if __name__ == "__main__":
    main()
