"""Where the hidden cards are, by the belief network: its file, its deals with their probabilities, and conduct."""

from __future__ import annotations

from collections import Counter
from math import comb, exp, log, prod
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.belief.model import BeliefArchitecture, BeliefModel, load_belief, save_belief
from ddz_agents.belief.play_style import MOVE_STATISTICS, count_actions, count_move_statistics
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import Arrays, write_tensor_file
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.worlds.inference import infer
from ddz_env import State, View
from ddz_env.core.engine.layout import HANDS, KNOWN, MOVES
from ddz_env.core.notation import word_to_counts
from ddz_env.envs.batch import SelfPlayBatch
from tests.agents.tree_search.test_mcts import assert_fits, counts
from tests.agents.worlds.test_hand_inference import Recorder

RNG = np.random.default_rng
SMALL = BeliefArchitecture(width=8, blocks=1, hidden=6)


def weights(opinion: float) -> Arrays:
    """Random weights; with an opinion of 0 the head says nothing."""
    rng, shapes = RNG(0), SMALL.layers.shapes() | SMALL.head
    scales = {name: opinion if name.startswith("logits") else 0.3 for name in shapes}
    return {name: rng.normal(0, scales[name], shape).astype(np.float32) for name, shape in shapes.items()}


def network(opinion: float) -> BeliefModel:
    return BeliefModel(SMALL, weights(opinion), {})


def positions(count: int = 12) -> list[State]:
    """Positions after more and more random moves, seen by landlord and peasants."""
    found, rng = [], RNG(5)
    for seed in range(count):
        state = State.new(seed=seed)
        for _ in range(1 + 3 * seed + seed % 3):
            legal = state.legal_moves()
            state.step(legal[int(rng.integers(len(legal)))])
            if state.is_over:
                break
        else:
            found.append(state)
    assert {state.view().role for state in found} == {"landlord", "peasant_down", "peasant_up"}
    return found


def test_every_world_is_a_deal_of_the_right_cards() -> None:
    model = network(2.0)
    for state in positions():
        proposal = model.propose(state.view(), RNG(0), 50)
        assert proposal is not None
        assert proposal.hands.shape == (50, 4)
        for deal in proposal.hands:
            assert_fits(state.view(), deal)


def test_a_network_without_opinions_deals_cards_as_they_fall() -> None:
    model = network(0.0)
    for state in positions():
        following, previous = (
            counts(state.row[HANDS + seat]) - (counts(state.row[KNOWN]) if seat == state.view().landlord else 0)
            for seat in ((state.seat + 1) % 3, (state.seat + 2) % 3)
        )
        proposal = model.propose(state.view(), RNG(0), 20)
        assert proposal is not None
        # Plain dealing gives every deal what the network gives it: one of all the ways to choose the cards.
        expected = log(comb(int((following + previous).sum()), int(following.sum())))
        assert proposal.logs == pytest.approx(expected, abs=1e-4)


def late_view() -> View:
    agent, state, rng = RulesAgent(), State.new(seed=2), RNG(0)
    while sum(map(len, map(str, (state.hand(1), state.hand(2))))) > 9:
        state.step(agent.act(state.view(), rng))
    return state.view()


def test_worlds_come_as_often_as_their_probabilities_say() -> None:
    view, model = late_view(), network(1.0)
    following = (view.seat + 1) % 3
    proposal = model.propose(view, RNG(1), 20_000)
    assert proposal is not None
    known = np.array(view.known_cards.counts if view.landlord == following else (0,) * 15)
    pool = np.array(view.unseen.counts) - (view.known_cards.counts if view.landlord != view.seat else 0)
    drawn, chances = Counter(proposal.hands[:, following].tolist()), dict[int, float]()
    for hand, log_ratio in zip(proposal.hands[:, following].tolist(), proposal.logs.tolist(), strict=True):
        ways = prod(map(comb, pool.tolist(), (word_to_counts(hand) - known).tolist()))
        chances[hand] = ways / exp(log_ratio)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-3)
    for hand, count in drawn.items():
        assert count == pytest.approx(20_000 * chances[hand], abs=5 * (20_000 * chances[hand]) ** 0.5 + 3)
    assert len({round(chance, 3) for chance in chances.values()}) > 3, "or this says nothing"


