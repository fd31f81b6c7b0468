"""``ddz train sb3``: what a run writes, how it goes on, whom it plays, and that it learns."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.sb3_policy import SB3Policy
from ddz_env.core.errors import command_line
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.provenance import code_stamp
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError, InvalidTrainingError
from ddz_training.learn.sb3.config import Sb3Config
from ddz_training.learn.sb3.run import ABOUT, MODEL, POOL, Sb3Progress, Sb3Run, TimeSplit, load_run
from ddz_training.learn.sb3.train import Stopwatch, train
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.measure.match.errors import OtherCodeError
from ddz_training.measure.match.provenance import other_code
from tests.training.apps.terminal import ddz, refused

UPDATE = 4 * 16


def small(**changes: Any) -> Sb3Run:
    sizes = {"num_envs": 4, "n_steps": 16, "batch_size": 32, "n_epochs": 1, "width": 8, "layers": 1}
    times = {"evaluate_every": 0, "snapshot_every": 1, "checkpoint_every": 2}
    return Sb3Run(Sb3Config(**{**sizes, **times, **changes}), 1)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def weights(run: Sb3Run) -> dict[str, Any]:
    return {name: weight.clone() for name, weight in run.model.policy.state_dict().items()}


def test_a_run_writes_its_curves_its_evaluations_and_its_model(tmp_path: Path) -> None:
    run = small(evaluate_every=2 * UPDATE, evaluate_deals=1, baselines=("random", "rules"), checkpoint_every=0)
    seen: list[Sb3Progress] = []
    train(run, tmp_path, 5 * UPDATE - 1, on_update=seen.append)
    curve, split = lines(tmp_path / "curves.csv"), run.split
    assert run.model.gamma == 1.0  # the halves of a move are not discounted
    assert (run.timesteps, run.update) == (5 * UPDATE, 5)  # whole updates
    assert [(int(line["update"]), int(line["timesteps"])) for line in curve] == [(n, n * UPDATE) for n in range(1, 6)]
    assert [line.update for line in seen] == [1, 2, 3, 4, 5]
    assert int(curve[-1]["games"]) == run.env.ended == run.games
    assert all(float(line["entropy"]) > 0 and float(line["value_loss"]) > 0 for line in curve)
    evaluations = [(int(line["update"]), line["opponent"]) for line in lines(tmp_path / "evaluations.csv")]
    assert evaluations == [(update, name) for update in (2, 4, 5) for name in ("random", "rules")]
    assert (tmp_path / MODEL).exists()
    assert min(split.games, split.rollout, split.learning) > 0 == split.past_self
    about = json.loads((tmp_path / ABOUT).read_text())
    assert (about["config"], about["games"]) == (run.config.as_dict(), run.games)
    assert about["seconds"] == vars(split)


def test_a_fixed_seed_reproduces_a_run(tmp_path: Path) -> None:
    for opponents in ("random", "self"):
        found = []
        for number, seed in enumerate((3, 3, 4)):
            run = small(opponents=opponents, seed=seed)  # SB3 draws from PyTorch's generator: one after the other
            train(run, tmp_path / f"{opponents}{number}", 3 * UPDATE)
            found.append(torch.cat([weight.ravel() for weight in weights(run).values()]))
        one, same, other = found
        assert torch.equal(one, same)
        assert not torch.equal(one, other)


@pytest.mark.parametrize("opponents", ["random", "self"])
def test_a_stopped_run_goes_on_where_it_was_with_other_games(opponents: str, tmp_path: Path) -> None:
    run = small(opponents=opponents, checkpoint_every=100)
    train(run, tmp_path, 50 * UPDATE, stop=lambda: run.update == 3)
    assert run.timesteps == 3 * UPDATE
    resumed = load_run(tmp_path, trust=True, threads=1, wanted={"num_envs": 4})
    assert (resumed.timesteps, resumed.update, resumed.games) == (3 * UPDATE, 3, run.games)
    before = weights(run)
    assert all(torch.equal(weight, before[name]) for name, weight in weights(resumed).items())
    ours, theirs = run.model.policy.optimizer.state_dict(), resumed.model.policy.optimizer.state_dict()
    assert all(torch.equal(state["exp_avg"], theirs["state"][key]["exp_avg"]) for key, state in ours["state"].items())
    if opponents == "self":
        assert run.past is not None
        assert resumed.past is not None
        assert len(resumed.past.pool.members) == len(run.past.pool.members) == 4  # the first weights, and three
        saved = run.past.pool.arrays()
        assert all((array == saved[name]).all() for name, array in resumed.past.pool.arrays().items())
    assert (resumed.env.reset() != small(opponents=opponents).env.reset()).any()
    spent = resumed.split.total
    train(resumed, tmp_path, 5 * UPDATE)
    assert resumed.split.total > spent
    curve = lines(tmp_path / "curves.csv")
    assert [int(line["update"]) for line in curve] == [1, 2, 3, 4, 5]
    assert int(curve[-1]["games"]) > run.games
    train(resumed, tmp_path, 5 * UPDATE)  # nothing is left to do
    assert resumed.update == 5


def test_a_run_that_is_asked_to_stop_is_saved_and_not_measured(tmp_path: Path) -> None:
    found: list[Evaluation] = []
    run = small(evaluate_every=1, evaluate_deals=1000, baselines=("random",))
    train(run, tmp_path, 50 * UPDATE, on_evaluation=found.extend, stop=lambda: True)
    assert load_run(tmp_path, trust=True, threads=1).timesteps == UPDATE
    assert not found


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    def kill(progress: Sb3Progress) -> None:
        if progress.update == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(small(), tmp_path, 5 * UPDATE, on_update=kill)
    assert len(lines(tmp_path / "curves.csv")) == 3
    resumed = load_run(tmp_path, trust=True)
    assert resumed.update == 2
    train(resumed, tmp_path, 4 * UPDATE)
    assert [int(line["update"]) for line in lines(tmp_path / "curves.csv")] == [1, 2, 3, 4]


def test_a_past_self_plays_as_the_snapshot_did_and_not_as_the_learner_does_now() -> None:
    run = small(opponents="self")
    past, policy = run.past, run.model.policy
    assert past is not None
    torch.nn.init.normal_(policy.action_net.bias, std=2.0)  # SB3 begins close to uniform
    past.renew(policy)
    batch = SelfPlayBatch(4000, seed=1, threads=1)
    batch.observation[:] = batch.observation[0]
    batch.mask[:] = batch.mask[0]
    then = np.exp(SB3Policy(policy).log_probabilities(batch.observation[:1], batch.mask[:1])[0])
    with torch.no_grad():
        for weight in policy.parameters():
            weight.mul_(-3)
    now = np.exp(SB3Policy(policy).log_probabilities(batch.observation[:1], batch.mask[:1])[0])
    past.renew(policy)
    found = past.actions(np.arange(4000), np.zeros((4000, 32), np.uint64), batch.observation, batch.mask, None)
    shares = np.bincount(found, minlength=400) / 4000
    assert np.abs(shares - then).max() < 0.03 < np.abs(now - then).max()
    assert batch.mask[0][found].all()


def test_a_past_self_asks_its_network_once_for_all_games_that_have_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    run = small(opponents="self", num_envs=50)
    past = run.past
    assert past is not None
    past.renew(run.model.policy)
    asked: list[tuple[int, bool]] = []
    original = SB3Policy.log_probabilities

    def counted(self: SB3Policy, observations: Any, masks: Any) -> Any:
        asked.append((len(observations), bool((masks.sum(axis=1) > 1).all())))
        return original(self, observations, masks)

    monkeypatch.setattr(SB3Policy, "log_probabilities", counted)
    run.env.seed(1)
    run.env.reset()
    for _ in range(10):
        run.env.step(run.env.env_method("action_masks").argmax(axis=1))
    assert all(choice for _, choice in asked)
    assert np.mean([count for count, _ in asked]) > 5
    assert past.seconds > 0


def test_times_are_shared_out_and_nothing_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    run = small(opponents="self")
    assert run.past is not None
    watch = Stopwatch(run)
    watch.rollout_begins()
    now[0], run.env.seconds, run.past.seconds = 10.0, 4.0, 3.0
    watch.rollout_ends()
    now[0] = 15.0
    watch.learning_ends()
    now[0] = 100.0  # an evaluation
    watch.rollout_begins()
    now[0], run.env.seconds = 102.0, 5.0
    watch.rollout_ends()
    assert run.split == TimeSplit(games=2.0, past_self=3.0, rollout=7.0, learning=5.0)
    assert run.split.total == 17.0


def test_a_run_is_not_resumed_under_other_settings_nor_from_broken_files(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such file"):
        load_run(tmp_path, trust=True)
    small(opponents="self").save(tmp_path)
    with pytest.raises(CheckpointMismatchError, match="num_envs: the run has 4, not 8"):
        load_run(tmp_path, trust=True, wanted={"num_envs": 8})
    about = (tmp_path / ABOUT).read_text()
    own = code_stamp("ddz_training.learn")
    (tmp_path / ABOUT).write_text(about.replace(own, "0.1.0 other"))
    with pytest.raises(OtherCodeError, match=f"0.1.0 other, this is {own}"):
        load_run(tmp_path, trust=True)
    with other_code():
        assert load_run(tmp_path, trust=True).provenance.code == ("0.1.0 other", own)
    (tmp_path / ABOUT).write_text(about)
    for name, text, error, message in (
        (POOL, "nothing", CheckpointMismatchError, "truncated"),
        (MODEL, "nothing", CheckpointMismatchError, "no zip file"),
        (ABOUT, '{"kind": "something else", "version": 1}', CheckpointError, "no ddz-sb3-run"),
        (ABOUT, "{", CheckpointError, "broken"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(error, match=message):
            load_run(tmp_path, trust=True)


def test_settings_out_of_range_have_a_named_error() -> None:
    for settings, message in (
        ({"seed": 2**32}, "seed=4294967296 must be a whole number from 0 to"),
        ({"evaluate_deals": 0}, "evaluate_deals=0 measures nothing"),
        ({"num_envs": 1, "n_steps": 1}, "at least 2"),
    ):
        with pytest.raises(InvalidTrainingError, match=message):
            Sb3Config(**settings)


def test_the_command_begins_a_run_and_goes_on_with_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train_sb3 = ("train", "sb3", "--out", out)
    small = ["--num-envs", "4", "--evaluate-every", "0", "--threads", "1", "--set", "n_steps=16", "--set", "width=8"]
    begun = ddz(*train_sb3, "--timesteps", UPDATE, "--opponents", "rules", *small)
    assert begun.exit_code == 0, begun.output
    assert f"after {UPDATE} steps" in begun.output
    assert "SB3 learning" in begun.output
    assert "The bar's win rate is that of the games it learned from" in begun.output
    assert command_line("ddz", "arena", f"policy:path={out / 'model.zip'},trust_file=true", "rules") in begun.stderr
    assert "add --resume" in refused(*train_sb3)
    resumed = ddz(*train_sb3, "--timesteps", 2 * UPDATE, "--resume", "--trust")
    assert resumed.exit_code == 0, resumed.output
    assert len(lines(out / "curves.csv")) == 2
    assert "the run has 'rules'" in refused(*train_sb3, "--resume", "--trust", "--opponents", "random")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--opponents nobody", "no agent is called 'nobody'"),
        ("--set role=king", "unknown role 'king'"),
        ("--set learning=1", "there is no option 'learning'"),
        ("--threads 0", "threads=0"),
        ("--resume", "there is no such file"),
    ],
)
def test_bad_input_is_one_named_line(arguments: str, message: str, tmp_path: Path) -> None:
    assert message in refused("train", "sb3", "--out", tmp_path, *arguments.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_twenty_seconds_of_maskable_ppo_beat_random_by_a_wide_margin(tmp_path: Path) -> None:
    run = Sb3Run(Sb3Config(evaluate_every=0))
    train(run, tmp_path, 57_344)
    (result,) = measure_strength(SB3Policy(run.model.policy), ["random"], 100)
    assert result.wins.low > 0.8
