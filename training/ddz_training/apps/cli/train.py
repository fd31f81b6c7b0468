"""``ddz train``: learning under a progress bar, with one writer to its output; Ctrl-C keeps what was learned."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import ddz_env
from ddz_env.core.errors import plural
from ddz_training.apps.cli.command import Argument, Command, Count, Natural, follow, rules_words
from ddz_training.apps.cli.console import bars, complain, quoted, remark, show, stopping, tell
from ddz_training.apps.cli.files import WEIGHTS
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import PLOT, File
from ddz_training.measure.markdown import Table

with lazily():
    from ddz_agents.neural import architecture, network, sb3_policy
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.data import games as data_games
    from ddz_training.data import table as data_table
    from ddz_training.experiments import training_curves
    from ddz_training.learn import belief, dmc, imitation, loop, strength
    from ddz_training.learn import errors as learn_errors
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.learn.sb3 import train as sb3_train
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import provenance, store


class TrainCommand(Command):
    """A training.

    Attributes:
        rules: A preset, with options behind it if wanted (ddz rules); standard by default.
        seed: Seed of deals, actions and weights; 0 by default.
        threads: Threads; results do not depend on them.
        tensorboard: Write the curves for TensorBoard into this folder, too (needs the extra tensorboard).
    """

    rules: str | None = None
    seed: int | None = None
    threads: int | None = None
    tensorboard: Path | None = None


class RunCommand(TrainCommand):
    """A training with a folder of its own.

    Attributes:
        out: Folder for what is learned, the checkpoint and the curves.
        set_: Any other setting, name=value (learning_rate=0.001, architecture.width=512 ...).
    """

    out: Annotated[Path, File(use="folder")]
    set_: tuple[str, ...] = ()

    def learn(self, begin: Callable[[], Any], budget: loop.Budget, file: str, advice: str) -> Any:
        """Learn until the budget is spent.

        Args:
            begin: Makes the training, once the folder is ours.
            budget: How long.
            file: The name of what is learned.
            advice: Said where Ctrl-C ends it.

        Returns:
            The training.
        """
        with store.writing(self.out, folder=True):
            run = begin()
            with stopping(advice) as ended:
                train_under_bar(run, budget, self.out, self.tensorboard, ended)
                done = f"{plural(run.counters.update, 'update')}, {plural(run.counters.decisions, 'decision')}"
                tell(f"{quoted(self.out / file)} after {done}")
        return run

    def follow(self, file: str, rules: str, options: str = "") -> None:
        """Say which command lets the learned policy play."""
        agent = f"policy:path={self.out / file}{options}"
        follow("to see how strong it is", "arena", agent, "rules", *rules_words(rules))


# --- bars ------------------------------------------------------------------


def train_under_bar(
    run: loop.Training,
    budget: loop.Budget,
    folder: Path | None,
    tensorboard: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train under a bar of how much of the budget is spent, or a line an update in a log, and close the run.

    The arguments are those of :func:`ddz_training.learn.loop.train`.
    """
    updates, decisions, seconds = run.counters.update, run.counters.decisions, run.counters.seconds
    with bars() as progress:
        drawn, said = progress.console.is_terminal, -1.0
        bar = progress.add_task("training", total=1.0, state="", visible=drawn)
        progress.update(bar, completed=budget.share(run.counters))

        def on_update(line: Any) -> None:
            nonlocal said
            done, now = run.counters, time.monotonic()
            speed = (done.decisions - decisions) / max(done.seconds - seconds, 1e-9)
            spent, state = budget.share(done), f"{line} · {speed:,.0f} decisions/s"
            progress.update(bar, completed=spent, state=state)
            if not drawn and (now >= said + 1.0 or spent == 1.0):  # some trainings have hundreds of updates a second
                tell(f"{100 * spent:.0f} % · {state}", err=True)
                said = now

        def on_evaluation(found: Sequence[strength.Evaluation]) -> None:
            if found:
                show(evaluation_table(found), screen=progress.console)

        calls = {"on_update": on_update, "on_evaluation": on_evaluation}
        try:
            loop.train(run, budget, folder, tensorboard=tensorboard, stop=stop, **calls)
        finally:
            progress.update(bar, visible=drawn and run.counters.update > updates)  # no bar at 0 % above an error
        run.close()


