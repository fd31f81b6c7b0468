"""Exact agents by name: what text can choose, whom they infer from, and where they refuse to play."""

from __future__ import annotations

from typing import get_args

import pytest

from ddz_agents.mini.agents import (
    CheatingMinimaxAgent,
    DeterminizedMinimaxAgent,
    ExactAgent,
    InformationSetExpectimaxAgent,
    Model,
    Solvers,
)
from ddz_agents.mini.inference import RulesOpponent
from ddz_agents.open_cards.minimax import SearchLimitError
from ddz_agents.rules.agent import RulesAgent
from ddz_env import State
from ddz_env.core.engine.layout import HANDS
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.core.rules import PRESETS
from ddz_env.playing.registry import make_agent

MINI = PRESETS["mini"]
NAMES = ("cheating-minimax", "determinized-minimax", "expectimax")


def exact(spec: str) -> ExactAgent:
    agent = make_agent(spec)
    assert isinstance(agent, ExactAgent)
    return agent


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("cheating-minimax", CheatingMinimaxAgent),
        ("determinized-minimax", DeterminizedMinimaxAgent),
        ("expectimax", InformationSetExpectimaxAgent),
    ],
)
def test_a_name_makes_the_agent_that_infers_nothing(spec: str, kind: type[ExactAgent]) -> None:
    agent = exact(spec)
    assert type(agent) is kind
    assert getattr(agent, "model", None) is None


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ("inference=correct", "InformationSetExpectimaxAgent()"),  # expectimax is the opponent unless it is named
        ("inference=correct,opponent=cheating-minimax", "CheatingMinimaxAgent"),
        ("inference=incorrect,opponent=cheating-minimax", "InformationSetExpectimaxAgent()"),
        ("inference=incorrect,opponent=rules", "CheatingMinimaxAgent"),
        ("inference=cheating-minimax", "CheatingMinimaxAgent"),
        ("inference=determinized-minimax", "DeterminizedMinimaxAgent()"),
        ("inference=expectimax", "InformationSetExpectimaxAgent()"),
        ("inference=rules", "rules"),
    ],
)
@pytest.mark.parametrize("name", ["determinized-minimax", "expectimax"])
def test_options_choose_whom_it_infers_from(name: str, options: str, model: str) -> None:
    agent = make_agent(f"{name}:{options}")
    assert agent.model.name == model  # type: ignore[attr-defined]
    assert model in agent.name


@pytest.mark.parametrize(
    "spec",
    [
        "expectimax:inference=perhaps",
        "determinized-minimax:inference=correct,opponent=nobody",
        "determinized-minimax:inference=correct,opponent=none",
        "cheating-minimax:solvers=2",
    ],
)
def test_a_choice_that_does_not_exist_has_a_named_error(spec: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=r"must be one of|solvers") as caught:
        make_agent(spec)
    if "perhaps" in spec:
        assert all(name in str(caught.value) for name in ("correct", "incorrect", *get_args(Model)))


def test_inference_from_the_rule_agent_never_strikes_out_the_true_hand_of_a_rule_agent() -> None:
    agent, blind = (DeterminizedMinimaxAgent(kind) for kind in ("rules", None))
    opponent = RulesAgent()
    sizes = []
    for seed in range(6):
        state, seat = State.new(seed, MINI), seed % 2
        while not state.is_over:
            view = state.view()
            if state.seat == seat:
                known, possible = (one.states(view.row, tuple(view.history), MINI) for one in (agent, blind))
                assert state.row[HANDS + 1 - seat] in known.rows[:, HANDS + 1 - seat]
                sizes.append((len(known), len(possible)))
                state.step(agent.act(view))
            else:
                state.step(opponent.act(view, None))  # type: ignore[arg-type]
    assert all(known <= possible for known, possible in sizes)
    assert any(known < possible for known, possible in sizes)


def test_the_rule_agents_model_plays_what_the_rule_agent_plays_from_its_own_view() -> None:
    model, agent = RulesOpponent(), RulesAgent()
    for seed in range(5):
        state = State.new(seed, MINI)
        while not state.is_over:
            move = agent.act(state.view(), None)  # type: ignore[arg-type]
            assert model.choose_in(state.row, tuple(state.history), MINI) == move
            state.step(move)


@pytest.mark.parametrize("name", NAMES)
def test_the_full_game_is_refused_as_too_large(name: str) -> None:
    agent = exact(name)
    agent.solvers = Solvers(node_limit=10_000)  # the default needs 15 seconds to find out
    state = State.new(seed=1)
    with pytest.raises(SearchLimitError, match=r"too (large|many)"):
        agent.act(state if agent.cheats else state.view())  # type: ignore[arg-type]
