"""``ddz train``: learning under a bar, with one writer to its output; an end by Ctrl-C keeps what was learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import ddz_env
from ddz_env.core.errors import plural
from ddz_training.apps.cli.command import Argument, Command, Count, Group, Natural, follow, follow_policy, rules_words
from ddz_training.apps.cli.console import bars, complain, quoted, remark, show, stopping, tell
from ddz_training.apps.cli.files import WEIGHTS
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File, Plot
from ddz_training.measure.markdown import Table

with lazily():
    from ddz_agents.neural import architecture, network, sb3_policy
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.data import games as data_games
    from ddz_training.data import table as data_table
    from ddz_training.experiments import training_curves
    from ddz_training.learn import belief, imitation, loop, strength
    from ddz_training.learn import dmc as dmc_run
    from ddz_training.learn import errors as learn_errors
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.learn.sb3 import train as sb3_train
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import provenance, store

_BY_SET = "write --set {0}=VALUE"


class Training(Command):
    """A training.

    Attributes:
        seed: Seed of deals, actions and weights; 0 by default.
        threads: Threads; results do not depend on them.
        tensorboard: Write the curves for TensorBoard into this folder, too (needs the extra tensorboard).
    """

    seed: int | None = None
    threads: int | None = None
    tensorboard: Path | None = None


class Run(Training):
    """A training that can be resumed.

    Attributes:
        out: Folder for what is learned, the checkpoint and the curves.
        rules: A preset, with options behind it if wanted (ddz rules); standard by default.
        resume: Resume from the checkpoint in --out.
        set_: Any other setting, name=value (learning_rate=0.001, architecture.width=512 ...).
    """

    out: Annotated[Path, File(use="folder")]
    rules: str | None = None
    resume: bool = False
    set_: tuple[str, ...] = ()


# --- bars ------------------------------------------------------------------


def train_under_bar(
    run: loop.Training,
    budget: loop.Budget,
    folder: Path | None,
    tensorboard: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train under a bar and close the run; the arguments are those of :func:`ddz_training.learn.loop.train`."""
    with training_bar(run, budget) as calls:
        loop.train(run, budget, folder, tensorboard=tensorboard, stop=stop, **calls)
        run.close()


@contextmanager
def training_bar(run: loop.Training, budget: loop.Budget) -> Iterator[dict[str, Any]]:
    """A bar of how much of its budget a training has spent, with a line of what it is doing.

    Args:
        run: The training.
        budget: How long it lasts.

    Yields:
        What is called after an update and after an evaluation, by the names of the parameters.
    """
    counters = run.counters
    decisions, seconds = counters.decisions, counters.seconds
    with bars(share=True) as progress:
        bar = progress.add_task("training", total=1.0, state="")
        progress.update(bar, completed=budget.share(counters))

        def on_update(line: Any) -> None:
            speed = (counters.decisions - decisions) / max(counters.seconds - seconds, 1e-9)
            progress.update(bar, completed=budget.share(counters), state=f"{line} · {speed:,.0f} decisions/s")

        def on_evaluation(found: Sequence[strength.Evaluation]) -> None:
            if found:
                show(evaluation_table(found), screen=progress.console)

        yield {"on_update": on_update, "on_evaluation": on_evaluation}


def evaluation_table(found: Sequence[strength.Evaluation]) -> Table:
    """The evaluations after one update, a line an opponent."""
    title = f"After {plural(found[0].update, 'update')}, {plural(found[0].deals, 'duplicate deal')} each"
    lines = [
        (line.opponent, line.interval.both(to="–"), *(f"{100 * share:.1f}" for share in (line.landlord, line.peasants)))
        for line in found
    ]
    return Table(title, ("against", "wins %", "landlord %", "peasants %"), lines)


# --- by playing --------------------------------------------------------------


