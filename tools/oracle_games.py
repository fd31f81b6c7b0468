"""Random games in the three deals of the thesis's table 4.4 by the tests' slow rules: ``python tools/oracle_games.py``.

They share no code with the engine but the table of main groups; half an hour for 400 games of each deal.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # tests

from ddz_env import Rules
from ddz_papers.thesis_2020.complexity_experiment import DEALS, RULES, deal_state
from tests.oracles.reference import Game

GAMES = 400


def main() -> None:
    """Print first moves, mean value and mean length of each deal, the means with 95 % intervals."""
    rules, rng = Rules.preset(RULES), random.Random(0)
    for name in DEALS:
        hands = [deal_state(name).hand(seat).counts for seat in range(rules.players)]
        first, values, lengths = Game(hands, rules).legal_moves(), [], []
        for number in range(GAMES):
            game = Game(hands, rules)
            game.play(first[number * len(first) // GAMES])
            decisions = 1
            while game.winner is None:
                game.play(rng.choice(game.legal_moves()))
                decisions += 1
            values.append(1 if game.winner == 0 else -1)
            lengths.append(decisions)
        means = (f"{np.mean(sample):.2f} ±{1.96 * np.std(sample) / GAMES**0.5:.2f}" for sample in (values, lengths))
        print(name, len(first), *means)


if __name__ == "__main__":
    main()
