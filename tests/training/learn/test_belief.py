"""The belief network learns: what it sees and answers is what compiled code sees and answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ddz_agents.belief.model import BeliefModel, hidden_cards, load_belief, log_binomials, plain_log_probabilities
from ddz_agents.belief.play_style import count_move_statistics
from ddz_agents.neural.weights import module_arrays
from ddz_env import State
from ddz_env.core.notation import word_to_counts
from ddz_env.core.observation import CONCEALED_WORDS, observe, write_concealed
from ddz_training.learn.belief import (
    BELIEF,
    BeliefBatch,
    BeliefConfig,
    BeliefNetwork,
    BeliefTraining,
    make_belief_batch,
)
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.loop import Budget, train
from tests.agents.belief.test_belief import SMALL, positions
from tests.training.cli.terminal import as_options, done, refused

TINY = BeliefConfig(positions=300, architecture=SMALL, players=("random",), shares=(), num_envs=8)


def concealed(state: State) -> np.ndarray:
    words = np.empty(CONCEALED_WORDS, np.uint64)
    write_concealed(state.row, state.rules.words(), np.uint64(state.seat), words)
    return words.view(np.int8)


def test_the_compiled_network_is_the_one_that_learns() -> None:
    torch.manual_seed(0)
    learner = BeliefNetwork(SMALL)
    with torch.no_grad():
        learner.logits.normal_()
        learner.logits_bias.normal_()
    model = BeliefModel(SMALL, module_arrays(learner), {})
    for state in positions():
        view, next_seat = state.view(), (state.seat + 1) % 3
        tallies = count_move_statistics(state.history, view.landlord or 0)
        seen = (part[None] for part in (observe(state), concealed(state), tallies))
        batch = make_belief_batch(*seen, np.array([state.seat], np.int8))
        proposal = model.propose(view, np.random.default_rng(0), 5)
        assert proposal is not None
        known = np.array(view.known_cards.counts) if view.landlord == next_seat else 0
        hands = np.array([word_to_counts(int(deal[next_seat])) for deal in proposal.hands], np.int64) - known
        pools = np.repeat(hidden_cards(observe(state)[None])[0], len(hands), axis=0)
        plain = plain_log_probabilities(pools, np.cumsum(pools, axis=1), np.cumsum(hands, axis=1))
        drawn = BeliefBatch(np.repeat(batch.columns, len(hands), axis=0), hands, plain)
        with torch.no_grad():
            expected = learner(*map(torch.from_numpy, drawn)).numpy()
        assert log_binomials(pools, hands).sum(axis=1) - proposal.logs == pytest.approx(expected, abs=1e-4)


def test_it_begins_with_what_the_cards_say_and_learns_the_same_each_time() -> None:
    runs = [BeliefTraining(TINY) for _ in range(2)]
    first, _ = (run.step() for run in runs)
    assert first.bits == pytest.approx(first.plain, rel=1e-4)
    assert 10 < first.plain < 40
    for run in runs:
        train(run, Budget(decisions=TINY.positions))
    found, expected = (module_arrays(run.network) for run in runs)
    assert all((found[name] == expected[name]).all() for name in expected)
    assert np.abs(expected["logits"]).max() > 0
    with pytest.raises(InvalidTrainingError, match="shares has 2"):
        BeliefConfig(players=("random",), shares=(0.5, 0.5))
    for rules in ("perfect", "mini", "half-deck"):
        with pytest.raises(InvalidTrainingError, match=f"hidden hands and the full deck, not the {rules} rules"):
            BeliefConfig(rules=rules)


def test_the_command_writes_a_network_and_overwrites_none(tmp_path: Path) -> None:
    settings = ["players=random", "shares=1", "num_envs=8", "architecture.width=8", "architecture.hidden=4"]
    command = ["train", "belief", "--out", tmp_path, "--positions", 60, *as_options(settings)]
    done(*command)
    assert load_belief(tmp_path / BELIEF).notes["positions"] >= 60
    assert "exists" in refused(*command)
