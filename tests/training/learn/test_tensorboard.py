"""TensorBoard's files hold the curves of a training, also of one that was killed and resumed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def test_curves_and_evaluations_are_written_as_scalars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed run wrote after its last checkpoint is hidden by what the resumed run writes."""
    pytest.importorskip("torch")
    from ddz_training.learn.errors import MissingTensorBoardError
    from ddz_training.learn.loop import RunLog

    with monkeypatch.context() as only:
        only.setitem(sys.modules, "torch.utils.tensorboard", None)
        with pytest.raises(MissingTensorBoardError, match=r"pip install -e '\.\[tensorboard\]'"):
            RunLog({}, None, tmp_path)
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from ddz_training.learn.imitation import ImitationLine
    from ddz_training.learn.strength import Evaluation

    found = Evaluation(3, "rules", 50, wins=0.75, low=0.7, high=0.8, landlord=0.625, peasants=0.875)
    first = RunLog({}, None, tmp_path)
    for decisions, loss in ((10, 0.5), (20, 0.25), (30, 9.0)):
        first.add(ImitationLine(decisions, loss, 0.5))
    first.close()
    second = RunLog({}, None, tmp_path, done=20)
    second.add(ImitationLine(30, 0.125, 0.5))
    second.add(found)
    second.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    evaluated = {f"evaluation/rules/{name}" for name in ("wins", "landlord", "peasants")}
    assert set(events.Tags()["scalars"]) == {"training/loss", "training/agreement"} | evaluated
    losses, wins = events.Scalars("training/loss"), events.Scalars("evaluation/rules/wins")
    assert [(event.step, event.value) for event in losses] == [(10, 0.5), (20, 0.25), (30, 0.125)]
    assert [(event.step, event.value) for event in wins] == [(3, 0.75)]
