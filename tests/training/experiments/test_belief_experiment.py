"""What the belief network knows: the scores, the file and the tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from ddz_agents.belief.model import write_belief
from ddz_agents.worlds.particles import Particles
from ddz_env import State
from ddz_training.experiments.hidden_hands import (
    BELIEF,
    BINS,
    BeliefOptions,
    belief_table,
    calibration,
    calibration_table,
    hidden_counts,
    plot_belief,
)
from ddz_training.measure.plotting import can_plot
from tests.agents.belief.test_belief import network, stored


def test_calibration_counts_what_comes_true() -> None:
    state = State.new(seed=9)
    truth = hidden_counts(state.row, 0)
    sure = Particles(state.row[None, :4].copy(), np.ones(1), 1.0, 1.0)
    count, said, true = np.array(calibration(truth, state.view(), sure)).reshape(3, BINS)
    assert count.sum() == (truth.sum(axis=0) > 0).sum()
    assert (count[1:-1] == 0).all()
    assert (said[-1], true[-1]) == (count[-1], count[-1])
    assert (said[0], true[0]) == (0, 0)
    assert count[-1] == (truth[1] > 0).sum()


def test_a_run_is_kept_and_shown(tmp_path: Path) -> None:
    weights, path = tmp_path / "belief.safetensors", tmp_path / "belief.csv"
    write_belief(weights, stored(network(0.0)))
    options = BeliefOptions(games=1, worlds=8, belief=weights, processes=1)
    saved = BELIEF.run(options, path, tasks=[("random", 0)])
    assert len(saved.results) == 6
    assert all(one.network_bits == pytest.approx(one.plain_bits, abs=1e-3) for one in saved.results)
    again = BELIEF.run(replace(options, games=1), path, tasks=[("random", 0)])
    assert again.results == saved.results
    [line, total] = belief_table(saved).lines
    assert line[:3] == ("`random`", "yes", "6")
    assert total[0] == "all inside"
    assert len(calibration_table(saved).lines) == BINS
    if can_plot():
        plot_belief(saved, tmp_path / "belief.png")
        assert (tmp_path / "belief.png").stat().st_size > 1000
