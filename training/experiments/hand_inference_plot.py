"""The plot of what hand inference knows, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training.experiments.hand_inference import STAGES, WatchResult


def plot_hand_inference(results: Sequence[WatchResult], path: Path) -> None:
    """The mean probability (geometric) of a rank's true split by decisions so far, a panel for each kind of player."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    players = list(dict.fromkeys(result.player for result in results))
    figure = Figure(figsize=(3.2 * len(players), 3.4), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(players), sharey=True, squeeze=False)[0]
    beliefs = (("uniform", "plain determinization"), ("default", "three kinds of players"), ("rules", "the rule agent"))
    for panel, player in zip(panels, players, strict=True):
        for belief, label in beliefs:
            line = [_probability(results, player, stage, belief) for stage in STAGES]
            panel.plot([f"{first}–{last}" for first, last in STAGES], line, marker="o", label=label)
        panel.set_title(f"games of {player}")
        panel.set_xlabel("decisions of hidden seats")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("probability of a rank's true split")
    panels[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _probability(results: Sequence[WatchResult], player: str, stage: tuple[int, int], belief: str) -> float:
    """The geometric mean over ranks; NaN where nothing was seen."""
    here = [result for result in results if result.player == player and stage[0] <= result.decisions <= stage[1]]
    ranks = sum(result.ranks for result in here)
    return float(np.exp(sum(getattr(result, belief) for result in here) / ranks)) if ranks else float("nan")
