"""``ddz export``: policies for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_training.apps.cli.console import quoted, tell
from ddz_training.apps.cli.following import follow
from ddz_training.apps.cli.outputs import ONNX, WEIGHTS, OutputError, check_new, check_output, input_file, output_file


def export(
    policy: Annotated[
        Path | None,
        typer.Argument(
            help="Weights; the shipped policy by default. With --standalone: a file of ddz train distil.",
            callback=input_file,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help=f"Where to write the file (*{ONNX}).", callback=output_file())] = (
        Path(f"policy{ONNX}")
    ),
    standalone: Annotated[
        bool,
        typer.Option(
            "--standalone",
            help="A distilled policy that needs nothing of this package: observation (int8 [n, 512]) and action_mask "
            "(int8 [n, 400]) in, logits (float32 [n, 400], -1e9 where illegal) out. Without POLICY the shipped one, "
            "which takes no extra to write.",
        ),
    ] = False,
    half: Annotated[
        bool,
        typer.Option(
            "--half", help=f"Weights (a new *{WEIGHTS}) instead, in half precision: half the size, for ddz itself."
        ),
    ] = False,
) -> None:
    """Write a policy as an ONNX file, for any ONNX runtime and for ddz itself (policy:path=policy.onnx)."""
    if half and standalone:
        raise OutputError("--half writes weights, --standalone an ONNX file: name one of them")
    check_output(out, (WEIGHTS if half else ONNX,))
    if half:
        check_new(out)
    write = _export_half if half else _export_standalone if standalone else _export
    said = write(policy, out)
    tell(f"{quoted(out)}: {out.stat().st_size / 1e6:.1f} MB, {said}")
    if not standalone:
        follow("to play it", "arena", f"policy:path={out}", "rules")


def _export(policy: Path | None, out: Path) -> str:
    """Write a full policy; what it is for."""
    from ddz_agents.neural.onnx_export import export_onnx
    from ddz_agents.neural.shipped import policy_path
    from ddz_agents.neural.weights import load_weights

    weights = load_weights(policy_path(policy))
    export_onnx(weights, out)
    return f"{weights.rules} rules, {weights.objective}"


def _export_half(policy: Path | None, out: Path) -> str:
    """Write the weights in half precision; what they are for."""
    from ddz_agents.neural.shipped import policy_path
    from ddz_agents.neural.weights import load_weights, save_weights

    weights = load_weights(policy_path(policy))
    save_weights(out, weights, half=True)
    return f"{weights.rules} rules, {weights.objective}, half precision"


def _export_standalone(policy: Path | None, out: Path) -> str:
    """Write a distilled policy; what it is for."""
    if policy is None:
        from ddz_agents.neural.shipped import shipped_standalone_path
        from ddz_agents.neural.tensor_file import replace_file

        replace_file(out, shipped_standalone_path().read_bytes())
        return "distilled from the shipped policy"
    from ddz_agents.neural.onnx_export import export_standalone
    from ddz_agents.neural.standalone import load_standalone

    weights = load_standalone(policy)
    export_standalone(weights, out)
    return f"distilled, {weights.rules} rules, {weights.objective}"
