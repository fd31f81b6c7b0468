"""Random play with observations as RLCard's agents read them."""

import numpy as np
from rlcard.agents import RandomAgent

from tests.integrations.speed import aec, single


def through(program):
    """RLCard's random agent in the Gymnasium environment."""
    game, player = program.make_game(), RandomAgent(400)

    def some(decisions):
        over = True
        for _ in range(decisions):
            observation = game.reset()[0] if over else observation  # noqa: F821
            observation, _, over, *_ = game.step(player.step(program.rlcards(observation)))
        return decisions

    return some


def through_aec(program):
    """The AEC environment, every seat."""
    game, rng = program.make_game(), np.random.default_rng(0)

    def some(decisions):
        done = 0
        while done < decisions:
            game.reset()
            for _ in game.agent_iter():
                observation, _, over, _, _ = game.last()
                game.step(None if over else rng.choice(program.rlcards(observation)["raw_legal_actions"]))
                done += not over
        return done

    return some


PLAYS = {"rlcard": (through, single), "rlcard-nfsp": (through_aec, aec)}