class OwnGames(Run):
    """A training of all three roles on games against itself.

    Attributes:
        minutes: Minutes of training in total, including those before --resume.
        updates: Updates in total, including those before --resume.
        init: Start from these weights: those of imitate, or of an earlier run.
        objective: win (default) or stake.
    """

    minutes: float | None = None
    updates: int | None = None
    init: Annotated[Path | None, File(use="read")] = None
    objective: str | None = None

    def learn(self, kind: type[ppo_selfplay.SelfPlay], **named: Any) -> None:
        """Learn until the budget is spent.

        Args:
            kind: The training.
            **named: Settings that only this kind has an option for.
        """
        budget = loop.Budget(self.updates, self.minutes)
        named |= {"rules": self.rules, "objective": self.objective, "seed": self.seed}
        given = kind.config_type.given(named, self.set_)
        with store.writing(self.out, folder=True):
            run, policy = self._begun(kind, given), self.out / loop.POLICY
            with stopping(f"go on with: {self.resuming(resume=True, init=None)}") as ended:
                train_under_bar(run, budget, self.out, self.tensorboard, ended)
                tell(f"{quoted(policy)} after {plural(run.counters.update, 'update')}")
            follow_policy(policy, run.config.rules)

    def _begun(self, kind: type[ppo_selfplay.SelfPlay], settings: dict[str, Any]) -> ppo_selfplay.SelfPlay:
        """The run in the folder, resumed, or a new one."""
        if self.resume:
            self.leave_out("--resume continues with the run's own weights", "init")
            return kind.resume(self.out / loop.CHECKPOINT, self.threads, settings)
        loop.refuse_to_overwrite(self.out / loop.CHECKPOINT)
        start = None if self.init is None else neural_weights.load_weights(self.init)
        config = kind.config_type() if start is None else kind.config_type(architecture=start.architecture)
        run = kind(config.changed(settings), self.threads, start)
        run.provenance = run.provenance.reading("--init", self.init)
        return run


class SelfPlay(OwnGames):
    """Learn all three roles by self-play (PPO, with a critic that sees every hand).

    Attributes:
        device: cpu (default), or cuda: the networks are on a GPU.

    Example:
        ddz train selfplay --out runs/first --minutes 10
        ddz train selfplay --out runs/first --minutes 60 --resume
        ddz train selfplay --out runs/bids --updates 200 --rules bidding,doubling=true
        ddz train selfplay --out runs/second --minutes 10 --init warm.safetensors
        ddz train selfplay --out runs/gpu --minutes 60 --device cuda
    """

    device: str | None = None

    def run(self) -> None:
        """Learn."""
        self.learn(ppo_selfplay.SelfPlay, device=self.device)


class Dmc(OwnGames):
    """Learn all three roles by deep Monte Carlo, DouZero's method: a baseline.

    Example:
        ddz train dmc --out runs/dmc --minutes 60
        ddz train dmc --out runs/dmc --minutes 120 --resume
        ddz train dmc --out runs/dmc-mini --rules mini --updates 100
    """

    def run(self) -> None:
        """Learn."""
        self.learn(dmc_run.DeepMonteCarlo)


class Sb3(Run):
    """Learn one seat with Stable-Baselines3's MaskablePPO.

    Attributes:
        timesteps: The learner's decisions in total, including those before --resume.
        opponents: random (default), rules or any agent (ddz agents).
        trust: With --resume: allow the model's zip to run the code in it.
        set_: Any other setting, name=value (num_envs=8, n_steps=256, role=landlord ...).

    Example:
        ddz train sb3 --out runs/sb3 --timesteps 200000
        ddz train sb3 --out runs/sb3 --opponents rules --set n_steps=256
        ddz train sb3 --out runs/sb3 --timesteps 400000 --resume --trust
    """

    went: ClassVar[dict[str, str]] = {
        name.replace("_", "-"): _BY_SET.format(name) for name in ("num_envs", "evaluate_every", "evaluate_deals")
    }

    timesteps: Count = 1_000_000
    opponents: str | None = None
    trust: bool = False

    def run(self) -> None:
        """Learn."""
        named = {"opponents": self.opponents, "rules": self.rules, "seed": self.seed}
        given, model = sb3_train.Sb3Config.given(named, self.set_), self.out / sb3_train.MODEL
        advice = f"go on with: {self.resuming(resume=True, trust=True)}"
        with store.writing(self.out, folder=True), stopping(advice) as ended:
            config = self._config(given, model)
            settings: dict[str, Any] = {"threads": self.threads, "tensorboard": self.tensorboard}
            run = sb3_train.Sb3Run(config, self.out, resume=self.resume, **settings)
            train_under_bar(run, loop.Budget(decisions=self.timesteps), self.out, self.tensorboard, ended)
            tell(f"{quoted(model)} after {run.counters.decisions:,} steps")
        remark(
            "Judge by evaluations: against 'rules' expect a few per cent in the first minutes and slow progress, "
            "because one seat learns from the end of each game only. Self-play learns all roles and is much faster."
        )
        follow_policy(model, config.rules, trust=True)

    def _config(self, given: dict[str, Any], model: Path) -> sb3_train.Sb3Config:
        """The settings of the model that is resumed, or those of a new one."""
        if not self.resume:
            loop.refuse_to_overwrite(model)
            return sb3_train.Sb3Config(**given)
        config = sb3_train.load_config(self.out)
        config.refuse_other(given, self.out / sb3_train.SETTINGS)
        sb3_policy.check_trust(model, self.trust, "--trust")
        return config


