"""``ddz study``: what beats an agent, what search equals it, whom deals favour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ddz_env import Rules
from ddz_env.core.checks import check_choice
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import again, follow, group, leave_out, resuming, rules_option
from ddz_training.apps.cli.console import show, stopping, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.train import OWN_WEIGHTS
from ddz_training.apps.cli.training_bars import policy_bar
from ddz_training.experiments.experiment import Table
from ddz_training.measure.match.errors import InvalidExperimentError
from ddz_training.measure.match.one_writer import writing
from ddz_training.measure.match.results import OnProgress

with lazily():
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.learn import checkpoint as learn_checkpoint
    from ddz_training.learn import errors as learn_errors
    from ddz_training.learn import run as learn_run
    from ddz_training.learn import strength
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.measure import equivalent as duels
    from ddz_training.measure import tendency as deal_tendency
    from ddz_training.measure.match import statistics
    from ddz_training.measure.response import response

METHODS = ("sequential", "binary")
_SIDES = {"both": "either", "landlord": "landlord", "peasants": "peasants"}


def equivalent(
    agent: Annotated[str, typer.Argument()],
    search: str = "isuct",
    method: str = "sequential",
    rules: options.Preset = "half-deck",
    lower: options.OptionalCount = None,
    upper: options.OptionalCount = None,
    deals: options.OptionalCount = None,
    precision: Annotated[float, typer.Option(min=1.01)] = 1.25,
    most: options.Count = 1000000,
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.Out = None,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval.

    Options:
        agent: The agent, as for ddz arena.
        search: The search whose iterations are counted, with other options if wanted.
        method: sequential (fewer games), or binary: the thesis's algorithms 4 and 5.
        lower: Where to look: from so many iterations (1; binary: 1).
        upper: Up to so many (--most; binary: 100, doubled until the search wins).
        deals: Duplicate deals, two games each: at most 2,000, or 500 for each step of binary.
        precision: End when the interval reaches no farther than a factor of this.
        most: The most iterations that are tried.
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.

    Example:
        ddz study equivalent rules
        ddz study equivalent policy --search rollout --most 10000 --out policy.csv
        ddz study equivalent rlcard-rule --method binary --upper 100 --deals 100
    """
    check_choice("method", method, METHODS, InvalidExperimentError)
    ladder = duels.Ladder(agent, search, Rules.preset(rules), seed)
    ladder.check()
    named = {"deals": deals} if deals else {}
    wanted = duels.SequentialOptions(most=most, precision=precision, **named)
    where = duels.Bounds.of(lower or 1, upper or (most if method == "sequential" else min(100, most)))

    def find(tell: OnProgress) -> duels.Found:
        with duels.playing(ladder, duels.duel_store(ladder, out), processes, tell) as play:
            if method == "sequential":
                return duels.sequential_search(play, wanted, where)
            steps = deals or duels.STEP_DEALS
            bounds, _ = duels.initial_bounds(play, where, steps, np.random.default_rng(seed), most)
            return duels.binary_search(play, bounds, steps)

    found = with_bar("deals", find)
    show(_equivalent_table(ladder, found))
    if not found.beyond:
        searching = f"{search}{',' if ':' in search else ':'}iterations={max(1, round(found.iterations.mean))}"
        follow("to see them play each other", "arena", agent, searching, *rules_option(rules))


def _equivalent_table(ladder: duels.Ladder, found: duels.Found) -> Table:
    """What was played against how many iterations, and the equivalent below."""
    lines = [
        (f"{many:,}", str(tally.deals), str(tally.ahead), str(tally.behind), duels.wins(tally).percent())
        for many, tally in sorted(found.tallies.items())
    ]
    header = ("iterations", "deals", "agent ahead", "search ahead", "agent wins %")
    if found.beyond:
        note = f"The equivalent of {ladder.agent} is {found.text()} iterations of {ladder.search}."
    else:
        note = f"{ladder.search} plays as strongly as {ladder.agent} with {found.text()} iterations (95 % interval)."
    deals = f"{found.iterations.count} duplicate deals"
    title = f"Monte Carlo equivalent · {deals} · {ladder.rules.name} rules · seed {ladder.seed}"
    return Table(title, header, lines, note)


