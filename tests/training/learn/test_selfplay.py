"""Self-play and deep Monte Carlo: a run is its settings, however it is interrupted."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor

from ddz_agents.neural.decisions import describe_afterstates
from ddz_agents.neural.network import Architecture, Critic, PolicyNetwork
from ddz_agents.neural.tensor_file import Arrays, write_tensor_file
from ddz_agents.neural.weights import Weights, load_weights
from ddz_env import Hand, __version__
from ddz_env.core.engine.layout import HANDS
from ddz_env.core.observation import OBSERVATION
from ddz_env.support.errors import format_command
from ddz_training.cli.options import WEIGHTS_OR_ID
from ddz_training.cli.train import train_under_bar
from ddz_training.learn import processes
from ddz_training.learn.dmc import DeepMonteCarlo, DmcConfig, monte_carlo_returns, sample_epsilon_greedy
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError, InvalidTrainingError
from ddz_training.learn.input_layers import GpuInputLayer, InputLayer, forward_critic
from ddz_training.learn.loop import (
    CHECKPOINT,
    CURVES,
    EVALUATIONS,
    POLICY,
    Budget,
    Counters,
    CurveFile,
    check_can_start,
    train,
)
from ddz_training.learn.ppo import ppo, selfplay
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.ppo import Learner, RolloutPolicies, collect_rollout
from ddz_training.learn.ppo.selfplay import CurveLine, SelfPlay, new_games, new_generator
from ddz_training.learn.processes import Processes
from ddz_training.learn.strength import Evaluation, measure_strength
from ddz_training.learn.threads import Threads
from ddz_training.measure.errors import OtherVersionWarning
from ddz_training.measure.provenance import digest_agent_files
from tests.oracles.network_policy import NetworkPolicy
from tests.packages import ROOT
from tests.training.cli.terminal import as_options, done, refused
from tests.training.learn.test_games import AGAINST_RULES, CPU, SMALL, masks_of


def small_config(**changes: Any) -> SelfPlayConfig:
    sizes: dict[str, Any] = {
        "num_envs": 24,
        "groups": 3,
        "num_steps": 48,
        "minibatch": 256,
        "microbatch": 100,
        "update_epochs": 2,
    }
    shares = {"opponent_share": 0.4, "rules_share": 0.2, "ema_decay": 0.5}
    times = {"snapshot_every": 1, "checkpoint_minutes": 0, "eval_freq": 0}
    return SelfPlayConfig(**{"architecture": SMALL, **sizes, **shares, **times, **changes})


def everything(run: SelfPlay) -> tuple[Arrays, dict[str, Any]]:
    arrays, about = run.state()
    about["counters"].pop("seconds")
    return {name: array.copy() for name, array in arrays.items()}, about


def assert_same(one: tuple[Arrays, dict[str, Any]], other: tuple[Arrays, dict[str, Any]]) -> None:
    assert one[1] == other[1]
    assert one[0].keys() == other[0].keys()
    for name, array in one[0].items():
        assert array.tobytes() == other[0][name].tobytes(), name


def finished(config: SelfPlayConfig, threads: int, updates: int) -> SelfPlay:
    run = SelfPlay(config, threads)
    for _ in range(updates):
        run.step()
    run.close()
    return run


def test_a_fixed_seed_reproduces_a_run_to_the_bit_on_any_number_of_threads() -> None:
    settings = ((3, 1), (3, 2), (3, 1), (4, 1))
    one, same, again, other = (everything(finished(small_config(seed=seed), on, 3)) for seed, on in settings)
    assert_same(one, same)
    assert_same(one, again)
    assert (other[0]["policy.logits.weight"] != one[0]["policy.logits.weight"]).any()


def test_nor_does_it_depend_on_whether_threads_share_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they do where the networks are on a GPU: a group of 130 games makes three chunks."""
    config = small_config(num_envs=390, num_steps=12)
    apart = everything(finished(config, 2, 2))
    monkeypatch.setattr(
        selfplay, "Threads", lambda threads, share_groups: Threads(threads, share_groups=not share_groups)
    )
    assert_same(apart, everything(finished(config, 2, 2)))


