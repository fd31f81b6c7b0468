"""Levels of play: names for agents, as far apart as their measured games say."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ddz_env import State
from ddz_env.core.errors import UnknownAgentError
from ddz_env.playing.agent import Agent
from ddz_env.playing.generators import agent_generator
from ddz_env.playing.registry import LEVELS, make_agent, read_agent, split_bidder
from ddz_training.experiments.experiment import Saved, read_saved
from ddz_training.experiments.levels import LEVELS_OF_PLAY, YARDSTICK, LevelOptions, pairs, rates, ratings
from ddz_training.experiments.matches import MatchResult
from tests.rooms import ROOT

RESULTS = ROOT / "docs" / "results" / "levels.csv"


@pytest.fixture(scope="module")
def saved() -> Saved[MatchResult]:
    return read_saved(MatchResult, RESULTS)


def test_the_ratings_are_those_of_the_committed_games(saved: Saved[MatchResult]) -> None:
    assert {level.name: level.elo for level in LEVELS} == {
        name: round(rating) for name, rating in ratings(saved.results).items()
    }
    assert {(one.agent, one.opponent) for one in saved.results} == set(pairs())


def test_neighbours_are_a_step_apart_and_the_easiest_is_no_random_player(saved: Saved[MatchResult]) -> None:
    for weaker, stronger in pairwise(LEVELS):
        assert 60 <= stronger.elo - weaker.elo <= 250, stronger.name
    assert rates(saved.results)[LEVELS[0].agent, YARDSTICK].mean >= 0.85
    assert "random" not in LEVELS[0].agent
    assert all(".external." not in read_agent(level.name)[0].__module__ for level in LEVELS)  # these need extras


def test_a_slice_of_the_games_can_be_played_again(saved: Saved[MatchResult]) -> None:
    again = LEVELS_OF_PLAY.run(LevelOptions(deals=2, slow=1, processes=1)).results
    fast = [one for one in again if one.opponent != "rules"]
    kept = {(one.agent, one.opponent, one.deal): one for one in saved.results}
    assert fast == [kept[one.agent, one.opponent, one.deal] for one in fast]


def test_a_level_is_a_name_for_an_agent_wherever_one_is_named() -> None:
    def first_move(agent: Agent) -> str:
        return str(agent.act(State.new(seed=5).view(), agent_generator([1])))

    for level in LEVELS[:3]:
        assert first_move(make_agent(level.name)) == first_move(make_agent(level.agent)), level.name
    assert read_agent("medium")[1] == {"rule": "pass"}
    assert read_agent("medium:rule=bombs,bidder=random")[1] == {"rule": "bombs"}
    assert split_bidder("master:iterations=3,bidder=payoff") == ("neural-ismcts:iterations=3", "payoff")
    with pytest.raises(UnknownAgentError, match=r"did you mean 'easy'\?"):
        make_agent("eazy")
    with pytest.raises(UnknownAgentError, match="no module 'hard'"):  # somebody's own module may be called so
        make_agent("hard:MyAgent")
