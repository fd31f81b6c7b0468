"""A policy of bytes alone: what is taught, that a run goes on where it was ended, and that the file plays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ddz_agents.neural.loading import load_policy
from tools.distill import ByteNetwork, Distillation, Lesson, Settings, lessons, write_onnx

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

SETTINGS = Settings(decisions=1200, games=64, lesson=300, minibatch=100)


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    """Of games in which an untrained student moves as often as the teacher."""
    return next(lessons(load_policy(), ByteNetwork(), SETTINGS.games, SETTINGS.lesson, seed=0))


def test_a_student_comes_nearer_to_the_teachers_probabilities(lesson: Lesson) -> None:
    assert len(lesson.masks) >= SETTINGS.lesson
    assert lesson.masks.sum(1).min() > 1
    taught, _ = load_policy().evaluate(lesson.observations, lesson.masks)
    np.testing.assert_array_equal(lesson.targets, taught)
    run = Distillation(SETTINGS)
    divergences = [run.learn(lesson)[0] for _ in range(8)]
    assert divergences[-1] < 0.7 * divergences[0]
    assert run.learned == 8 * len(lesson.masks)


def test_a_run_goes_on_as_if_it_had_not_ended_and_under_its_settings_alone(lesson: Lesson, tmp_path: Path) -> None:
    run, again = Distillation(SETTINGS), Distillation(SETTINGS)
    run.learn(lesson)
    run.save(tmp_path / "raw.checkpoint")
    again.resume(tmp_path / "raw.checkpoint")
    assert again.learn(lesson) == run.learn(lesson)
    for name, weights in run.average.state_dict().items():
        assert torch.equal(weights, again.average.state_dict()[name])
    with pytest.raises(SystemExit, match="was begun with"):
        Distillation(replace(SETTINGS, seed=1)).resume(tmp_path / "raw.checkpoint")


def test_the_file_takes_bytes_and_answers_as_the_network_does(lesson: Lesson, tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = ByteNetwork()
    write_onnx(network, tmp_path / "raw.onnx", {"decisions": 0})
    logs, _ = load_policy(tmp_path / "raw.onnx").evaluate(lesson.observations, lesson.masks)
    with torch.no_grad():
        here = network.log_probabilities(lesson.observations, lesson.masks).numpy()
    np.testing.assert_allclose(logs, here, atol=5e-3)  # matrices in half precision
    assert (tmp_path / "raw.onnx").stat().st_size < 2_000_000
