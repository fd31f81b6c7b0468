"""The ``ddz record`` and ``ddz export`` commands, which save games and policies to files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from click import argument, option

from ddz_env.support.atomic_files import replace_file
from ddz_env.support.errors import pluralize
from ddz_training.cli.console import progress_bar, quote_path, suggest_command
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.options import (
    COUNT,
    FOLDER,
    WEIGHTS,
    OutputFile,
    PlayingOptions,
    deal_file_option,
    take_options_of,
    work_under_bar,
)

ONNX = ".onnx"


@click.command()
@argument("agents", nargs=-1, help="One plays itself, two play from both sides, three sit seat by seat.")
@option(
    "--from",
    "sources",
    type=Path,
    multiple=True,
    help="Take games from this file or folder instead: saved by the page, logs of Botzone, or of DouZero.",
)
@option(
    "--out", type=FOLDER, required=True, help="Folder for games, tables and card; one with fewer deals is completed."
)
@option("--deals", type=COUNT, default=100, help="Deals to play.")
@option("--first-deal", default=0, help="Number of the first deal under the seed.")
@deal_file_option
@option("--visits", is_flag=True, help="Record what searches think of every action; all agents must be searches.")
@option("--format", "form", type=click.Choice(("parquet", "minari")), default="parquet", help="Tables, or episodes.")
@take_options_of(PlayingOptions)
def record(
    agents: tuple[str, ...],
    sources: tuple[Path, ...],
    out: Path,
    deals: int,
    first_deal: int,
    deal_file: Path | None,
    visits: bool,
    form: str,
    options: PlayingOptions,
) -> None:
    """Record games as a data set: tables of states and actions, and games that replay exactly.

    \b
    Examples:
      ddz record rules --deals 1000 --out runs/rules-games
      ddz record rules --deals 1000 --out runs/rules-games --format minari
      ddz record isuct:iterations=2000 --visits --deals 200 --out visits
      ddz record rules policy --rules bidding --out runs/match --processes 4
      ddz record --from ~/.local/share/ddz-env/games --out runs/mine
    """
    from ddz_env import Rules
    from ddz_training.data import dataset, episodes, recording, table
    from ddz_training.data import sources as other
    from ddz_training.data.games import GAMES
    from ddz_training.measure.deal_file import read_deal_file

    if bool(agents) == bool(sources):
        raise CommandLineError("name either the agents that play, or with --from the files of games")
    if sources:
        made, left_out = other.import_games(out, sources)
        kept = f"{pluralize(made.games, 'game')}, {pluralize(made.rows, 'row')}"
        click.echo(f"{quote_path(out)}: {kept}; left out, not played to their end: {left_out}")
        return
    tables = form == "parquet"
    (table.check_tables if tables else episodes.check_minari)()
    wanted = recording.Recording(agents, Rules.preset(options.rules), options.seed, visits)
    numbers: int | list[int] = deals
    if deal_file is not None:
        listed = read_deal_file(deal_file, wanted.rules, wanted.seed, deals=first_deal + deals)
        wanted, numbers = replace(wanted, hands=listed.hands), listed.select_numbers(deals, first_deal)
    store = wanted.store(out / GAMES)
    with work_under_bar("deals", options.workers) as work:
        recording.record_games(wanted, numbers, first_deal=first_deal, store=store, **work)
    with progress_bar("tables" if tables else "games") as on_progress:
        made = (dataset.write_data_set if tables else episodes.write_episodes)(out, on_progress)
    click.echo(
        f"{quote_path(out)}: {pluralize(made.games, 'game')}, {pluralize(made.rows, 'row' if tables else 'step')}"
    )
    if tables:
        suggest_command("to learn from them", "train", "imitate", "--out", "warm.safetensors", "--data", out)


@click.command()
@argument("policy", required=False, type=Path, help="A zip of MaskablePPO, or weights with --half; or policy-raw.")
@option("--out", type=OutputFile(), default=f"policy{ONNX}", help="Where to write the file (FILE.onnx).")
@option("--half", is_flag=True, help="Write FILE.safetensors of half the size instead, for ddz itself.")
@option("--trust", is_flag=True, help="Allow the zip to run the code in it.")
@option("--rules", default="standard", help="What the zip was trained under.")
@option("--objective", type=click.Choice(("win", "stake")), default="win", help="What the zip was trained for.")
def export(policy: Path | None, out: Path, half: bool, trust: bool, rules: str, objective: str) -> None:
    """Write a policy as an ONNX file, for any ONNX runtime and for ddz itself (policy:path=policy.onnx).

    \b
    Examples:
      ddz export --out policy.onnx
      ddz export model.zip --trust --rules rlcard --out policy.onnx
      ddz export policy.safetensors --half --out half.safetensors
    """
    if out.suffix != (suffix := WEIGHTS if half else ONNX):
        raise CommandLineError(f"{out} must end in {suffix}")
    if half and out.exists():
        raise CommandLineError(f"{out} is there already: name another file")
    from ddz_agents.neural.shipped import RAW, policy_path

    path = policy_path(policy if policy or half else RAW)
    if half:
        about = f"{_write_half_precision(path, out)}, half precision"
    elif path.suffix == ".zip":
        _write_zip_as_onnx(path, out, trust, rules, objective)
        about = f"{rules} rules, {objective}"
    elif path == policy_path(RAW):
        replace_file(out, path.read_bytes())
        about = "standard rules, win"
    else:
        why = "is an ONNX file already" if path.suffix == ONNX else "reads hand values that only this package computes"
        raise CommandLineError(f"{quote_path(path)} {why}: {RAW} is the policy for other programs")
    click.echo(f"{quote_path(out)}: {out.stat().st_size / 1e6:.1f} MB, {about}")
    suggest_command("to play it", "arena", f"policy:path={out}", "rules")


def _write_half_precision(path: Path, out: Path) -> str:
    """Write weights in half precision, and return the rules and the objective that they were trained for."""
    from ddz_agents.neural.weights import load_weights, save_weights

    if path.suffix in (ONNX, ".zip"):
        raise CommandLineError(
            f"{quote_path(path)} is not a file of this package's weights (.safetensors), which --half needs"
        )
    weights = load_weights(path)
    save_weights(out, weights, half=True)
    return f"{weights.rules} rules, {weights.objective}"


def _write_zip_as_onnx(path: Path, out: Path, trust: bool, rules: str, objective: str) -> None:
    """Write the policy of a Stable-Baselines3 zip file as an ONNX file."""
    from ddz_agents.neural.onnx_files import save_policy
    from ddz_agents.neural.sb3_policy import Sb3Module, check_trust, load_sb3_policy

    check_trust(path, trust, "--trust")
    module = load_sb3_policy(path, trust_file=True).module
    assert isinstance(module, Sb3Module)
    save_policy(module, out, rules, objective=objective, dtype=module.dtype)