# --- from others -------------------------------------------------------------


class Imitate(Training):
    """Learn a warm start by imitating the rule agent, or the recorded games of another.

    Attributes:
        out: New file for the weights (FILE.safetensors); start from them with selfplay --init.
        decisions: Decisions to learn from; 2,000,000 by default, with --data no more than ten times those in the set.
        data: Imitate a data set of ddz record, by its visits if it has them, instead of the rule agent.
        init: With --data: start from these weights.
        rules: A preset (ddz rules); standard by default, with --data the rules of its games.

    Example:
        ddz train imitate --out warm.safetensors --decisions 500000
        ddz train imitate --out warm.safetensors --data runs/games
    """

    out: Annotated[Path, File(WEIGHTS, use="new")]
    decisions: Count | None = None
    data: Annotated[Path | None, File(use="read")] = None
    init: Annotated[Path | None, File(use="read")] = None
    rules: str | None = None
    seed: Natural = 0

    def run(self) -> None:
        """Learn, and write the weights."""
        if self.init is not None and self.data is None:
            why = "--init goes with --data: the rule agent is imitated from random weights"
            raise learn_errors.InvalidTrainingError(why)
        start = neural_weights.load_weights(self.init).networks()[0] if self.init is not None else None
        rules = self._rules()
        recorded = imitation.load_recorded(self.data) if self.data is not None else None
        config = self._settings(recorded, rules, start)
        if recorded is None:
            lesson: imitation.Student = imitation.Imitation(config, self.threads)
        else:
            lesson = imitation.RecordedLessons(config, recorded, start, self.threads)
        advice = "the weights have learned from fewer decisions"
        with store.writing(self.out) as file, stopping(advice) as ended:
            train_under_bar(lesson, loop.Budget(decisions=config.decisions), None, self.tensorboard, ended)
            code, learned = provenance.Provenance.of((), *loop.SOURCE), lesson.counters.decisions
            read = code.reading("--data", self.data and data_games.games_file(self.data))
            notes = {"imitates": self.data.name if self.data else "rules", "decisions": learned, "seed": self.seed}
            notes |= read.reading("--init", self.init).settings()
            neural_weights.save_weights(file, lesson.weights(notes))
            tell(f"{quoted(self.out)} after {learned} decisions")
        further = ("train", "selfplay", "--out", "runs/selfplay", "--minutes", "60", "--init", self.out)
        follow("to learn on from it by self-play", *further, *rules_words(rules))

    def _rules(self) -> str:
        """The preset; another one than that of the data set is refused."""
        if self.data is None:
            return self.rules or "standard"
        played = data_table.rules_of_tables(self.data)
        if self.rules is not None and ddz_env.Rules.preset(self.rules) != played:
            why = f"{self.data} was played under the {played.name} rules, not {self.rules}: leave out --rules"
            raise learn_errors.InvalidTrainingError(why)
        return played.name

    def _settings(
        self, recorded: imitation.RecordedSet | None, rules: str, start: network.PolicyNetwork | None
    ) -> imitation.ImitationConfig:
        """Of a data set few passes by default, and a warning of many."""
        shape = start.architecture if start is not None else architecture.Architecture()
        config = imitation.ImitationConfig(rules=rules, seed=self.seed, architecture=shape)
        if recorded is None or not len(recorded):
            return dataclasses.replace(config, decisions=self.decisions or config.decisions)
        count, few = len(recorded), imitation.PASSES
        if self.decisions is not None and self.decisions > imitation.MANY_PASSES * count:
            complain(
                f"--decisions {self.decisions} goes through the {count} decisions of the data set "
                f"{self.decisions // count} times and may learn them by heart; by default it would be {few} times"
            )
        return dataclasses.replace(config, decisions=self.decisions or min(config.decisions, few * count))


