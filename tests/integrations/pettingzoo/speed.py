"""Random play through PettingZoo's parallel API."""

import numpy as np

from tests.integrations.speed import aec


def through(program):
    """One game after the other."""
    game, rng = program.make_game(), np.random.default_rng(0)

    def some(decisions):
        done = 0
        while done < decisions:
            seen, _ = game.reset()
            while game.agents:
                actions = {seat: int((rng.random(400) * view["action_mask"]).argmax()) for seat, view in seen.items()}
                seen, *_ = game.step(actions)
                done += 1
        return done

    return some


PLAYS = {"pettingzoo": (through, aec)}
