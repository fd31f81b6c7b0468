"""The ``ddz bidding`` report on a hand: its win rate in sampled deals, and the expected value of each answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddz_agents.bidding.policy import Appraisal, PayoffOptions, appraise, best_appraisal, hidden_and_shown_views
from ddz_agents.bidding.worlds import Outcomes, simulate_outcomes
from ddz_env import View
from ddz_env.core.move_names import kind_of_decision, move_name
from ddz_env.playing.registry import make_agent
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import ConvergenceLine, Interval, summarize_convergence, wilson_interval


@dataclass(frozen=True)
class HandReport:
    """A hand's win rates and the value of each answer, estimated from sampled deals that one agent played out.

    Attributes:
        player: Who played the worlds out.
        view: What the seat knows.
        played: The worlds.
        answers: What each legal answer is worth.
    """

    player: str
    view: View
    played: Outcomes
    answers: Sequence[Appraisal]

    @property
    def landlord_seats(self) -> dict[str, int]:
        """The landlord's seat in the simulated deals, keyed by the role that the observing seat then has."""
        seat, landlord = self.view.seat, self.view.landlord
        if landlord is not None:
            return {str(self.view.role).replace("_", "-"): landlord}
        return {"landlord": seat, "peasant-down": (seat + 2) % 3, "peasant-up": (seat + 1) % 3}

    @property
    def question(self) -> str:
        """The kind of decision that the report evaluates, such as a bid or an answer to doubling."""
        return kind_of_decision(self.view.history, self.view.stage, self.view.rules)

    def rates(self) -> dict[str, Interval]:
        """Return the observing seat's win rate in each possible role, with its 95 % interval."""
        worlds = len(self.played.landlord_won)
        return {
            part: wilson_interval(int(self.played.wins(landlord).sum()), worlds)
            for part, landlord in self.landlord_seats.items()
        }

    def convergence(self) -> list[ConvergenceLine]:
        """Summarize how the win rate (in an auction, that as landlord) converges as more deals are sampled."""
        won = self.played.wins(next(iter(self.landlord_seats.values())))
        return summarize_convergence((won.cumsum()[9::10] / np.arange(10, len(won) + 1, 10)).tolist())

    def as_dict(self) -> dict[str, Any]:
        """Return the report's hand, win rates and answers as JSON values."""
        return {
            "player": self.player,
            "hand": str(self.view.hand),
            "worlds": len(self.played.landlord_won),
            "win_rates": {part: [rate.mean, rate.low, rate.high] for part, rate in self.rates().items()},
            "gains": {part: self.played.gain(landlord) for part, landlord in self.landlord_seats.items()},
            "answers": [
                {
                    "move": move_name(answer.move, self.question),
                    "stake": answer.chip,
                    "win_rate": answer.win_rate,
                    "payoff": answer.payoff,
                }
                for answer in self.answers
            ],
            "best": move_name(best_appraisal(self.answers).move, self.question),
            "convergence": [{**line._asdict(), "difference": line.spread} for line in self.convergence()],
        }

    def table(self) -> Table:
        """Make the table of the value of each possible answer, with the best answer marked."""
        chosen = best_appraisal(self.answers).move
        lines = [
            (*_answer_cells(answer, self.question), "←" if answer.move == chosen else "") for answer in self.answers
        ]
        rates = ", ".join(f"{part} {rate.text_with_range()} %" for part, rate in self.rates().items())
        gains = ", ".join(f"{part} {self.played.gain(landlord):+.2f}" for part, landlord in self.landlord_seats.items())
        worlds = len(self.played.landlord_won)
        note = f"{self.view.hand} in {worlds:,} worlds. Wins: {rates}. Points for each at stake: {gains}."
        return Table(f"Played out by {self.player}", ("answer", "at stake", "win %", "payoff", "best"), lines, note)

    def settling_table(self) -> Table:
        """Return a table of how the win rate converges as deals are sampled (table 1 of the payoff paper)."""
        part = next(iter(self.landlord_seats))
        title = f"The win rate as {part} settles, played out by {self.player}"
        lines = [
            (
                f"{line.first}–{line.last}",
                *(f"{rate:.3f}" for rate in (line.highest, line.lowest, line.mean, line.spread)),
            )
            for line in self.convergence()
        ]
        return Table(title, ("worlds", "highest", "lowest", "mean", "difference"), lines)


def _answer_cells(answer: Appraisal, asked: str) -> tuple[str, ...]:
    return move_name(answer.move, asked), f"{answer.chip:g}", f"{100 * answer.win_rate:.1f}", f"{answer.payoff:+.2f}"


def make_report(view: View, options: PayoffOptions, seed: int) -> HandReport:
    """Sample deals that fit a seat's view, let an agent play them out, and evaluate the seat's answers.

    Args:
        view: In the auction, at showing or at doubling.
        options: Worlds, who plays them, and how payoffs are expected.
        seed: Seed of the worlds.
    """
    player, rng, shown = make_agent(options.rollout_player), np.random.default_rng(seed), None
    if view.stage == "show":
        played, shown = (
            simulate_outcomes(seen, twin, options.worlds, player) for seen, twin in hidden_and_shown_views(view, rng)
        )
    else:
        played = simulate_outcomes(view, rng, options.worlds, player)
    return HandReport(options.rollout_player, view, played, appraise(view, played, options, shown))
