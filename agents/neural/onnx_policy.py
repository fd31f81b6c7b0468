"""A policy in an ONNX file, as ``ddz export`` writes it: played by ONNX Runtime, without PyTorch.

The file takes the bytes of observations and masks, and the prospects of hands that go with them
(:func:`agents.neural.leavings.describe_prospects`: no tensor operation searches a hand).  It gives logarithms of
probabilities, and values.  Its metadata say what it is, which observation and action tables it was written for, and the
digest of the whole file (with zeros in the digest's own place), so that a flipped bit is an error and not a weaker
policy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.neural.errors import MissingOnnxError, TensorFileError, TensorFileMismatchError
from agents.neural.features import PROSPECTS
from agents.neural.heading import check_heading
from agents.neural.leavings import describe_prospects
from agents.neural.model import Bytes, Floats, check_batch
from ddz_env.actions import NUM_ACTIONS
from ddz_env.observation import OBSERVATION_SIZE

KIND = "ddz-policy-onnx"
VERSION = 1

OBSERVATIONS, MASKS, OWN, RESTS = "observations", "masks", "prospects", "rest_prospects"
LOG_PROBABILITIES, VALUES = "log_probabilities", "values"

NO_DIGEST = "0" * 64
"""What stands in the digest's place while it is computed."""

_INPUTS = {
    OBSERVATIONS: ("tensor(int8)", [OBSERVATION_SIZE]),
    MASKS: ("tensor(int8)", [NUM_ACTIONS]),
    OWN: ("tensor(float)", [PROSPECTS]),
    RESTS: ("tensor(float)", [NUM_ACTIONS, PROSPECTS]),
}
_OUTPUTS = {LOG_PROBABILITIES: ("tensor(float)", [NUM_ACTIONS]), VALUES: ("tensor(float)", [])}


def digest_of(data: bytes, digest: str) -> str:
    """The digest of a file.

    Args:
        data: The file.
        digest: What stands in the digest's place.
    """
    return hashlib.sha256(data.replace(digest.encode(), NO_DIGEST.encode())).hexdigest()


class OnnxPolicy:
    """An ONNX file as a :class:`~agents.neural.model.PolicyModel`.

    Args:
        path: The file.
        threads: Threads of every evaluation.

    Attributes:
        rules: The preset that the policy was trained under.
        objective: What its values mean: ``win`` or ``stake``.
        notes: Plain values for people.
        values_trained: Whether the policy's value was taught.

    Raises:
        MissingOnnxError: If ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or no ONNX file.
        TensorFileMismatchError: If it was not written by ``ddz export``, or for other observations or actions.
    """

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        data = _read(Path(path))
        self._session = _session(path, data, threads)
        metadata: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        check_heading(path, metadata, KIND, VERSION)
        digest = metadata.get("digest", "")
        if len(digest) != len(NO_DIGEST) or digest_of(data, digest) != digest:
            raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
        _check_nodes(path, "inputs", self._session.get_inputs(), _INPUTS)
        _check_nodes(path, "outputs", self._session.get_outputs(), _OUTPUTS)
        self.rules, self.objective = metadata["rules"], metadata["objective"]
        self.notes: dict[str, Any] = json.loads(metadata["notes"])
        self.values_trained = bool(json.loads(metadata.get("values_trained", "true")))  # earlier files do not say

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        own, rests = describe_prospects(observations, masks)
        given = {OBSERVATIONS: observations, MASKS: masks, OWN: own, RESTS: rests}
        found = self._session.run([LOG_PROBABILITIES, VALUES], given)
        log_probabilities: Floats = found[0]
        values: Floats = found[1]
        return log_probabilities, values


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise TensorFileError(f"{path}: there is no such file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise TensorFileError(f"cannot read {path}: {error}") from error


def _session(path: str | Path, data: bytes, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingOnnxError(f'ONNX policies need ONNX Runtime ({error}): pip install "ddz-env[onnx]"') from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; they need not be printed too
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own classes, which derive from Exception and from nothing between
        raise TensorFileError(f"{path} is no ONNX file that can be run, or was truncated: {error}") from error


def _check_nodes(path: str | Path, what: str, nodes: Any, wanted: Mapping[str, tuple[str, list[int]]]) -> None:
    """Compare names, types and the sizes behind the batch."""
    found = {node.name: (node.type, list(node.shape[1:])) for node in nodes}
    if found != wanted:
        raise TensorFileMismatchError(f"{path} has the {what} {found}; this package needs {dict(wanted)}")
