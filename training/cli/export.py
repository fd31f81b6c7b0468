"""``ddz export``: policies for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from training.cli.console import console
from training.cli.outputs import output_file


def export(
    policy: Annotated[Path | None, typer.Argument(help="Weights; the shipped policy by default.")] = None,
    out: Annotated[Path, typer.Option(help="Where to write the ONNX file.", callback=output_file())] = Path(
        "policy.onnx"
    ),
) -> None:
    """Write a policy as an ONNX file, for any ONNX runtime and for ddz itself (policy:path=policy.onnx)."""
    from agents.neural.onnx_export import export_onnx
    from agents.neural.shipped import shipped_policy_path
    from agents.neural.weights import load_weights

    source = shipped_policy_path() if policy is None else policy
    weights = load_weights(source)
    export_onnx(weights, out)
    size = out.stat().st_size / 1e6
    console().print(f"{out}: {size:.1f} MB, {weights.rules} rules, {weights.objective}", markup=False, soft_wrap=True)
