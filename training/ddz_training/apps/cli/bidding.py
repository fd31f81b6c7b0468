"""``ddz bidding``: what a hand is worth before bidding, showing or doubling."""

from __future__ import annotations

from typing import Annotated

import typer

from ddz_training.apps.cli.console import remark
from ddz_training.apps.cli.experiment import show
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import leave_out


def bidding(
    context: typer.Context,
    cards: Annotated[str, typer.Argument(help="The 17 cards dealt: 3344567TJQQKA22BR.")],
    bottom: Annotated[
        str, typer.Option(help="The three landlord cards: the auction is over; show the hand, or double?")
    ] = "",
    role: Annotated[str, typer.Option(help="With --bottom: landlord, peasant-down or peasant-up.")] = "landlord",
    bid: Annotated[
        int, typer.Option(min=0, max=3, help="The bid that stands: of the seat before; with --bottom the landlord's.")
    ] = 0,
    player: Annotated[
        list[str] | None, typer.Option(help="Who plays the worlds out; may be repeated (rules and policy by default).")
    ] = None,
    worlds: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many worlds are dealt.")] = 500,
    bankroll: Annotated[
        float | None, typer.Option(help="All that could be lost, in base stakes; none by default: no loss rate.")
    ] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "bidding,doubling=true",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the worlds.")] = 0,
    convergence: Annotated[
        bool, typer.Option("--convergence", help="Show how the win rate settles as worlds are added.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Estimate a hand's win rate from dealt worlds, and what bidding (or showing, or doubling) is expected to bring."""
    from json import dumps

    from ddz_agents.bidding.hand import hand_view
    from ddz_agents.bidding.policy import PayoffOptions
    from ddz_env import Rules
    from ddz_training.apps.hand_odds import report

    if not bottom:
        leave_out(context, "roles come with the landlord cards (--bottom)", "--role")
    elif bid == 0:
        leave_out(context, "with --bottom the bid is the landlord's, which is never 0", "--bid")
    elif (preset := Rules.preset(rules)).bidding == "fixed":
        leave_out(context, f"under the {preset.name} rules nobody bids", "--bid")
    view = hand_view(cards, rules, bottom, role, bid)
    options = [PayoffOptions(worlds, name, bankroll) for name in player or ("rules", "policy")]
    reports = [report(view, one, seed) for one in options]
    if json:
        typer.echo(dumps([one.as_dict() for one in reports], ensure_ascii=False))
        return
    for one in reports:
        show(one.table())
    for one in reports if convergence else ():
        show(one.settling_table())
    remark("95 % intervals; stakes and payoffs in base stakes.")
