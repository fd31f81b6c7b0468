"""``ddz study``: what is found out about an agent, or about deals."""

from __future__ import annotations

from ddz_training.apps.cli.console import FriendlyTyper
from ddz_training.apps.cli.equivalent import equivalent
from ddz_training.apps.cli.exploit import exploit
from ddz_training.apps.cli.help import add_commands, examples
from ddz_training.apps.cli.tendency import tendency

app = FriendlyTyper(
    help="Study agents and deals: what beats an agent, what search equals it, whom deals favour.",
    epilog=examples("ddz study exploit policy --out runs/policy --minutes 60", "ddz study equivalent rules"),
    no_args_is_help=True,
)


@app.callback()
def _options() -> None:
    """Study agents and deals: what beats an agent, what search equals it, whom deals favour."""


add_commands(
    app,
    {
        equivalent: (
            "ddz study equivalent rules",
            "ddz study equivalent policy --search rollout --most 10000 --out policy.csv",
            "ddz study equivalent rlcard-rule --method binary --upper 100 --deals 100",
        ),
        exploit: (
            "ddz study exploit policy --out runs/policy --minutes 60",
            "ddz study exploit rules --out runs/rules --side landlord --updates 200",
            "ddz study exploit rules --out runs/rules --updates 400 --resume",
            "ddz study exploit random --out runs/mini --rules mini --minutes 1",
        ),
        tendency: (
            "ddz study tendency --out deals.csv",
            "ddz study tendency --top policy --top rules --bottom random --deals 500",
        ),
    },
)
