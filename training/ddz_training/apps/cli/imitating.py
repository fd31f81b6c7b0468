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
from ddz_training.apps.cli.training_bars import train_under_bar
from ddz_training.measure.provenance import Provenance
from ddz_training.measure.store import writing

with lazily():
    from ddz_agents.neural import architecture, network
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.data import games as data_games
    from ddz_training.data import table as data_table
    from ddz_training.learn import errors as learn_errors
    from ddz_training.learn import imitation, loop


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
    start = neural_weights.load_weights(init).networks()[0] if init is not None else None
    rules = rules or "standard" if data is None else _rules_of(data, rules)
    recorded = imitation.load_recorded(data) if data is not None else None
    config = _imitation(decisions, recorded, rules, seed, start)
    if recorded is None:
        lesson: imitation.Student = imitation.Imitation(config, threads)
    else:
        lesson = imitation.RecordedLessons(config, recorded, start, threads)
    with writing(out) as file, stopping("the weights have learned from fewer decisions") as asked:
        train_under_bar(lesson, loop.Budget(decisions=config.decisions), None, tensorboard, asked)
        read = Provenance.of((), *loop.SOURCE).reading("--data", data and data_games.games_file(data))
        learned = lesson.counters.decisions
        notes = {"imitates": data.name if data else "rules", "decisions": learned, "seed": seed}
        neural_weights.save_weights(file, lesson.weights(notes | read.reading("--init", init).settings()))
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
    recorded: imitation.RecordedSet | None,
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