def exploit(
    context: typer.Context,
    agent: Annotated[str, typer.Argument()],
    out: options.OutputFolder,
    minutes: options.Minutes = None,
    updates: options.Updates = None,
    side: str = "both",
    start: str | None = None,
    deals: options.Count = 2000,
    resume: bool = False,
    allow_other_code: options.OtherCode = False,
    rules: Annotated[str | None, typer.Option(help=f"{options.RULES} With a fixed landlord.")] = None,
    seed: options.TrainingSeed = None,
    threads: options.Threads = None,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    tensorboard: options.TensorBoard = None,
    plot: options.Plot = None,
    settings: options.Settings = None,
) -> None:
    """Train a response to an agent, and report what it wins over the agent's own rate on the same deals.

    Options:
        agent: The agent, as for ddz arena; it stays as it is.
        out: Folder for the response, its games, curve and report.
        side: Train the landlord, the peasants or both.
        start: own (the agent's weights), shipped, scratch or a file; own by default where the agent is a policy, else
            shipped.
        deals: Duplicate deals of the report.
        resume: Resume the training and the report in --out.
        processes: Processes that play the report's deals.

    Example:
        ddz study exploit policy --out runs/policy --minutes 60
        ddz study exploit rules --out runs/rules --side landlord --updates 200
        ddz study exploit rules --out runs/rules --updates 400 --resume
        ddz study exploit random --out runs/mini --rules mini --minutes 1
    """
    check_choice("side", side, _SIDES, learn_errors.InvalidTrainingError)
    budget = learn_run.Budget(updates, minutes)
    named = {"rules": rules, "seed": seed, "learner_side": None if side == "both" else _SIDES[side]}
    given = ppo_config.SelfPlayConfig.given(named, settings or ())
    with writing(out, folder=True):
        run = _begun(context, agent, out, threads, given, start, resume=resume)
        own = (run.config, out, run.config.evaluate_deals, strength.FIRST_DEAL, processes)
        with_bar("the agent itself", lambda tell: response.own_games(*own, tell))
        with (
            stopping(f"go on with: {resuming(context, start=None)}") as asked,
            policy_bar(run, budget, tensorboard) as calls,
        ):
            response.train_response(run, out, budget, **calls, stop=asked)
            run.close()
        report = with_bar("report", lambda tell: response.report_response(run.config, out, deals, processes, tell))
    show(_exploit_table(report))
    best = f"policy:path={out / response.BEST}"
    follow("to play the response against it", "arena", best, agent, *rules_option(report.rules))
    if plot is not None:
        response.plot_response(out, report, plot)


def _begun(
    context: typer.Context,
    agent: str,
    out: Path,
    threads: int | None,
    settings: dict[str, Any],
    start: str | None,
    *,
    resume: bool,
) -> ppo_selfplay.SelfPlay:
    """The run in a folder, resumed, or a new one."""
    if resume:
        leave_out(context, OWN_WEIGHTS, "--start")
        return ppo_selfplay.SelfPlay.resume(
            out / learn_checkpoint.CHECKPOINT, threads, {"frozen": (agent,), **settings}
        )
    learn_checkpoint.refuse_to_overwrite(out)
    path = response.starting_path(agent, start)
    weights = None if path is None else neural_weights.load_weights(path)
    run = ppo_selfplay.SelfPlay(response.response_config(agent, weights, settings), threads, weights)
    run.provenance = run.provenance.reading("--start", path)
    return run


def _exploit_table(report: response.ExploitReport) -> Table:
    """The report's gains, a line a side."""
    lines = [
        (
            "both" if gain.side == "either" else gain.side,
            *(rate.both(to="–") for rate in (gain.response, gain.own)),
            gain.gain.both("+.1f"),
        )
        for gain in report.gains
    ]
    return Table(
        f"A response to {report.agent}",
        ("side", "response wins %", "the agent itself %", "gain, points"),
        lines,
        f"{report.deals} duplicate deals from number {report.first_deal} on, seed {report.seed}, {report.rules} rules; "
        f"the policy of update {report.update}, after {report.decisions:,} decisions. 95 % intervals.",
    )


def tendency(
    context: typer.Context,
    deals: options.Count = 1000,
    first_deal: options.Natural = 0,
    top: list[str] | None = None,
    bottom: list[str] | None = None,
    rules: options.Preset = "standard",
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.ResultsFile = None,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Judge deals: do they lean to the landlord, to the peasants, or to neither?

    Options:
        deals: How many deals; two games each.
        first_deal: Number of the first deal under the seed.
        top: A strong agent; of several one is drawn a deal. By default policy.
        bottom: A weak agent, likewise. By default rules.
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.
        out: Save every deal here with its tendency, for ddz arena --deal-file; resumes an existing file.

    Example:
        ddz study tendency --out deals.csv
        ddz study tendency --top policy --top rules --bottom random --deals 500
    """
    judges = deal_tendency.Judges(tuple(top or ("policy",)), tuple(bottom or ("rules",)), Rules.preset(rules), seed)
    settings = {"first_deal": first_deal, "processes": processes}
    judged = with_bar("deals", lambda tell: deal_tendency.judge_deals(judges, deals, out, on_progress=tell, **settings))
    found = deal_tendency.counts(judged)
    shares = {name: statistics.wilson_interval(found[name], deals) for name in deal_tendency.TENDENCIES}
    lines = [(name, f"{found[name]:,}", share.text(), share.span()) for name, share in shares.items()]
    who = f"{', '.join(judges.top)} v {', '.join(judges.bottom)}"
    title = f"{deals:,} deals · {judges.rules.name} rules · seed {seed} · {who}"
    show(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
    if out is None:
        follow("to keep the deals", *again(context, out=Path("deals.csv")))
    else:
        seeded = ["--seed", str(seed)] if seed else []
        chosen = ["--deal-file", str(out), "--tendency", "none", *rules_option(rules), *seeded]
        follow("to play those without a tendency", "arena", judges.top[0], judges.bottom[0], *chosen)


app = group(
    "Study agents and deals: what beats an agent, what search equals it, whom deals favour.",
    (equivalent, exploit, tendency),
    "ddz study exploit policy --out runs/policy --minutes 60",
    "ddz study equivalent rules",
)