def evaluation_table(found: Sequence[strength.Evaluation]) -> Table:
    """The evaluations after one update, a line an opponent."""
    title = f"After {plural(found[0].update, 'update')}, {plural(found[0].deals, 'duplicate deal')} each"
    lines = [
        (line.opponent, line.interval.both(to="–"), f"{100 * line.landlord:.1f}", f"{100 * line.peasants:.1f}")
        for line in found
    ]
    return Table(title, ("against", "wins %", "landlord %", "peasants %"), lines)


# --- by playing --------------------------------------------------------------


class OwnGames(RunCommand):
    """A training of all three roles on games against itself.

    Attributes:
        minutes: Minutes of training in total, including those before --resume.
        updates: Updates in total, including those before --resume.
        resume: Resume from the checkpoint in --out.
        init: Start from these weights: those of imitate, or of an earlier run.
        objective: win (default) or stake.
        device: cpu (default), or cuda: the networks are on a GPU.
    """

    minutes: float | None = None
    updates: int | None = None
    resume: bool = False
    init: Annotated[Path | None, File(use="read")] = None
    objective: str | None = None
    device: str | None = None

    @property
    def kind(self) -> type[ppo_selfplay.SelfPlay]:
        """The class of the training."""
        raise NotImplementedError

    def run(self) -> None:
        """Learn."""
        named = {name: getattr(self, name) for name in ("rules", "objective", "seed", "device")}
        settings = self.kind.config_type.given(named, self.set_)
        budget, advice = loop.Budget(self.updates, self.minutes), self.resuming(resume=True, init=None)
        run = self.learn(lambda: self._begin(settings), budget, loop.POLICY, f"continue with: {advice}")
        self.follow(loop.POLICY, run.config.rules)

    def _begin(self, settings: dict[str, Any]) -> ppo_selfplay.SelfPlay:
        """The run in the folder, resumed, or a new one."""
        loop.check_begun(self.out / loop.CHECKPOINT, resume=self.resume)
        if self.resume:
            self.leave_out("--resume continues with the run's own weights", "init")
            return self.kind.resume(self.out / loop.CHECKPOINT, self.threads, settings)
        start = None if self.init is None else neural_weights.load_weights(self.init)
        config = self.kind.config_type() if start is None else self.kind.config_type(architecture=start.architecture)
        run = self.kind(config.changed(settings), self.threads, start)
        run.provenance = run.provenance.reading("--init", self.init)
        return run


class SelfPlayCommand(OwnGames, call="train selfplay", heading="Train"):
    """Learn all three roles by self-play (PPO, with a critic that sees every hand).

    Example:
        ddz train selfplay --out runs/first --minutes 10
        ddz train selfplay --out runs/first --minutes 60 --resume
        ddz train selfplay --out runs/bids --updates 200 --rules bidding,doubling=true
        ddz train selfplay --out runs/second --minutes 10 --init warm.safetensors
        ddz train selfplay --out runs/gpu --minutes 60 --device cuda
    """

    @property
    def kind(self) -> type[ppo_selfplay.SelfPlay]:
        """PPO."""
        return ppo_selfplay.SelfPlay


class DmcCommand(OwnGames, call="train dmc", heading="Train"):
    """Learn all three roles by deep Monte Carlo, DouZero's method: a baseline.

    Example:
        ddz train dmc --out runs/dmc --minutes 60
        ddz train dmc --out runs/dmc --minutes 120 --resume
        ddz train dmc --out runs/dmc-mini --rules mini --updates 100
    """

    @property
    def kind(self) -> type[ppo_selfplay.SelfPlay]:
        """Deep Monte Carlo."""
        return dmc.DeepMonteCarlo


