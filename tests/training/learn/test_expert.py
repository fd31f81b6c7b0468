"""Expert iteration: what a search said is what is taught, it is learned, and a killed run goes on to the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import NetworkPolicy, PolicyNetwork
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env import Rules, View
from ddz_env.playing.agent import Decision
from ddz_env.playing.registry import make_agent
from ddz_training.data.dataset import write_data_set
from ddz_training.data.errors import DataSetError
from ddz_training.data.games import GAMES, read_games
from ddz_training.data.recording import Recording, record_games
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.expert import HELD_OUT, ExpertConfig, ExpertLessons, iterate, targets
from ddz_training.learn.imitation import ImitationConfig, random_policy
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import new_networks
from ddz_training.learn.recorded import RecordedSet, load_recorded
from ddz_training.learn.run import POLICY
from ddz_training.measure.match.errors import AgentChangedError, SettingsMismatchError
from tests.training.apps.terminal import ddz
from tests.training.learn.test_ppo_imitation import SMALL

pytest.importorskip("pyarrow")

GOOD, BAD = 0.75, 0.25
KEEPS = ExpertConfig(rules="mini", deals=3, passes=2, search="neural-ismcts:iterations=8,trees=1,particles=0")


class Knowing:
    """Knows that the highest first stage is the best one; where it leads it is too sure to search."""

    name = "knowing"

    def act(self, view: View, rng: np.random.Generator) -> object:
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        moves = {move.main: move for move in view.legal_moves()}
        best = max(moves)
        if view.on_lead:
            return Decision(moves[best], {best: 1})
        chances = {main: GOOD if main == best else BAD for main in sorted(moves)[-3:]}
        return Decision(moves[best], dict.fromkeys(chances, 5), chances)


def small_policy() -> PolicyNetwork:
    return random_policy(PolicyNetwork, ImitationConfig(architecture=SMALL)).eval()


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> RecordedSet:
    folder = tmp_path_factory.mktemp("known")
    recording = Recording((f"{__name__}:Knowing",), Rules.preset("mini"), 1, visits=True)
    record_games(recording, 6 * HELD_OUT, store=recording.store(folder / GAMES))
    write_data_set(folder)
    return load_recorded(folder)


def log_probabilities(policy: PolicyNetwork, recorded: RecordedSet) -> np.ndarray:
    rows = np.arange(len(recorded.observations))
    return NetworkPolicy(policy).evaluate(recorded.observations, recorded.masks(rows))[0]


def test_a_searched_decision_is_taught_by_the_chances_and_a_settled_one_as_it_is(known: RecordedSet) -> None:
    rows, tau = np.arange(len(known.observations)), 0.2
    logs = log_probabilities(small_policy(), known)
    taught, chances, own = targets(known, rows, logs, tau), known.chances(rows), np.exp(logs)
    searched = ~np.isnan(chances).all(axis=1)
    assert 10 < searched.sum() < len(rows) - 10
    np.testing.assert_allclose(taught.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(taught[~searched], own[~searched], atol=1e-6)
    for row in np.flatnonzero(searched).tolist():
        tried = np.flatnonzero(~np.isnan(chances[row]))
        legal = np.flatnonzero(known.masks(np.array([row]))[0])
        assert tried.tolist() == legal[-3:].tolist()
        assert chances[row, tried].tolist() == [BAD] * (len(tried) - 1) + [GOOD]
        mean = np.average(chances[row, tried], weights=own[row, tried])
        wanted = own[row, legal] * np.exp([(chances[row, a] if a in tried else mean) / tau for a in legal])
        np.testing.assert_allclose(taught[row, legal], wanted / wanted.sum(), rtol=1e-3)


def test_what_no_search_spoke_of_is_taught_as_it_was_done(known: RecordedSet) -> None:
    """Kickers, and moves that empty the hand."""
    never, nothing = np.zeros_like(known.searched), np.full_like(known.values, np.nan)
    silent, rows = RecordedSet(**vars(known) | {"searched": never, "values": nothing}), np.flatnonzero(known.searched)
    logs = log_probabilities(small_policy(), known)[rows]
    np.testing.assert_array_equal(targets(silent, rows, logs, 0.1), silent.shares(rows))


def test_what_is_known_is_learned_and_what_was_settled_is_kept(known: RecordedSet) -> None:
    start = small_policy()
    config = ExpertConfig(rules="mini", tau=0.1, passes=8, minibatch=32, learning_rate=1e-2)
    found = ExpertLessons(known, config, start, threads=1)
    found.run()
    assert torch.equal(start.logits.weight, small_policy().logits.weight)
    assert found.divergences[0] > 0.1
    assert min(found.divergences) < found.divergences[0] / 10
    chances = known.chances(np.arange(len(known.observations)))
    old, new = (np.exp(log_probabilities(policy, known)) for policy in (start, found.best))
    held_out = known.deals % HELD_OUT == HELD_OUT - 1
    rises = (new - old)[held_out[:, None] & (chances == np.float32(GOOD))]
    assert rises.mean() > 0.2
    assert (rises > 0).mean() > 0.9
    settled = np.isnan(chances).all(axis=1) & held_out
    moved = np.abs(new - old).sum(axis=1) / 2
    assert moved[settled].mean() < moved[held_out & ~settled].mean() / 2


def test_learning_ends_when_the_held_out_deals_are_no_longer_learned(known: RecordedSet) -> None:
    config = ExpertConfig(rules="mini", tau=0.2, passes=30, minibatch=16, learning_rate=1.0)
    found = ExpertLessons(known, config, small_policy(), threads=1)
    found.run()
    assert found.divergences[-1] >= min(found.divergences[:-1])
    assert len(found.divergences) < 31
    rows = np.flatnonzero(known.deals % HELD_OUT == HELD_OUT - 1)
    logs = log_probabilities(small_policy(), known)[rows]
    shares = targets(known, rows, logs, 0.2)
    terms = shares * (np.log(np.maximum(shares, 1e-38)) - np.maximum(log_probabilities(found.best, known)[rows], -99))
    assert terms.sum() / len(rows) == pytest.approx(min(found.divergences), rel=1e-3)  # it is the best that is kept


def kill_after_two(done: int, total: int) -> None:
    if done == 2:
        raise KeyboardInterrupt


def test_a_killed_run_goes_on_and_a_seed_gives_the_same_games_and_weights(tmp_path: Path) -> None:
    first = tmp_path / "first.safetensors"
    save_weights(first, Weights(small_policy(), rules="mini"))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    (done,) = iterate(KEEPS, 1, whole, first, threads=1)
    with pytest.raises(KeyboardInterrupt):
        iterate(KEEPS, 1, cut, first, threads=1, on_games=kill_after_two)
    games = cut / "01" / GAMES
    games.write_bytes(games.read_bytes()[:-7])  # in the middle of a line
    assert not (cut / POLICY).exists()
    iterate(KEEPS, 1, cut, first, threads=1)
    assert games.read_bytes() == (whole / "01" / GAMES).read_bytes()
    assert (cut / POLICY).read_bytes() == (whole / POLICY).read_bytes()
    assert done.policy.read_bytes() == (whole / POLICY).read_bytes()
    said = [said for game in read_games(whole / "01").games for *_, said in game.decisions(Rules.preset("mini"))]
    assert any(thought.value is not None for thoughts in said for thought in thoughts)

    rounds = iterate(KEEPS, 2, cut, first, threads=1)
    assert [one.number for one in rounds] == [1, 2]
    assert games.read_bytes() == (whole / "01" / GAMES).read_bytes()
    second = read_games(cut / "02")
    assert [game.deal for game in second.games] == [3, 4, 5]
    assert str(rounds[0].policy) in second.agents[0]
    assert (cut / POLICY).read_bytes() == rounds[1].policy.read_bytes() != rounds[0].policy.read_bytes()

    make_agent(f"policy:path={cut / POLICY}")
    taught = load_weights(cut / POLICY)
    policy, _ = new_networks(SelfPlayConfig(architecture=SMALL), taught)  # what selfplay --init begins with
    assert torch.equal(policy.logits.weight, taught.policy.logits.weight)
    assert not torch.equal(policy.logits.weight, small_policy().logits.weight)

    with pytest.raises(SettingsMismatchError, match=r"tau|settings"):
        iterate(KEEPS.changed({"tau": 0.5}), 1, whole, first, threads=1)
    save_weights(first, Weights(small_policy(), rules="mini", notes={"another": 1}))
    with pytest.raises(AgentChangedError):
        iterate(KEEPS, 1, whole, first, threads=1)


def test_wrong_settings_have_named_errors(known: RecordedSet) -> None:
    for wrong, message in (({"search": "neural-ismcts:path=old.safetensors"}, "leave out path"), ({"tau": 0}, "tau=0")):
        with pytest.raises(InvalidTrainingError, match=message):
            ExpertConfig(**wrong)
    empty = RecordedSet(**{**vars(known), "deals": known.deals[:0]})
    with pytest.raises(DataSetError, match="no decision"):
        ExpertLessons(empty, ExpertConfig(), small_policy(), threads=1)


def test_the_command_says_what_a_round_taught(tmp_path: Path) -> None:
    first, out = tmp_path / "first.safetensors", tmp_path / "out"
    save_weights(first, Weights(small_policy(), rules="mini"))
    options = ("--rules", "mini", "--deals", 1, "--processes", 1, "--threads", 1, "--set", "passes=1")
    command = ("train", "expert", "--out", out, "--init", first, "--search", KEEPS.search, *options)
    result = ddz(*command)
    assert result.exit_code == 0, result.output
    assert "round 1, divergence" in result.output
    assert load_weights(out / POLICY).notes["settings"]["deals"] == 1
    other = ddz(*command, "--set", "tau=0.5")
    assert (other.exit_code, "other settings" in other.output) == (2, True)
