"""Names of earlier versions: people are told today's, and the files of version 0.2.0 are read and continued."""

from __future__ import annotations

import json
import tarfile
import warnings
from pathlib import Path

import pytest

from ddz_training.learn.dmc import DmcConfig
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.loop import CHECKPOINT, CURVES, EVALUATIONS, RENAMED_COLUMNS, Budget, train
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import CurveLine, SelfPlay
from ddz_training.learn.settings import RENAMED
from ddz_training.learn.training_curves import read_run
from ddz_training.measure.errors import OtherVersionWarning
from tests.packages import ROOT
from tests.training.cli.terminal import refused

OLD_RUN = ROOT / "tests" / "data" / "selfplay_run_0.2.0.tar.xz"
"""Four updates of a tiny run by version 0.2.0 (commit abf68bd3), with a past self and the rule agent as opponents."""

SETTINGS = {
    "average": "ema_decay",
    "clip": "clip_coef",
    "critic_average": "critic_ema_decay",
    "critic_updates": "critic_warmup_updates",
    "entropy": "ent_coef",
    "epochs": "update_epochs",
    "evaluate_deals": "eval_deals",
    "evaluate_every": "eval_freq",
    "final_entropy": "final_ent_coef",
    "final_learning_rate": "final_lr_factor",
    "lam": "gae_lambda",
    "max_gradient": "max_grad_norm",
    "num_games": "num_envs",
    "opponents": "eval_opponents",
    "shard": "microbatch",
    "steps": "num_steps",
    "target_lam": "target_lambda",
    "value_weight": "vf_coef",
    "warm_up": "warmup_steps",
}
CASES = [
    *(("selfplay", old, new) for old, new in SETTINGS.items()),
    ("dmc", "average", "ema_decay"),
    ("dmc", "opponents", "eval_opponents"),
    ("sb3", "baselines", "eval_opponents"),
    ("sb3", "evaluate_every", "eval_freq"),
    ("belief", "alike", "same_peasants_share"),
    ("belief", "max_gradient", "max_grad_norm"),
    ("belief", "num_games", "num_envs"),
]


def test_every_renamed_setting_has_a_case() -> None:
    assert {(old, new) for _, old, new in CASES} == set(RENAMED.items())


@pytest.mark.parametrize(("command", "old", "new"), CASES)
def test_a_setting_of_an_earlier_version_is_refused_with_todays_name(
    command: str, old: str, new: str, tmp_path: Path
) -> None:
    flag, today = (f"--{name.replace('_', '-')}" for name in (old, new))
    for written in ([flag, "1"], [f"{flag}=1"]):
        assert refused("train", command, "--out", tmp_path, *written) == f"{flag} is {today} now"
    for written in (["--set", f"{old}=1"], [f"{old}=1"]):
        line = refused("train", command, "--out", tmp_path, *written)
        assert line == f"settings are options now: {today} 1, not {old}=1"
    assert not list(tmp_path.iterdir())


def test_a_text_with_an_earlier_name_is_refused_and_a_setting_that_never_was_is_unknown() -> None:
    with pytest.raises(InvalidTrainingError, match="'lam' is called 'gae_lambda' now"):
        SelfPlayConfig.read(["lam=0.9"])
    with pytest.raises(InvalidTrainingError, match="there is no option 'lam'"):  # deep Monte Carlo has no λ
        DmcConfig.read(["lam=0.9"])


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    with tarfile.open(OLD_RUN) as archive:
        archive.extractall(tmp_path)  # our own file, with three names
    return tmp_path


def resume(folder: Path) -> SelfPlay:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OtherVersionWarning)
        return SelfPlay.resume(folder / CHECKPOINT, 1)


def test_a_run_of_an_earlier_version_is_continued_and_its_curves_get_todays_columns(old_run: Path) -> None:
    before = [line.split(",") for line in (old_run / CURVES).read_text(encoding="utf-8").splitlines()]
    assert RENAMED_COLUMNS.keys() < {*before[0]}
    run = resume(old_run)
    config = run.config
    assert isinstance(config, SelfPlayConfig)
    assert (config.num_envs, config.num_steps, config.update_epochs, config.microbatch) == (3, 12, 1, 32)
    assert (config.final_lr_factor, config.max_grad_norm, config.ema_decay, config.clip_coef) == (0.2, 0.9, 0.9, 0.1)
    assert (config.gae_lambda, config.target_lambda, config.ent_coef) == (0.6, 0.7, 0.02)
    assert (config.eval_freq, config.eval_deals, config.eval_opponents) == (2, 1, ("random",))
    assert (config.advantage_quantile, config.advantage_floor) == (0, 0)
    train(run, Budget(updates=6), old_run)
    after = [line.split(",") for line in (old_run / CURVES).read_text(encoding="utf-8").splitlines()]
    assert after[0] == list(CurveLine.__dataclass_fields__)
    assert after[1:5] == before[1:]
    assert [line[:2] for line in after[5:]] == [["5", "180"], ["6", "216"]]
    assert len((old_run / EVALUATIONS).read_text(encoding="utf-8").splitlines()) == 1 + 3
    assert resume(old_run).counters.update == 6


def test_curves_of_an_earlier_version_are_read_under_todays_columns(old_run: Path) -> None:
    stage = read_run("old", old_run)
    assert [*stage.updates[0]] == list(CurveLine.__dataclass_fields__)
    assert stage.updates[2]["explained_variance"] == "0"


def test_the_settings_of_a_run_of_stable_baselines_are_read_from_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    from ddz_training.learn.sb3.train import SETTINGS as FILE
    from ddz_training.learn.sb3.train import Sb3Config, load_config

    old = {"evaluate_every": 7, "evaluate_deals": 50, "baselines": ["random"], "opponents": "rules"}
    today = Sb3Config().as_dict()
    kept = {name: value for name, value in today.items() if name not in ("eval_freq", "eval_deals", "eval_opponents")}
    (tmp_path / FILE).write_text(json.dumps(kept | old), encoding="utf-8")
    config = load_config(tmp_path)
    assert config == Sb3Config(eval_freq=7, eval_deals=50, eval_opponents=("random",), opponents="rules")
