"""The zip of a model: what Stable-Baselines3 writes, and what the model was trained for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from agents.neural.sb3_policy import Purpose, add_purpose
from agents.neural.tensor_file import replace_file

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO


def save_model(path: Path, model: MaskablePPO, purpose: Purpose) -> Path:
    """Write a model, replacing the file at one stroke.

    Args:
        path: The file; a name without an ending gets ``.zip``, as Stable-Baselines3 does it.
        model: The model.
        purpose: What it was trained for.

    Returns:
        The file.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    buffer = io.BytesIO()
    model.save(buffer)
    add_purpose(buffer, purpose)
    chosen = path if path.suffix else path.with_suffix(".zip")
    replace_file(chosen, buffer.getvalue())
    return chosen
