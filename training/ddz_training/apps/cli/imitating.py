"""``ddz train imitate``: learning from what another would do."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from ddz_env import Rules
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import follow, rules_option
from ddz_training.apps.cli.console import complain, quoted, stopping, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.training_bars import agreement, learning_steps
from ddz_training.measure.provenance import Provenance
from ddz_training.measure.store import writing

with lazily():
    from ddz_agents.neural import architecture, network
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.data import games as data_games
    from ddz_training.data import table as data_table
    from ddz_training.learn import checkpoint as learn_checkpoint
    from ddz_training.learn import errors as learn_errors
    from ddz_training.learn import imitation
    from ddz_training.learn import recorded as learn_recorded


def imitate(
    out: Annotated[Path, typer.Option(callback=options.output_file(options.WEIGHTS, new=True))],
    decisions: options.OptionalCount = None,
    data: options.InputFile = None,
    init: options.InputFile = None,
    rules: Annotated[
        str | None, typer.Option(help=f"{options.RULES} standard by default, with --data the rules of its games.")
    ] = None,
    seed: options.Natural = 0,
    threads: options.Threads = None,
    tensorboard: options.TensorBoard = None,
) -> None:
    """Learn a warm start by imitating the rule agent, or the recorded games of another.

    Options:
        out: New file for the weights; start from them with selfplay --init.
        decisions: Decisions to learn from; 2,000,000 by default, with --data no more than ten times those in the set.
        data: Imitate a data set of ddz record, by its visits if it has them, instead of the rule agent.
        init: With --data: start from these weights.
        seed: Seed of deals, actions and weights.

    Example:
        ddz train imitate --out warm.safetensors --decisions 500000
        ddz train imitate --out warm.safetensors --data runs/games
    """
    if init is not None and data is None:
        raise learn_errors.InvalidTrainingError(
            "--init goes with --data: the rule agent is imitated from random weights"
        )
    start = neural_weights.load_weights(init).policy if init is not None else None
    rules = rules or "standard" if data is None else _rules_of(data, rules)
    recorded = learn_recorded.load_recorded(data) if data is not None else None
    config = _imitation(decisions, recorded, rules, seed, start)
    learned = 0

    def describe(now: imitation.ImitationProgress) -> tuple[int, str]:
        nonlocal learned
        learned, state = agreement(now)
        return learned, state

    with writing(out) as file, stopping("the weights have learned from fewer decisions") as asked:
        with learning_steps("imitating", config.decisions, tensorboard, describe) as on_step:
            if recorded is None:
                policy = imitation.Imitation(config, threads).run(on_step, asked)
            else:
                policy = imitation.RecordedLessons(config, recorded, start, threads).run(on_step, asked)
        read = Provenance.of((), *learn_checkpoint.SOURCE).reading("--data", data and data_games.games_file(data))
        notes = {"imitates": data.name if data else "rules", "decisions": learned, "seed": seed}
        notes |= read.reading("--init", init).settings()
        # With --init, too: its values belonged to the layers below them as they were.
        taught = neural_weights.Weights(policy, None, rules, "win", notes, values_trained=False)
        neural_weights.save_weights(file, taught)
        tell(f"{quoted(out)} after {learned} decisions")
    further = ("train", "selfplay", "--out", "runs/selfplay", "--minutes", "60", "--init", out)
    follow("to learn on from it by self-play", *further, *rules_option(rules))


def _rules_of(data: Path, wanted: str | None) -> str:
    """The preset of a data set; another one that is wanted is refused."""
    played = data_table.rules_of_tables(data)
    if wanted is not None and Rules.preset(wanted) != played:
        raise learn_errors.InvalidTrainingError(
            f"{data} was played under the {played.name} rules, not {wanted}: leave out --rules"
        )
    return played.name


def _imitation(
    decisions: int | None,
    recorded: learn_recorded.RecordedSet | None,
    rules: str,
    seed: int,
    start: network.PolicyNetwork | None,
) -> imitation.ImitationConfig:
    """The settings of an imitation: of a data set, few passes by default, and a word of warning of many."""
    shape = start.architecture if start is not None else architecture.Architecture()
    config = imitation.ImitationConfig(rules=rules, seed=seed, architecture=shape)
    if recorded is None or not len(recorded):
        return dataclasses.replace(config, decisions=decisions or config.decisions)
    count, few = len(recorded), imitation.PASSES
    if decisions is not None and decisions > imitation.MANY_PASSES * count:
        complain(
            f"--decisions {decisions} goes through the {count} decisions of the data set {decisions // count} times "
            f"and may learn them by heart; by default it would be {few} times"
        )
    return dataclasses.replace(config, decisions=decisions or min(config.decisions, few * count))