def test_groups_play_different_games_each_as_if_it_were_alone() -> None:
    run, threads = SelfPlay(small_config(), 1), Threads(1)
    rollout, players = (
        run._collect(),
        RolloutPolicies(run.learner.input_layer, run.learner.policy, run.learner.sample_actions),
    )
    assert len(torch.unique(rollout.seen[rollout.played.rows[0], :15], dim=0)) == 24
    first = 0
    for group in range(3):
        games, generator = new_games(run.config, group), new_generator(run.config, group)
        alone = collect_rollout([games], [generator], 48, players, threads)
        whole = rollout.played.for_games(slice(8 * group, 8 * group + 8))
        mine, first = slice(first, first + len(alone.seen)), first + len(alone.seen)
        assert torch.equal(alone.seen, rollout.seen[mine])
        assert torch.equal(alone.choice.indices, rollout.choice.indices[mine])
        assert (whole.rows == np.where(alone.played.decides, alone.played.rows + mine.start, -1)).all()
        for name in ("seats", "rewards", "done"):
            assert (getattr(alone.played, name) == getattr(whole, name)).all(), name
    threads.close()


def test_decisions_are_learned_from_as_they_were_noted() -> None:
    run = SelfPlay(small_config(settled_share=0.5), 1)
    run.step()
    rollout = run._collect()
    values, found = run.learner.estimate(rollout)
    known, explained = run.learner.store_estimates(rollout, values, found)
    decides, noted = rollout.played.decides, rollout.played.rows[found.known]
    assert 0 < found.known[decides].mean() < 1
    assert all(decides[:, 8 * group : 8 * group + 8].any() for group in range(3))
    assert (known == np.sort(noted)).all()
    targets, advantages = rollout.targets.numpy()[noted], found.advantages[found.known]
    assert (targets == found.targets[found.known]).all()
    normalized = (advantages - advantages.mean()) / advantages.std()
    np.testing.assert_allclose(rollout.advantages.numpy()[noted], normalized, rtol=1e-4, atol=1e-5)
    assert explained == pytest.approx(1 - np.var(targets - values[noted]) / np.var(targets), abs=1e-4)
    assert 0 < rollout.seen[:, AGAINST_RULES].float().mean() < 1
    hands = describe_afterstates(rollout.seen[:, : OBSERVATION.size].numpy(), masks_of(rollout))
    legal, _ = rollout.gather_legal(torch.arange(len(rollout.seen)), len(rollout.legal_actions))
    assert (legal.actions.numpy() == hands.actions).all()
    assert (GpuInputLayer(SMALL, CPU).rests(rollout.seen, legal).numpy() == hands.columns).all()