class Belief(Training):
    """Learn where the hidden cards are, from games of many kinds of players.

    Attributes:
        out: Folder for the network.
        positions: Positions to learn from; 3,000,000 by default.
        rules: A preset, with options behind it if wanted (ddz rules); standard by default.
        set_: Any other setting, name=value (num_games=512, players=rules,policy ...).

    Example:
        ddz train belief --out runs/belief --positions 1000000
    """

    out: Annotated[Path, File(use="folder")]
    positions: Count | None = None
    rules: str | None = None
    set_: tuple[str, ...] = ()

    def run(self) -> None:
        """Learn, and write the network."""
        named = {"rules": self.rules, "seed": self.seed, "positions": self.positions}
        given, file = belief.BeliefConfig.given(named, self.set_), self.out / belief.BELIEF
        loop.refuse_to_overwrite(file)
        run = belief.BeliefTraining(belief.BeliefConfig().changed(given), self.threads)
        advice = "the network has learned from fewer positions"
        with store.writing(self.out, folder=True), stopping(advice) as ended:
            train_under_bar(run, loop.Budget(decisions=run.config.positions), self.out, self.tensorboard, ended)
            tell(f"{quoted(file)} after {run.counters.decisions:,} positions")
        follow("to see what it knows", "reproduce", "belief", "--belief", file)


# --- the curves of runs ------------------------------------------------------


class Curves(Command):
    """Join and plot the curves of runs of selfplay or dmc, each a stage that went on from the last.

    Attributes:
        runs: Folders of runs of selfplay or dmc in order, as NAME=FOLDER; if none, the files in --out.
        out: Folder for training_curves.csv and training_evaluations.csv; the last run's by default.
        add: Keep the stages in --out; one of the same name is replaced where it is.
        plot: Write a plot here (.png, .pdf or .svg).

    Example:
        ddz train curves runs/first --plot curves.png
        ddz train curves first=runs/first second=runs/second --out results
        ddz train curves --out results --plot curves.png
    """

    runs: Argument[tuple[str, ...]] = ()
    out: Annotated[Path | None, File(use="folder")] = None
    add: bool = False
    plot: Annotated[Path | None, Plot()] = None

    def run(self) -> None:
        """Join the curves, print a line a stage, and draw them."""
        named = list(map(_named, self.runs))
        if not named and self.out is None:
            wanted = f"name folders of runs ({training_curves.TAKEN}), or --out with the files of an earlier call"
            raise match_errors.InvalidExperimentError(wanted)
        folder = self.out or named[-1][1]
        if named:
            read = {name: training_curves.read_run(name, run) for name, run in named}
            known = {stage.name: stage for stage in training_curves.load_training(folder)} if self.add else {}
            training_curves.save_training([*(known | read).values()], folder)
        stages = training_curves.load_training(folder)
        show(training_curves.stage_table(stages))
        if self.plot is not None:
            training_curves.plot_training(stages, self.plot)
        else:
            follow("to see it", "train", "curves", "--out", folder, "--plot", folder / "training_curves.png")


def _named(run: str) -> tuple[str, Path]:
    """A stage's name and folder; a folder alone is its own name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_named, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)


_COMMANDS = {"sb3": Sb3, "selfplay": SelfPlay, "dmc": Dmc, "imitate": Imitate, "belief": Belief, "curves": Curves}

train = Group(
    ("train",),
    "Train policies.",
    {
        "Commands": {
            "sb3": Sb3,
            "selfplay": SelfPlay,
            "dmc": Dmc,
            "imitate": Imitate,
            "belief": Belief,
            "curves": Curves,
        }
    },
    "ddz train selfplay --out runs/first --minutes 10",
    "ddz arena policy:path=runs/first/policy.safetensors rules",
)
