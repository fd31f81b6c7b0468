"""The warm start: a teacher that answers as its agent does, and students that come to agree with their teachers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

from training.ppo.visits import load_visits, record_to_file, record_visits, save_visits  # noqa: E402

from agents.neural.agent import ModelAgent  # noqa: E402
from agents.neural.errors import TensorFileError, TensorFileMismatchError  # noqa: E402
from agents.neural.network import (  # noqa: E402
    Architecture,
    NetworkPolicy,
    PolicyNetwork,
)
from agents.neural.tensor_file import read_tensor_file, write_tensor_file  # noqa: E402
from agents.neural.weights import Weights, load_weights, save_weights  # noqa: E402
from agents.rule_agent.agent import RulesAgent  # noqa: E402
from agents.rule_agent.stages import NO_LABEL, RulesTeacher  # noqa: E402
from ddz_env import Move, State  # noqa: E402
from ddz_env.agent import StagedAdapter  # noqa: E402
from ddz_env.batch import SelfPlayBatch  # noqa: E402
from ddz_env.errors import InvalidOptionError  # noqa: E402
from ddz_env.provenance import code_stamp  # noqa: E402
from training.arena import provenance  # noqa: E402
from training.arena.errors import OtherCodeError  # noqa: E402
from training.arena.provenance import other_code  # noqa: E402
from training.arena.statistics import Interval  # noqa: E402
from training.cli import app  # noqa: E402
from training.ppo import visits as recorded  # noqa: E402
from training.ppo.errors import InvalidTrainingError  # noqa: E402
from training.ppo.imitation import (  # noqa: E402
    Imitation,
    ImitationConfig,
    imitate_visits,
    one_hot,
    random_policy,
    rules_teacher,
)
from training.ppo.strength import measure_strength  # noqa: E402

SMALL = Architecture(width=32, blocks=1, rest_width=32, rest_features=16, critic_width=8, critic_blocks=0, history=0)


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini"])
def test_the_teacher_does_at_every_stage_what_the_rule_agent_does(rules: str) -> None:
    games, rng = 20, np.random.default_rng(0)
    states = [State.new(1, rules, game) for game in range(games)]
    agents = [StagedAdapter(RulesAgent()) for _ in states]
    teacher, kickers = RulesTeacher(games, rules), 0
    for _ in range(80):
        labels = teacher.labels(np.stack([state.row for state in states]))
        for state, agent, label in zip(states, agents, labels.tolist(), strict=True):
            if state.is_over:
                assert label == NO_LABEL
            else:
                assert label == agent.action(state.view(), rng)
                kickers += state.stage == "kicker"
                state.step_action(label)
    assert all(state.is_over for state in states)
    assert kickers > 5 or rules == "mini"


def test_the_teacher_completes_moves_that_it_did_not_begin_or_says_nothing() -> None:
    batch, teacher = SelfPlayBatch(200, "rlcard", seed=2, threads=1), RulesTeacher(200, "rlcard")
    answered = silent = 0
    for _ in range(100):
        labels = teacher.labels(batch.state_dict()["rows"])
        known = labels != NO_LABEL
        assert batch.mask[np.flatnonzero(known), labels[known]].all()  # every answer is legal
        kicker = batch.observation[:, 502] == 1
        assert known[~kicker].all()
        answered, silent = answered + int((kicker & known).sum()), silent + int((kicker & ~known).sum())
        batch.step(batch.sample_actions())
    assert answered > silent > 0  # after a random kicker its own plan may have no continuation


def test_the_number_of_games_is_checked() -> None:
    with pytest.raises(InvalidOptionError, match="follows 3 games, not 4"):
        RulesTeacher(3).labels(SelfPlayBatch(4).state_dict()["rows"])


def imitation(config: ImitationConfig, threads: int | None = None) -> Imitation[PolicyNetwork]:
    return Imitation(config, random_policy(PolicyNetwork, config), rules_teacher(config), threads)


def imitated(threads: int, **settings: Any) -> tuple[PolicyNetwork, list[float]]:
    config = ImitationConfig(architecture=SMALL, num_games=300, **{"decisions": 4000, **settings})
    agreement: list[float] = []
    return imitation(config, threads).run(lambda progress: agreement.append(progress.agreement)), agreement


def test_a_student_comes_to_agree_with_the_rules() -> None:
    _, agreement = imitated(1, decisions=24_000)
    assert np.mean(agreement[-20:]) > np.mean(agreement[:5]) + 0.15


def test_a_seed_reproduces_a_student_on_any_number_of_threads() -> None:
    states = [imitated(threads, seed=seed)[0].state_dict() for threads, seed in ((1, 1), (2, 1), (1, 2))]
    assert all(torch.equal(weight, states[1][name]) for name, weight in states[0].items())
    assert not torch.equal(states[0]["logits.weight"], states[2]["logits.weight"])


def test_what_has_no_label_is_not_learned_from() -> None:
    shares = one_hot(np.array([3, NO_LABEL, 399]))
    assert shares.sum(1).tolist() == [1, 0, 1]
    assert (shares[0, 3], shares[2, 399]) == (1, 1)


def test_visits_are_recorded_with_the_positions_that_they_belong_to() -> None:
    """The same agent on the same games decides the same again."""
    visits = record_visits("isuct:iterations=50", 2, rules="mini", seed=4)
    again = record_visits("isuct:iterations=50", 2, rules="mini", seed=4)
    for name, array in vars(visits).items():
        assert (array == vars(again)[name]).all()
    rows = np.arange(len(visits.observations))
    shares, masks = visits.shares(rows), visits.masks(rows)
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
    assert (shares[masks == 0] == 0).all()
    assert (masks.sum(1) > 1).all()
    assert len(rows) > 5


def test_a_recording_that_was_cut_short_is_completed(tmp_path: Path) -> None:
    """Five games are saved at a time; what is there is not played again, and the end is the same."""
    whole = record_visits("isuct:iterations=20", 7, rules="mini", seed=4)
    path, played = tmp_path / "visits", list[int]()

    def cut(done: int) -> None:
        played.append(done)
        if len(played) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_to_file(path, "isuct:iterations=20", 7, rules="mini", seed=4, on_game=cut)
    found = record_to_file(path, "isuct:iterations=20", 7, rules="mini", seed=4, on_game=played.append)
    assert played == [1, 2, 3, 4, 5, 6, 6, 7]
    for visits in (found, load_visits(path)):
        for name, array in vars(whole).items():
            assert np.array_equal(array, vars(visits)[name])
    with pytest.raises(InvalidTrainingError, match="holds other games"):
        record_to_file(path, "isuct:iterations=20", 7, rules="mini", seed=5)


def test_other_code_does_not_complete_a_recording_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, agent = tmp_path / "visits", "isuct:iterations=20"
    record_to_file(path, agent, 1, rules="mini", seed=4)
    monkeypatch.setattr(provenance, "code_stamp", lambda: "0.1.0 other")
    assert len(record_to_file(path, agent, 1, rules="mini", seed=4).observations), "nothing is to be added"
    with pytest.raises(OtherCodeError, match=r"this is 0\.1\.0 other"):
        record_to_file(path, agent, 2, rules="mini", seed=4)
    with other_code():
        record_to_file(path, agent, 2, rules="mini", seed=4)
    assert read_tensor_file(path, recorded.KIND, recorded.VERSION)[1]["code"] == [code_stamp(), "0.1.0 other"]


def test_kickers_are_recorded_as_they_were_chosen() -> None:
    visits = record_visits("isuct:iterations=30", 3, rules="rlcard", seed=1)
    kicker = visits.observations[:, 502] == 1
    shares = visits.shares(np.flatnonzero(kicker))
    assert kicker.any()
    assert (shares.max(1) == 1).all()
    assert (shares.argmax(1) >= Move.parse("333+4").actions[1] - 15).all()


def test_a_student_comes_to_agree_with_recorded_visits(tmp_path: Path) -> None:
    visits = record_visits("isuct:iterations=50", 6, rules="mini", seed=4)
    save_visits(tmp_path / "visits", visits, {"agent": "isuct"})
    loaded = load_visits(tmp_path / "visits")
    config = ImitationConfig(decisions=60 * len(visits.observations), architecture=SMALL, num_games=32)
    losses: list[float] = []
    imitate_visits(loaded, config, 1, on_step=lambda progress: losses.append(progress.loss))
    shares = visits.shares(np.arange(len(visits.observations)))
    entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1))) / len(shares)
    assert np.mean(losses[-5:]) < (losses[0] + entropy) / 2  # most of what can be learned has been
    assert np.mean(losses[-5:]) > entropy - 0.1  # and no more than that


def test_what_cannot_be_imitated_has_a_named_error(tmp_path: Path) -> None:
    for spec in ("rules", "cheating-uct"):
        with pytest.raises(InvalidTrainingError, match="cannot be imitated"):
            record_visits(spec, 1)
    with pytest.raises(InvalidTrainingError, match="games=0"):
        record_visits("isuct", 0)
    with pytest.raises(TensorFileError, match="no such file"):
        load_visits(tmp_path / "nothing")
    save_weights(tmp_path / "weights", Weights(PolicyNetwork(SMALL)))
    with pytest.raises(TensorFileMismatchError, match="is no ddz-visits file"):
        load_visits(tmp_path / "weights")
    write_tensor_file(tmp_path / "other", recorded.KIND, recorded.VERSION, {"counts": np.zeros(1)}, {})
    with pytest.raises(TensorFileMismatchError, match="holds counts; recorded visits are observations, legal"):
        load_visits(tmp_path / "other")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decisions": 0}, "decisions=0 must be a whole number from 1"),
        ({"num_games": 2.5}, "num_games=2.5 must be a whole number"),
        ({"seed": -1}, "seed=-1 must be a whole number from 0"),
        ({"seed": 2**63}, "seed=9223372036854775808 must be a whole number from 0"),
        ({"student_share": 1.5}, r"student_share=1.5 must be a number from 0 to 1"),
        ({"student_share": "half"}, "student_share='half' must be a number"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be a number above 0"),
        ({"max_gradient": float("inf")}, "max_gradient=inf must be a number above 0"),
    ],
)
def test_settings_out_of_range_have_a_named_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTrainingError, match=message):
        ImitationConfig(**settings)


def test_warm_starts_from_the_command_line(tmp_path: Path) -> None:
    def ddz(*arguments: str | Path) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["train", *map(str, arguments)])
        return result.exit_code, result.output

    first, second, visits = tmp_path / "first", tmp_path / "second", tmp_path / "visits"
    code, output = ddz("imitate", "--out", first, "--decisions", "500", "--threads", "1")
    assert code == 0, output
    assert load_weights(first).notes["imitates"] == "rules"
    assert not load_weights(first).values_trained
    code, output = ddz("record", "isuct:iterations=20", "--games", "1", "--out", visits)
    assert code == 0, output
    code, output = ddz("imitate", "--out", second, "--visits", visits, "--init", first, "--decisions", "50")
    assert code == 0, output
    assert load_weights(second).notes["imitates"] == "visits"
    assert not load_weights(second).values_trained
    code, output = ddz("imitate", "--out", second, "--init", first)
    assert (code, "goes with --visits" in output) == (2, True)
    for command in (("imitate",), ("record", "isuct")):  # said at once, not after an hour
        code, output = ddz(*command, "--out", tmp_path)
        assert (code, "is a folder: name a file in it" in output) == (2, True)


def wins_against_random(policy: PolicyNetwork, deals: int) -> Interval:
    """On duplicate deals."""
    (result,) = measure_strength(NetworkPolicy(policy), ["random"], deals)
    return result.wins


def test_a_second_of_imitation_beats_random_by_a_wide_margin() -> None:
    """Four seeds won 95 to 98 % of so many deals, and 18 to 32 % with the weights that they began with."""
    taught = wins_against_random(imitated(1, decisions=20_000)[0], 60)
    untaught = wins_against_random(random_policy(PolicyNetwork, ImitationConfig(architecture=SMALL)), 60)
    assert taught.low > 0.8
    assert untaught.high < 0.6


@pytest.mark.long
def test_a_short_imitation_beats_random_by_a_wide_margin() -> None:
    policy = imitation(ImitationConfig(decisions=200_000)).run()
    assert wins_against_random(policy, 100).low > 0.8
    assert ModelAgent(NetworkPolicy(policy)).name == "policy"
