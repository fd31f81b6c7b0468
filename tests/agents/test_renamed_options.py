"""Options by their names of earlier versions are refused, with what they are called today."""

from __future__ import annotations

import pytest

from ddz_agents.neural_search.agent import ModelSearchOptions
from ddz_agents.renamed_options import RENAMED, RENAMED_VALUES
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError

CASES = [
    ("neural-ismcts:settled=1", "the option 'settled' is called 'skip_search_above' now"),
    ("neural-ismcts:iterations=20,ahead=2", "the option 'ahead' is called 'leaf_policy_steps' now"),
    ("neural-ismcts:worlds=own", "worlds='own' is called worlds='particles' now"),
    ("payoff:play=rules", "the option 'play' is called 'card_player' now"),
    ("payoff:player=random", "the option 'player' is called 'rollout_player' now"),
    ("payoff-search:player=random", "the option 'player' is called 'rollout_player' now"),
    ("rules:bidder=payoff,bidder.player=random", "the option 'player' is called 'rollout_player' now"),
]


@pytest.mark.parametrize(("agent", "message"), CASES)
def test_an_option_of_an_earlier_version_is_refused_with_its_name_of_today(agent: str, message: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=message):
        make_agent(agent)


def test_every_renamed_option_has_a_case() -> None:
    named = {message.split("'")[1] for _, message in CASES}
    assert named == {*RENAMED, *(value for _, value in RENAMED_VALUES)}


def test_an_agent_without_an_option_of_that_name_never_had_it() -> None:
    """Only options that were renamed are told from options that never were."""
    with pytest.raises(InvalidAgentOptionError, match="there is no option 'play'"):
        ModelSearchOptions.from_values(play="rules")
