"""How every program judges what it has learned: 4,000 games against random play for each seed."""

import sys

import gymnasium
import numpy as np

SEEDS = 1000, 2000, 3000  # game i of a seed has the seed plus i: seeds that are next to each other share deals


def evaluate(act, **options):
    """The share of 4,000 games won against random play: 40 at each of 100 tables, in the roles as they are dealt."""
    options |= {"rules": "mini", "opponents": "random", "autoreset_mode": "SameStep", "illegal_action": "raise"}
    games = gymnasium.make_vec("ddz_env:ddz_env/DouDizhu-v0", 100, **options)
    observations, infos = games.reset(seed=0)
    played, won = np.zeros(100, int), 0
    while (playing := played < 40).any():
        actions = act(observations, infos["action_mask"])
        observations, rewards, over, _, infos = games.step(actions)
        won += (rewards[playing] > 0).sum()
        played += over
    games.close()
    return won / 4000


def main(train, **options):
    """Train with the seeds on the command line, and evaluate each policy in games with these options."""
    for seed in map(int, sys.argv[1:] or SEEDS):
        won = evaluate(train(seed), **options)
        print(f"seed {seed}: {won:.1%} of 4,000 games won against random play", flush=True)