def test_weighed_worlds_do_not_depend_on_what_the_network_believes() -> None:
    """A deal that the network draws too often counts the less: what is left is plain dealing and what moves say."""
    view, chances, drawn = late_view(), list[Counter[int]](), list[Counter[int]]()
    for opinion in (0.0, 0.4):
        proposal = network(opinion).propose(view, RNG(1), 20_000)
        assert proposal is not None
        known = infer(view, RNG(0), models=(Recorder(),), proposal=proposal)
        hands = known.hands[:, (view.seat + 1) % 3].tolist()
        drawn.append(Counter(hands))
        chances.append(Counter())
        for hand, weight in zip(hands, known.weights.tolist(), strict=True):
            chances[-1][hand] += weight
    plain, opinionated = chances
    assert max(abs(plain[hand] - opinionated[hand]) for hand in plain | opinionated) < 0.02
    assert max(abs(drawn[1][hand] / 20_000 - plain[hand]) for hand in plain) > 0.05, "or this says nothing"


def test_where_there_is_nothing_to_say_nothing_is_proposed() -> None:
    bare = State.new(seed=1).view()
    bare.row[MOVES] = 3
    for view in (bare, *(State.new(seed=1, rules=preset).view() for preset in ("bidding", "mini", "perfect"))):
        assert network(1.0).propose(view, RNG(0), 10) is None


def test_conduct_is_counted() -> None:
    state = State.from_hands(["3334567899TT", "45JQ2222", "66778K"], check_sizes=False)
    for move in ("7", "J", "pass", "pass", "4", "6", "8", "pass", "K", "pass", "2222"):
        state.step(move)
    found = [dict(zip(MOVE_STATISTICS, row, strict=True)) for row in count_move_statistics(state.history, 0).tolist()]
    landlord, down, up = ({name: count for name, count in one.items() if count} for one in found)
    assert landlord == {"leads": 1, "cards": 1, "solos": 1, "answers": 3, "passes": 2, "follows": 1, "jumps": 1}
    assert down["answers"] == 2, "7, and the 8 of the landlord"
    assert down["bombs"] == 1
    assert (down["leads"], down["jumps"]) == (1, 3)
    assert (up["helps"], up["yields"]) == (2, 1), "let the J pass, beat the 4"


def test_conduct_in_many_games_is_that_of_their_moves() -> None:
    batch, state = SelfPlayBatch(1, seed=4), State.new(seed=4)
    tallies, tricks = np.zeros((1, 3, len(MOVE_STATISTICS)), np.int32), np.zeros((1, 3), np.int32)
    for _ in range(40):
        actions = batch.sample_actions()
        count_actions(batch.rows, actions, tallies, tricks)
        state.step_action(int(actions[0]))
        if state.is_over:
            break
        batch.step(actions)
        assert (tallies[0] == count_move_statistics(state.history, 0)).all() or state.stage == "kicker"
    assert tallies.sum() > 20


def test_a_file_says_what_it_is_for(tmp_path: Path) -> None:
    path, view = tmp_path / "belief.safetensors", State.new(seed=2).view()
    save_belief(path, SMALL, weights(1.0), "standard", {"positions": 3})
    assert load_belief(path).notes == {"positions": 3}
    found, expected = (model.propose(view, RNG(3), 8) for model in (load_belief(path), network(1.0)))
    assert found is not None
    assert expected is not None
    assert (found.hands == expected.hands).all()
    save_belief(path, SMALL, {name: np.full_like(array, 3e38) for name, array in weights(1.0).items()}, "standard", {})
    with pytest.raises(TensorFileError, match="numbers that are not finite"):
        load_belief(path)
    about = {"architecture": SMALL.as_dict(), "conduct": ["manners"], "notes": {}}
    for wrong, message in (
        (about, "manners"),
        ({}, "has metadata that do not describe"),
        (about | {"conduct": list(MOVE_STATISTICS)}, "weights"),
    ):
        write_tensor_file(path, "ddz-belief", 1, {}, wrong)
        with pytest.raises(TensorFileMismatchError, match=message):
            load_belief(path)
