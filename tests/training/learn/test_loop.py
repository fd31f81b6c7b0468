"""The loop of every training: what its minutes count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from numba.core import event

from ddz_training.learn import loop
from ddz_training.learn.settings import TrainingSettings
from ddz_training.measure.clocks import PausingClock


@dataclass
class Line:
    update: int
    seconds: float


def test_the_minutes_of_a_training_count_from_the_first_decision_not_from_the_first_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, shares = [0.0], list[float]()
    monkeypatch.setattr(loop, "wall_time", PausingClock(lambda: now[0]))

    class Compiling(loop.Training):
        line_type = Line

        def learn(self) -> Mapping[str, Any]:
            shares.append(self.spent)
            if not self.counters.update:
                with event.trigger_event("numba:compiler_lock"):
                    now[0] += 1000.0
            now[0] += 15.0
            return {}

        def save(self, folder: Path) -> None: ...

        def close(self) -> None: ...

    loop.train(Compiling(TrainingSettings()), loop.Budget(minutes=1))
    assert shares == [0.0, 0.25, 0.5, 0.75]