class Sb3Command(RunCommand, call="train sb3", heading="Train"):
    """Learn one seat with Stable-Baselines3's MaskablePPO.

    Attributes:
        timesteps: The learner's decisions in total, including those before --resume.
        opponents: random (default), rules or any agent (ddz agents).
        resume: Resume from the model in --out.
        trust: With --resume: allow the model's zip to run the code in it.
        set_: Any other setting, name=value (num_envs=8, n_steps=256, role=landlord ...).

    Example:
        ddz train sb3 --out runs/sb3 --timesteps 200000
        ddz train sb3 --out runs/sb3 --opponents rules --set n_steps=256
        ddz train sb3 --out runs/sb3 --timesteps 400000 --resume --trust
    """

    timesteps: Count = 1_000_000
    opponents: str | None = None
    resume: bool = False
    trust: bool = False

    def run(self) -> None:
        """Learn."""
        named = {"opponents": self.opponents, "rules": self.rules, "seed": self.seed}
        settings, model = sb3_train.Sb3Config.given(named, self.set_), sb3_train.MODEL
        advice = f"continue with: {self.resuming(resume=True, trust=True)}"
        run = self.learn(lambda: self._begin(settings), loop.Budget(decisions=self.timesteps), model, advice)
        remark(
            "Judge by evaluations: against 'rules' expect a few per cent in the first minutes and slow progress, "
            "because one seat learns from the end of each game only. Self-play learns all roles and is much faster."
        )
        self.follow(model, run.config.rules, ",trust_file=true")

    def _begin(self, settings: dict[str, Any]) -> sb3_train.Sb3Run:
        """The run in the folder, resumed, or a new one."""
        model = self.out / sb3_train.MODEL
        loop.check_begun(model, resume=self.resume)
        if self.resume:
            config = sb3_train.load_config(self.out).resumed(settings, self.out / sb3_train.SETTINGS)
            sb3_policy.check_trust(model, self.trust, "--trust")
        else:
            config = sb3_train.Sb3Config(**settings)
        more: dict[str, Any] = {"threads": self.threads, "tensorboard": self.tensorboard}
        return sb3_train.Sb3Run(config, self.out, resume=self.resume, **more)


# --- from others -------------------------------------------------------------


class ImitateCommand(TrainCommand, call="train imitate", heading="Train"):
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
        if self.data is None:
            self.leave_out("without --data the rule agent is imitated, from random weights", "init")
        start = neural_weights.load_weights(self.init).networks()[0] if self.init is not None else None
        rules = self._rules()
        recorded = imitation.load_recorded(self.data) if self.data is not None else None
        config = self._config(recorded, rules, start)
        if recorded is None:
            lesson: imitation.Student = imitation.Imitation(config, self.threads)
        else:
            lesson = imitation.RecordedLessons(config, recorded, start, self.threads)
        advice = "the weights have learned from fewer decisions"
        with store.writing(self.out) as file, stopping(advice) as ended:
            train_under_bar(lesson, loop.Budget(decisions=config.decisions), None, self.tensorboard, ended)
            learned = lesson.counters.decisions
            neural_weights.save_weights(file, lesson.weights(self._notes(learned)))
            tell(f"{quoted(self.out)} after {plural(learned, 'decision')}")
        further = ("train", "selfplay", "--out", "runs/selfplay", "--minutes", "60", "--init", self.out)
        follow("to train it further by self-play", *further, *rules_words(rules))

    def _rules(self) -> str:
        """The preset; another one than that of the data set is refused."""
        if self.data is None:
            return self.rules or "standard"
        played = data_table.rules_of_tables(self.data)
        if self.rules is not None and ddz_env.Rules.preset(self.rules) != played:
            why = f"{self.data} was played under the {played.name} rules, not {self.rules}: leave out --rules"
            raise learn_errors.InvalidTrainingError(why)
        return played.name

    def _config(
        self, recorded: imitation.RecordedSet | None, rules: str, start: network.PolicyNetwork | None
    ) -> imitation.ImitationConfig:
        """The settings: few passes through a data set by default, and a warning of many."""
        shape = start.architecture if start is not None else architecture.Architecture()
        config = imitation.ImitationConfig(rules=rules, seed=self.seed, architecture=shape)
        decisions, count = config.decisions, 0 if recorded is None else len(recorded)
        if count:
            decisions = min(decisions, imitation.PASSES * count)
        if count and self.decisions is not None and self.decisions > imitation.MANY_PASSES * count:
            complain(
                f"--decisions {self.decisions} goes through the {count} decisions of the data set "
                f"{self.decisions // count} times and may learn them by heart; by default it would be "
                f"{imitation.PASSES} times"
            )
        return dataclasses.replace(config, decisions=self.decisions or decisions)

    def _notes(self, decisions: int) -> dict[str, Any]:
        """What a reader of the weights should know."""
        code = provenance.Provenance.of((), *loop.SOURCE)
        read = code.reading("--data", self.data and data_games.games_file(self.data)).reading("--init", self.init)
        imitates = self.data.name if self.data else "rules"
        return {"imitates": imitates, "decisions": decisions, "seed": self.seed} | read.settings()


