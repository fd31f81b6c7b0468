"""Whom a neural search believes the hidden seats to be, when it infers their hands from their moves."""

from __future__ import annotations

from agents.mcts.errors import check_choice
from agents.neural.model import PolicyModel
from agents.worlds.learned_player import LearnedPlayer
from agents.worlds.player_model import PlayerModel
from agents.worlds.rules_player import RESPONSES, RulesPlayer

INFERENCES = ("mixed", "policy", "rules")


def believed_players(model: PolicyModel, inference: str) -> tuple[PlayerModel, ...]:
    """The kinds of players that a hidden seat may be, equally likely before it has moved.

    Args:
        model: The policy that searches.
        inference: ``policy``: players like itself; ``rules``: the kinds fitted around the rule agent
            (:data:`agents.worlds.rules_player.RESPONSES`); ``mixed``: any of them.

    Raises:
        InvalidSearchOptionError: If there is no such inference.
    """
    check_choice("inference", inference, INFERENCES)
    rule_models = tuple(RulesPlayer(response) for response in RESPONSES)
    if inference == "rules":
        return rule_models
    own = LearnedPlayer(model)
    return (own,) if inference == "policy" else (own, *rule_models)
