"""Our agents in RLCard's own environment, against RLCard's agents, in every seat.

``.integrations/rlcard/bin/python -m tests.integrations.rlcard.play_there [AGENT]``

An illegal move would raise.  Prints one line per opponent.
"""

from __future__ import annotations

import sys

import rlcard
from rlcard.agents import RandomAgent
from rlcard.models.doudizhu_rule_models import DouDizhuRuleAgentV1

from ddz_agents.external.rlcard_player import RLCardPlayer
from ddz_training.measure.statistics import wilson_interval

GAMES = 400


class Counted(RLCardPlayer):
    """Counts its decisions."""

    decisions = 0

    def step(self, state):
        self.decisions += 1
        return super().step(state)


def main(name="rules"):
    """Play and print."""
    env = rlcard.make("doudizhu", config={"seed": 0})
    opponents = {"RandomAgent": RandomAgent(env.num_actions), "doudizhu-rule-v1": DouDizhuRuleAgentV1()}
    players = {name: Counted(name), **opponents}
    for player, opponent in ((name, "RandomAgent"), (name, "doudizhu-rule-v1"), ("RandomAgent", "doudizhu-rule-v1")):
        for role in ("landlord", "peasants"):
            env.seed(0)
            env.set_agents([players[player if (seat == 0) == (role == "landlord") else opponent] for seat in range(3)])
            won = 0
            for _ in range(GAMES):
                _, payoffs = env.run()
                won += int(payoffs[0 if role == "landlord" else 1])
            print(f"{player} as {role} v {opponent}: {wilson_interval(won, GAMES).text_with_range()} %", flush=True)
    print(f"{players[name].decisions} decisions of {name}, all legal")


if __name__ == "__main__":
    main(*sys.argv[1:])