class BeliefCommand(RunCommand, call="train belief", heading="Train"):
    """Learn where the hidden cards are, from games of many kinds of players.

    Attributes:
        out: Folder for the network.
        positions: Positions to learn from; 3,000,000 by default.
        set_: Any other setting, name=value (num_games=512, players=rules,policy ...).

    Example:
        ddz train belief --out runs/belief --positions 1000000
    """

    out: Annotated[Path, File(use="folder")]
    positions: Count | None = None

    def run(self) -> None:
        """Learn, and write the network."""
        named = {"rules": self.rules, "seed": self.seed, "positions": self.positions}
        config = belief.BeliefConfig().changed(belief.BeliefConfig.given(named, self.set_))
        loop.check_begun(self.out / belief.BELIEF, resume=False)
        advice = "the network has learned from fewer positions"
        budget = loop.Budget(decisions=config.positions)
        self.learn(lambda: belief.BeliefTraining(config, self.threads), budget, belief.BELIEF, advice)
        follow("to see what it knows", "reproduce", "belief", "--belief", self.out / belief.BELIEF)


# --- the curves of runs ------------------------------------------------------


class CurvesCommand(Command, call="train curves", heading="Train"):
    """Join and plot the curves of runs of selfplay or dmc, each of which continues the one before.

    Attributes:
        runs: Folders of runs of selfplay or dmc in order, as NAME=FOLDER; if none, the files in --out.
        out: Folder for training_curves.csv and training_evaluations.csv; the last run's by default.
        add: Keep the stages in --out; one of the same name is replaced where it is.
        seeds: The runs differ in their seeds: show their mean and range at each evaluation.
        plot: Write a plot here (.png, .pdf or .svg).

    Example:
        ddz train curves runs/first --plot curves.png
        ddz train curves first=runs/first second=runs/second --out results
        ddz train curves --out results --plot curves.png
        ddz train curves --seeds runs/seed-0 runs/seed-1 --out results/seeds --plot seeds.png
    """

    runs: Argument[tuple[str, ...]] = ()
    out: Annotated[Path | None, File(use="folder")] = None
    add: bool = False
    seeds: bool = False
    plot: Annotated[Path | None, PLOT] = None

    def run(self) -> None:
        """Join the curves, print their table, and draw them."""
        named = list(map(_named, self.runs))
        if not named and self.out is None:
            wanted = f"name folders of runs ({training_curves.TAKEN}), or --out with the files of an earlier call"
            raise match_errors.InvalidExperimentError(wanted)
        folder = self.out or named[-1][1]
        if named:
            read = {name: training_curves.read_run(name, run) for name, run in named}
            known = {stage.name: stage for stage in training_curves.load_training(folder)} if self.add else {}
            joined = [*(known | read).values()]
            training_curves.save_training([stage.thinned() for stage in joined] if self.seeds else joined, folder)
        stages = training_curves.load_training(folder)
        table, plot = _SEEDS if self.seeds else _STAGES
        show(table(stages))
        if self.plot is not None:
            plot(stages, self.plot)
        else:
            flag = ["--seeds"] * self.seeds
            follow("to see it", "train", "curves", *flag, "--out", folder, "--plot", folder / "training_curves.png")


_STAGES = training_curves.stage_table, training_curves.plot_training
_SEEDS = training_curves.band_table, training_curves.plot_band


def _named(run: str) -> tuple[str, Path]:
    """A stage's name and folder; a folder alone is its own name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_named, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)