@pytest.mark.parametrize("average", [0.0, 0.7])
def test_the_critic_whose_word_counts_is_told_who_plays(average: float, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SelfPlay(small_config(critic_ema_decay=average), 1)
    for _ in range(2):
        run.step()
    rollout = run._collect()
    asked: list[tuple[Critic, Tensor]] = []

    def spy(input_layer: InputLayer, critic: Critic, seen: Tensor, hand_values: Tensor) -> Tensor:
        asked.append((critic, seen[:, AGAINST_RULES]))
        return forward_critic(input_layer, critic, seen, hand_values)

    monkeypatch.setattr(ppo, "forward_critic", spy)
    run.learner.estimate(rollout)
    flags = torch.cat([flags for _, flags in asked])
    assert (flags == rollout.seen[:, AGAINST_RULES]).all()
    assert 0 < flags.float().mean() < 1
    mean, now = (run.state()[0][f"{name}.value.weight"] for name in ("average_critic", "critic"))
    for critic, _ in asked:
        assert (critic.value.weight.detach().numpy() == (mean if average else now)).all()
    assert (mean == now).all() == (average == 0)


@pytest.mark.parametrize("rules", ["mini", "bidding"])
def test_games_of_two_and_games_with_an_auction_are_learned(rules: str) -> None:
    run = SelfPlay(small_config(rules=rules, rules_share=0.6), 1)
    line = [run.step() for _ in range(2)][-1]
    assert run._collect().seen[:, AGAINST_RULES].any()
    assert line.games > 0
    assert np.isfinite([line.policy_loss, line.value_loss, line.critic_loss, line.entropy, line.approx_kl]).all()


MEASURED = ("decisions_per_second", "workers_busy", "rollout_share", "memory_gib", "seconds")


def without_times(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [{name: cell for name, cell in row.items() if name not in MEASURED} for row in csv.DictReader(file)]


class Killed(Exception):
    """The run was killed."""


def test_a_run_plays_deals_of_its_own_and_resumes_with_them(tmp_path: Path) -> None:
    whole, cut = SelfPlay(small_config(deals="tests.env.envs.test_deals:jokers"), 2), tmp_path / "cut"
    train(whole, Budget(updates=3), tmp_path / "whole")
    train(SelfPlay(whole.config, 1), Budget(updates=1), cut)
    resumed = SelfPlay.resume(cut / CHECKPOINT, 1)
    train(resumed, Budget(updates=3), cut)
    assert_same(everything(whole), everything(resumed))
    assert whole.counters.games > whole.config.num_envs
    for group in whole.groups:
        hands = (Hand.from_word(int(word)) for word in group.batch.rows[:, HANDS + 1 : HANDS + 3].flat)
        assert not any({"B", "R"} & {*str(hand)} for hand in hands)  # the landlord has the jokers


def test_a_run_that_is_killed_and_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    config = small_config(eval_freq=3, eval_deals=1, eval_opponents=("random",))
    whole = SelfPlay(config, 1)
    train(whole, Budget(updates=5), tmp_path / "whole")

    def kill(progress: CurveLine) -> None:
        if progress.update == 3:  # its line in the curves is already written, its checkpoint not yet
            raise Killed

    with pytest.raises(Killed):
        train(SelfPlay(config, 1), Budget(updates=5), tmp_path / "cut", on_update=kill)
    assert len(without_times(tmp_path / "cut" / CURVES)) == 3
    resumed = SelfPlay.resume(tmp_path / "cut" / CHECKPOINT, 1)
    assert resumed.counters.update == 2
    train(resumed, Budget(updates=5), tmp_path / "cut")
    assert_same(everything(whole), everything(resumed))
    for name in (CURVES, EVALUATIONS):
        assert without_times(tmp_path / "whole" / name) == without_times(tmp_path / "cut" / name)
    assert [int(row["update"]) for row in without_times(tmp_path / "cut" / CURVES)] == [1, 2, 3, 4, 5]
    assert [int(row["update"]) for row in without_times(tmp_path / "cut" / EVALUATIONS)] == [0, 3, 5]
    unmeasured = SelfPlay(small_config(), 1)  # evaluations change nothing of what is learned
    train(unmeasured, Budget(updates=5))
    assert_same((everything(whole)[0], {}), (everything(unmeasured)[0], {}))
    one, other = (load_weights(tmp_path / run / POLICY).policy for run in ("whole", "cut"))
    assert all((array == other[name]).all() for name, array in one.items())


@pytest.mark.parametrize(("minutes", "written"), [(0, [1, 2, 3, 4, 5]), (2, [1, 3, 5]), (99, [1, 5])])
def test_the_first_update_is_saved_and_then_by_time(minutes: float, written: list[int], tmp_path: Path) -> None:
    """Here an update takes a minute."""
    run, clock, kept = SelfPlay(small_config(checkpoint_minutes=minutes), 1), [0.0], list[int]()

    def minute(line: CurveLine) -> None:
        clock[0] += 60

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ddz_training.learn.loop.time.monotonic", lambda: clock[0])
        patch.setattr(SelfPlay, "save", lambda self, _: kept.append(self.counters.update))
        train(run, Budget(updates=5), tmp_path, on_update=minute)
    run.close()
    assert kept == written


def test_a_run_that_is_asked_to_stop_is_saved_and_not_measured(tmp_path: Path) -> None:
    """An evaluation may take a minute; it ends between two deals."""
    asked, found = list[int](), list[Evaluation]()

    def stop() -> bool:
        asked.append(run.counters.update)
        return len(asked) > 2  # after the evaluation of the start has played two deals

    run = SelfPlay(small_config(eval_freq=1, eval_deals=1000, eval_opponents=("random",)), 1)
    train(run, Budget(updates=50), tmp_path, on_evaluation=found.extend, stop=stop)
    assert asked == [0, 0, 0, 1, 1]  # one update, for a checkpoint
    assert found == without_times(tmp_path / EVALUATIONS) == []
    assert_same(everything(run), everything(SelfPlay.resume(tmp_path / CHECKPOINT, 1)))


@pytest.mark.parametrize("updates", [2, 3])
def test_an_evaluation_that_was_cut_off_is_made_when_the_run_goes_on(updates: int, tmp_path: Path) -> None:
    """Also where it was the last."""
    config = small_config(eval_freq=2, eval_deals=2, eval_opponents=("random",))
    train(SelfPlay(config, 1), Budget(updates=updates), tmp_path / "whole")
    run = SelfPlay(config, 1)
    train(run, Budget(updates=updates), tmp_path / "cut", stop=lambda: run.counters.update == 2)
    assert [row["update"] for row in without_times(tmp_path / "cut" / EVALUATIONS)] == ["0"]
    for _ in "12":  # the second time there is nothing to do
        train(SelfPlay.resume(tmp_path / "cut" / CHECKPOINT, 1), Budget(updates=updates), tmp_path / "cut")
        for name in (CURVES, EVALUATIONS):
            assert without_times(tmp_path / "whole" / name) == without_times(tmp_path / "cut" / name)


def test_a_budget_counts_what_was_done_before() -> None:
    assert Budget(updates=4).share_spent(Counters()) == 0
    done = Counters(update=1, seconds=90.0, decisions=30)
    assert Budget(updates=4).share_spent(done) == 0.25
    assert Budget(minutes=3, decisions=300).share_spent(done) == 0.5
    assert Budget(updates=4, minutes=1).share_spent(done) == 1
    for wrong in ({}, {"updates": 0}, {"minutes": -1.0}, {"decisions": 0}):
        with pytest.raises(InvalidTrainingError):
            Budget(**wrong)
    with pytest.raises(InvalidTrainingError, match="deals=0"):
        measure_strength(NetworkPolicy(PolicyNetwork(SMALL)), ["random"], 0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / CHECKPOINT
    finished(small_config(), 1, 2).save_checkpoint(path)
    return path


def test_checkpoints_that_cannot_be_read_are_refused_by_name(saved: Path, tmp_path: Path) -> None:
    path, earlier = tmp_path / CHECKPOINT, r"has version '1' of the ddz-selfplay-checkpoint format; .* 5"
    for write, message in (
        (lambda: None, "no such file"),
        (lambda: path.write_bytes(saved.read_bytes()[:1000]), "truncated"),
        (lambda: write_tensor_file(path, SelfPlay.kind[0], 1, *SelfPlay.resume(saved, 1).state()), earlier),
    ):
        write()
        with pytest.raises(CheckpointError, match=message):
            SelfPlay.resume(path)


MISFITS: dict[str, Callable[[Arrays, dict[str, Any]], object]] = {
    "weight": lambda arrays, about: arrays.pop("critic.value.bias"),
    "games": lambda arrays, about: arrays.update({"games.1.rows": arrays["games.1.rows"][:-1]}),
    "optimizer": lambda arrays, about: arrays.update({"adam.first.step": arrays.pop("adam.0.step")}),
    "group": lambda arrays, about: about["games"].pop(),
    "generator": lambda arrays, about: about["games"][2].pop("generator"),
    "config": lambda arrays, about: about["config"].update(dropout=0.5),
    "counters": lambda arrays, about: about.pop("counters"),
    "drawing": lambda arrays, about: arrays.update({"games.1.actions_generator": np.zeros(7, np.uint8)}),
    "pool": lambda arrays, about: about["pool"].update(members=about["pool"]["members"] + 1),
}


@pytest.mark.parametrize("case", MISFITS)
def test_checkpoints_that_do_not_fit_are_refused_by_name(case: str, saved: Path, tmp_path: Path) -> None:
    arrays, about = SelfPlay.resume(saved, 1).state()
    MISFITS[case](arrays, about)
    write_tensor_file(tmp_path / "file", *SelfPlay.kind, arrays, about)
    with pytest.raises(CheckpointMismatchError, match=r"does not fit|as many processes"):
        SelfPlay.resume(tmp_path / "file")


def test_a_run_is_not_resumed_under_other_settings_but_for_its_bookkeeping(saved: Path) -> None:
    same = SelfPlayConfig.read(["num_envs=24", "architecture.width=16", "eval_opponents=random,rules"])
    assert SelfPlay.resume(saved, 1, same).counters.update == 2
    with pytest.raises(CheckpointMismatchError, match=r"architecture\.width: the checkpoint has 16, this run 32"):
        SelfPlay.resume(saved, 1, SelfPlayConfig.read(["gae_lambda=0.95", "architecture.width=32"]))
    other = ["eval_freq=7", "eval_deals=3", "checkpoint_minutes=9", "eval_opponents=random"]
    config = SelfPlay.resume(saved, 1, SelfPlayConfig.read(other)).config
    assert config == small_config(eval_freq=7, eval_deals=3, checkpoint_minutes=9, eval_opponents=("random",))


def test_lines_behind_the_checkpoint_and_half_lines_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    curve = CurveFile(path, ["update", "loss"])
    for update in range(1, 5):
        curve.append(update, update / 3)
    path.write_text(path.read_text() + "5")
    resumed = CurveFile(path, ["update", "loss"], done=2)
    resumed.append(3, 0.0)
    assert path.read_text() == "update,loss\n1,0.333333\n2,0.666667\n3,0\n"
    with pytest.raises(CheckpointError, match="not a curve of this version"):
        CurveFile(path, ["update", "gain"], done=2)
    with pytest.raises(CheckpointError, match="another run, or of one that ended before its first checkpoint"):
        CurveFile(path, ["update", "gain"])
    assert path.read_text() == "update,loss\n1,0.333333\n2,0.666667\n3,0\n"
    path.write_text("update,loss\n")  # of a run that was killed before its first update
    CurveFile(path, ["update", "gain"])
    assert path.read_text() == "update,gain\n"
    path.write_bytes(b"update,gain\n\xff\n")
    with pytest.raises(CheckpointError, match="cannot continue"):
        CurveFile(path, ["update", "gain"], done=2)


def test_both_ways_on_say_the_same_where_a_run_ended_before_its_first_checkpoint(tmp_path: Path) -> None:
    (tmp_path / CURVES).write_text("update,loss\n1,0.5\n")
    for goes_on in (
        lambda: check_can_start(tmp_path / CHECKPOINT, resume=True),
        lambda: CurveFile(tmp_path / CURVES, ["update", "loss"]),
    ):
        with pytest.raises(CheckpointError, match=re.escape(f"remove {tmp_path}")):
            goes_on()
    (tmp_path / CURVES).unlink()
    check_can_start(tmp_path / CHECKPOINT, resume=False)


def test_starting_from_weights_begins_where_they_ended() -> None:
    policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
    run = SelfPlay(small_config(critic_warmup_updates=1), 1, Weights.of(policy, critic))

    def kept() -> list[bool]:
        return [
            bool((run.state()[0][f"policy.{name}"] == at.numpy()).all()) for name, at in policy.state_dict().items()
        ]

    run.step()
    assert all(kept())
    assert (run.state()[0]["critic.value.weight"] != critic.value.weight.detach().numpy()).any()  # it alone has learned
    run.step()
    assert not all(kept())
    other = Weights.of(PolicyNetwork(Architecture(width=8, blocks=0)))
    with pytest.raises(InvalidTrainingError, match=r"have the architecture Architecture\(width=8"):
        SelfPlay(small_config(), 1, other)
    if not torch.cuda.is_available():
        with pytest.raises(InvalidTrainingError, match="PyTorch finds no GPU here: train with --device cpu"):
            SelfPlay(small_config(device="cuda"), 1)


@pytest.mark.parametrize("kind", [SelfPlay, DeepMonteCarlo])
def test_the_step_size_rises_over_the_first_steps_of_a_run_in_however_many_updates(
    kind: type[SelfPlay], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (small_config if kind is SelfPlay else dmc_config)(learning_rate=2**-10, warmup_steps=20)
    run, rates, take_step = kind(config, 1), list[float](), Learner._step

    def spy(learner: Learner, *arguments: Any) -> dict[str, float]:
        rates.append(learner.optimizer.param_groups[0]["lr"])
        return take_step(learner, *arguments)

    monkeypatch.setattr(Learner, "_step", spy)
    run.step()
    assert 0 < len(rates) < 20
    run.save_checkpoint(tmp_path / CHECKPOINT)
    resumed = kind.resume(tmp_path / CHECKPOINT, 1)
    while len(rates) <= 20:
        resumed.step()
    assert rates == [2**-10 * min(1.0, (step + 1) / 20) for step in range(len(rates))]


def test_what_is_saved_are_running_averages_over_what_there_is_at_first() -> None:
    run = SelfPlay(small_config(ema_decay=0.5, critic_ema_decay=0.7), 1)
    means: dict[str, Any] = {}
    for update in range(5):
        run.step()
        arrays, _ = run.state()
        for average, network, past in (("average.", "policy.", 0.5), ("average_critic.", "critic.", 0.7)):
            for name in [name.removeprefix(network) for name in arrays if name.startswith(network)]:
                now, weight = arrays[network + name], max(1 - past, 1 / (update + 1))
                mean = means.get(average + name, now)
                means[average + name] = mean + weight * (now - mean)
    for name, mean in means.items():
        np.testing.assert_allclose(arrays[name], mean, rtol=1e-3, atol=1e-6)
    weights = run.to_weights()
    assert (weights.policy["logits.weight"] == arrays["average.logits.weight"]).all()
    assert weights.critic is not None
    assert (weights.critic["value.weight"] == arrays["average_critic.value.weight"]).all()
    assert (arrays["average_critic.value.weight"] != arrays["critic.value.weight"]).any()


def test_every_decision_counts_once_and_so_does_every_move_without_its_kickers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = SelfPlay(small_config(update_epochs=3, opponent_share=0.0), 1)
    rollout = run._collect()
    monkeypatch.setattr(run, "_collect", lambda: rollout)
    line, played = run.step(), rollout.played
    assert (line.steps, line.games) == (24 * 48, played.done.sum())
    assert 0 <= played.decides.sum() - line.decisions <= 3 * 24  # at most one per seat is still open
    assert 0 < line.decisions < line.steps
    actions = rollout.legal_actions[rollout.starts + rollout.choice.indices].numpy()
    kickers = (actions >= 379) & (actions < 394)
    assert (played.begins[played.decides] == ~kickers[played.rows[played.decides]]).all()
    assert 0 < kickers.sum() < len(kickers)


def test_an_update_of_whose_decisions_nothing_is_known_changes_no_weight() -> None:
    run = SelfPlay(small_config(num_envs=3, num_steps=1), 1)
    before, _ = everything(run)
    line, after = run.step(), everything(run)[0]
    assert (line.steps, line.decisions, line.policy_loss) == (3, 0, 0)
    assert all(
        (after[name] == array).all() for name, array in before.items() if name.startswith(("policy.", "critic."))
    )


@pytest.mark.long
def test_a_minute_of_self_play_beats_random_by_a_wide_margin() -> None:
    run = SelfPlay(SelfPlayConfig(num_envs=256, num_steps=64, minibatch=1024, learning_rate=1e-3, eval_freq=0))
    while run.counters.decisions < 200_000:
        run.step()
    run.close()
    (result,) = measure_strength(NetworkPolicy(run.policy), ["random"], 100)
    assert result.wins.low > 0.8


def test_a_run_of_another_version_names_both_and_one_against_other_weights_is_refused(
    saved: Path, tmp_path: Path
) -> None:
    file = tmp_path / CHECKPOINT
    arrays, about = SelfPlay.resume(saved, 1).state()
    assert about["code"] == [__version__]
    write_tensor_file(file, *SelfPlay.kind, arrays, about | {"code": ["0.1.0 other"]})
    with pytest.warns(OtherVersionWarning, match=f"is of version 0.1.0 other, this is {__version__}"):
        run = SelfPlay.resume(file, 1)
    assert run.state()[1]["code"] == run.to_weights().notes["code"] == ["0.1.0 other", __version__]
    arrays, about = SelfPlay(small_config(eval_opponents=("policy", "random")), 1).state()
    assert about["files"] == {"policy": digest_agent_files("policy")}
    about["files"] = {"policy": {"policy.safetensors": "0123456789abcdef"}}
    write_tensor_file(file, *SelfPlay.kind, arrays, about)
    with pytest.warns(OtherVersionWarning, match=r"'policy' was 0123456789abcdef"):
        SelfPlay.resume(file, 1)


def dmc_config(**changes: Any) -> DmcConfig:
    settings: dict[str, Any] = {"architecture": SMALL, "num_envs": 24, "groups": 3, "num_steps": 48, "minibatch": 256}
    return DmcConfig(**settings | {"microbatch": 100, "eval_freq": 0, "rules": "mini"} | changes)


def test_the_best_action_is_taken_and_any_other_now_and_then() -> None:
    """Four values take turns with two; with a probability of 0.2 any of them is taken."""
    count, generator = 20_000, torch.Generator().manual_seed(0)
    values = torch.tensor([-0.5, 0.1, 0.4, -1.0, -0.2, -0.3]).repeat(count // 2)
    rows = torch.arange(count).repeat_interleave(torch.tensor([4, 2]).repeat(count // 2))
    choice = sample_epsilon_greedy(values, rows, count, generator, 0.2)
    for first, chances in ((0, [0.05, 0.05, 0.85, 0.05]), (1, [0.9, 0.1])):
        shares = torch.bincount(choice.indices[first::2], minlength=len(chances)) / (count // 2)
        assert shares.tolist() == pytest.approx(chances, abs=0.015)  # four standard deviations
    assert (choice.loss_weights == 1).all()
    greedy = sample_epsilon_greedy(values, rows, count, generator, 0.0).indices
    assert greedy.tolist() == [2, 0] * (count // 2)


def test_steps_count_for_those_whose_game_ends_too_late() -> None:
    """Every length of game and every place in it count as often as they are played."""
    steps, rng = 40, np.random.default_rng(0)
    done = np.zeros((steps, 4000), bool)
    place = np.zeros((steps, 4000), int)
    for game in range(4000):
        length = rng.choice([5, 20])
        at = int(rng.integers(length)) if rng.random() < 5 / 25 or length == 20 else 0
        for step in range(steps):
            place[step, game] = length * 100 + at
            at += 1
            if at == length:
                done[step, game] = True
                length, at = rng.choice([5, 20]), 0
    rewards = np.zeros((steps, 4000, 3), np.float32)
    _, weights = monte_carlo_returns(rewards, np.zeros((steps, 4000), np.int8), done)
    for where in (500, 504, 2000, 2010):
        chosen = place == where
        assert weights[chosen].mean() == pytest.approx(1, abs=0.1), where


def test_a_run_goes_on_from_a_file_to_the_bit_on_any_number_of_threads(tmp_path: Path) -> None:
    run = DeepMonteCarlo(dmc_config(), 1)
    line = run.step()
    assert 0 < line.policy_loss < 2
    critic = run.critic.value.weight.detach().clone()
    run.save_checkpoint(tmp_path / "file")
    resumed = DeepMonteCarlo.resume(tmp_path / "file", 2)
    run.step()
    resumed.step()
    assert_same(everything(run), everything(resumed))
    assert torch.equal(run.critic.value.weight, critic)
    assert run.to_weights().critic is None, "which a search would ask, untrained as it is"
    with pytest.raises(CheckpointMismatchError, match="epsilon"):
        SelfPlay.resume(tmp_path / "file")


@pytest.mark.long
def test_values_of_mini_are_learned() -> None:
    run = DeepMonteCarlo(dmc_config(num_envs=240, learning_rate=0.003, epsilon=0.05), 1)
    for _ in range(60):
        run.step()
    (result,) = measure_strength(NetworkPolicy(run.policy), ["random"], 300, rules="mini")
    assert result.wins.low > 0.6
    run.close()


TINY = "num_envs=16 num_steps=32 architecture.width=8 architecture.critic_width=8"
FEW = as_options(f"{TINY} eval_freq=2 eval_deals=1 eval_opponents=random".split())


def test_a_run_is_begun_resumed_and_started_from(tmp_path: Path) -> None:
    out, policy = tmp_path / "run", tmp_path / "run" / "policy.safetensors"
    train = ("train", "selfplay", "--out", out, "--updates")
    begun = done(*train, 2, "--threads", 1, "--seed", 3, *FEW)
    assert "after 2 updates" in begun.output
    assert "\n50 % · update 1 · " in f"\n{begun.stderr}"  # in a log lines take the bar's place
    assert "\n100 % · update 2 · " in begun.stderr
    assert "━" not in begun.stderr
    assert format_command("ddz", "arena", f"policy:path={policy}", "rules") in begun.stderr
    assert load_weights(policy).notes["updates"] == 2
    assert "add --resume" in refused(*train, 2, *FEW)
    done(*train, 3, "--resume", "--eval-deals", "2")
    assert len((out / "curves.csv").read_text().splitlines()) == 1 + 3
    small = ("--num-envs", 16, "--num-steps", 16, "--eval-freq", 0, "--objective", "stake")
    done("train", "selfplay", "--out", tmp_path / "next", "--updates", 1, "--init", policy, *small)
    weights = load_weights(tmp_path / "next" / "policy.safetensors")
    assert (weights.architecture.width, weights.objective) == (8, "stake")
    assert "seed: the checkpoint has 3, this run 4" in refused(*train, 4, "--resume", "--seed", 4)
    assert "leave out --init" in refused(*train, 4, "--resume", "--init", policy)
    new = ("train", "selfplay", "--out", tmp_path / "none", "--updates", 1)
    assert WEIGHTS_OR_ID.convert("policy-v3", None, None).is_file()
    assert "policy-v0: there is no such file" in refused(*new, "--init", "policy-v0")


def test_processes_of_a_run_on_gpus_are_told_to_name_them_when_they_resume_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SelfPlay(small_config(), 1)
    run.config = dataclasses.replace(run.config, device="cuda")
    (tmp_path / CHECKPOINT).touch()
    monkeypatch.setattr(SelfPlay, "resume", lambda *arguments: run)
    monkeypatch.setattr(processes, "join_processes", lambda device: contextlib.nullcontext(Processes(0, 2)))
    message = refused("train", "selfplay", "--out", tmp_path, "--updates", 1, "--resume")
    assert "the processes of this run train on cuda: add --device cuda" in message


def test_the_page_s_term_of_the_loss_and_its_statistic_are_learned_from_and_written(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "extend" / "loss.md").read_text(encoding="utf-8")
    [program] = re.findall(r"(?s)```python\n(.*?)```", page)
    (tmp_path / "small_values.py").write_text(program, encoding="utf-8")
    settings = {name: getattr(small_config(), name) for name in ("architecture", "num_envs", "groups", "num_steps")}
    runpy.run_path(str(tmp_path / "small_values.py"))["begin"](tmp_path / "run", 2, **settings, eval_freq=0)
    rows = without_times(tmp_path / "run" / CURVES)
    assert [*rows[0]][-1] == "squares"
    assert all(0 < float(row["squares"]) < 1 and float(row["entropy"]) > 0 for row in rows)


def test_no_bar_at_0_stays_above_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Progress(console=Console(force_terminal=True, file=io.StringIO()))
    monkeypatch.setattr("ddz_training.cli.train.make_progress", lambda: screen)
    run = SelfPlay(small_config(), 1)
    monkeypatch.setattr(run, "learn", lambda: {}["not learned"])
    with pytest.raises(KeyError, match="not learned"):
        train_under_bar(run, Budget(updates=1), None)
    assert not screen.tasks[0].visible


def test_values_are_trained_from_the_command_line(tmp_path: Path) -> None:
    train = ("train", "dmc", "--out", tmp_path, "--updates")
    assert "nothing to resume (a run writes it after its first update; leave out" in refused(*train, 1, "--resume")
    shown = done(*train, 1, "--rules", "mini", "--threads", 1, *FEW).stderr
    assert " · loss " in shown
    assert "entropy" not in shown
    assert "neural-ismcts" not in shown, "whose priors are probabilities, not values"
    done(*train, 2, "--resume")
    assert len((tmp_path / "curves.csv").read_text().splitlines()) == 3
    assert "epsilon: the checkpoint has 0.01" in refused(*train, 2, "--resume", "--epsilon", "0.5")
