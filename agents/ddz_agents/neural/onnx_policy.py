"""Policies in ONNX files, which ONNX Runtime evaluates without PyTorch.

There is one form: the bytes of observations and masks give logits and, where the network has them, values.  A file's
metadata say what it is, which observation and action tables it was written for, and the digest of the whole file (with
zeros in the digest's own place), so that a flipped bit is an error and not a weaker policy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.errors import MissingOnnxError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.model import Bytes, Floats, check_batch, choose_leaf_value
from ddz_agents.neural.tensor_file import check_heading, check_purpose, parse_plain_values, read_bytes
from ddz_env import State
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION_SIZE, action_mask, observe
from ddz_env.support.errors import install_hint

NO_DIGEST = "0" * 64
"""What is in the digest's place while it is computed."""


KIND, VERSION = "ddz-standalone-onnx", 1
INPUTS = {"observation": ("tensor(int8)", [OBSERVATION_SIZE]), "action_mask": ("tensor(int8)", [NUM_ACTIONS])}
"""Types, and sizes behind the batch, in the order in which a network takes them."""
LOGITS = {"logits": ("tensor(float)", [NUM_ACTIONS])}
LOGITS_AND_VALUES = LOGITS | {"values": ("tensor(float)", list[int]())}
"""What a network may give."""
_COLUMNS = "ddz-policy-onnx"
"""A kind of earlier versions, of inputs that only this package computes."""


def compute_digest(data: bytes, digest: str) -> str:
    """Return the SHA-256 digest of a file after replacing the digest stored in it by a placeholder.

    Args:
        data: The file.
        digest: What is in the digest's place.
    """
    return hashlib.sha256(data.replace(digest.encode(), NO_DIGEST.encode())).hexdigest()


class OnnxPolicy:
    """A policy in an ONNX file, used as a :class:`~ddz_agents.neural.model.PolicyModel`.

    Args:
        path: The file.
        threads: Threads of every evaluation.

    Attributes:
        rules: The preset that the policy was trained under.
        objective: What its values mean: ``win`` or ``stake``.
        notes: Plain values for people.
        leaf: What a search's leaf is worth with it (:class:`~ddz_agents.neural.model.PolicyModel`).

    Raises:
        MissingOnnxError: If ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or not an ONNX file, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was not written or stamped by :mod:`ddz_agents.neural.onnx_files`, or is for
            other observations or actions.
    """

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        data = read_bytes(Path(path))
        self._session = open_session(path, data, threads)
        metadata = _read_metadata(path, self._session)
        if "kind" not in metadata:
            _refuse_unstamped(path, self._session)
        if metadata["kind"] == _COLUMNS:
            raise TensorFileMismatchError(
                f"{path} takes inputs that only this package computes, as ddz export wrote them until 0.2: name the "
                "weights (.safetensors) from which it was exported"
            )
        check_heading(path, metadata, KIND, VERSION)
        digest = metadata.get("digest", "")
        if len(digest) != len(NO_DIGEST) or compute_digest(data, digest) != digest:
            raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
        self._outputs = check_nodes(path, self._session)
        self._path = path
        self.rules: Any = metadata.get("rules")
        self.notes: dict[str, Any] = parse_plain_values(path, metadata.get("notes", ""))
        self.objective: str = metadata.get("objective", "")
        taught = metadata.get("values_trained", "")
        values_trained: Any = {"true": True, "false": False}.get(taught)
        check_purpose(path, self.rules, self.objective, self.notes, values_trained)
        self.leaf = choose_leaf_value(self.objective, values_trained)
        self.evaluate(*example_inputs())  # refuses weights that are not finite, and a graph for one row

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Compute log-probabilities, shape ``[n, 400]``, and values from -1 to 1, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
            TensorFileError: If the graph cannot be run, or answers with numbers that are not finite.
            TensorFileMismatchError: If it does not answer every row.
        """
        check_batch(observations, masks)
        logits, *given = self._run(observations, masks)
        values = given[0] if given else np.zeros(len(masks), np.float32)
        if (logits.shape, values.shape) != (masks.shape, masks.shape[:1]):
            raise TensorFileMismatchError(
                f"{self._path} answers {len(masks)} rows with logits of shape {list(logits.shape)} and values of shape "
                f"{list(values.shape)}; they must be {list(masks.shape)} and [{len(masks)}]"
            )
        log_probabilities = _log_softmax(logits, masks)
        if np.isnan(log_probabilities).any() or not np.isfinite(values).all():
            raise TensorFileError(f"{self._path} computes numbers that are not finite: its weights are damaged")
        return log_probabilities, values.clip(-1, 1)

    def _run(self, *inputs: npt.NDArray[Any]) -> Sequence[Floats]:
        """Return the ONNX graph's outputs for a batch of inputs, or raise an error that names the file."""
        named = dict(zip(INPUTS, inputs, strict=True))
        try:
            outputs: Sequence[Floats] = self._session.run(self._outputs, named)
        except Exception as error:  # ONNX Runtime's own classes
            raise TensorFileError(f"{self._path} cannot be run: {' '.join(str(error).split())}") from error
        return outputs


def example_inputs() -> tuple[Bytes, Bytes]:
    """Return a batch of two observations with action masks, for testing an ONNX graph."""
    state = State.new(0)
    return np.stack([observe(state)] * 2), np.stack([action_mask(state)] * 2)


def _read_metadata(path: str | Path, session: Any) -> dict[str, str]:
    """Return an ONNX file's metadata entries as a dictionary, or raise an error if they are not valid UTF-8."""
    try:
        metadata: dict[str, str] = session.get_modelmeta().custom_metadata_map
    except UnicodeDecodeError as error:
        raise TensorFileError(f"{path} is corrupt: its metadata are not text") from error
    return metadata


def _log_softmax(logits: Floats, masks: Bytes) -> Floats:
    """Return the log-softmax of logits over the legal actions, with minus infinity at all others."""
    legal = np.where(masks != 0, logits, np.float32(-np.inf))
    legal -= legal.max(axis=1, keepdims=True)
    result: Floats = legal - np.log(np.exp(legal).sum(axis=1, keepdims=True))
    return result


def open_session(path: str | Path, data: bytes, threads: int) -> Any:
    """Open an ONNX Runtime session on the bytes of a file, with a given number of threads.

    Raises:
        MissingOnnxError: If ONNX Runtime is not installed.
        TensorFileError: If it is not an ONNX file.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingOnnxError(f"ONNX policies need ONNX Runtime ({error}): {install_hint('onnx')}") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; they need not be printed too
    # No weights in other files, which the digest would not cover: there is no such folder.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path))
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own classes, which derive from Exception and from nothing between
        raise TensorFileError(f"{path} is not an ONNX file that can be run, or was truncated: {error}") from error


def check_nodes(path: str | Path, session: Any) -> list[str]:
    """Check the names, types and sizes of an ONNX file's inputs and outputs, and return the output names.

    Returns:
        The names of its outputs.

    Raises:
        TensorFileMismatchError: If they differ.
    """
    for group, nodes, allowed in (
        ("inputs", session.get_inputs(), (INPUTS,)),
        ("outputs", session.get_outputs(), (LOGITS, LOGITS_AND_VALUES)),
    ):
        present = {node.name: (node.type, list(node.shape[1:])) for node in nodes}
        if present not in allowed:
            right = " or ".join(map(str, allowed))
            raise TensorFileMismatchError(f"{path} has the {group} {present}; this package needs {right}")
    return list(present)


def _refuse_unstamped(path: str | Path, session: Any) -> NoReturn:
    """Raise an error for an ONNX file without this package's metadata, with a hint at how to add it.

    Raises:
        TensorFileMismatchError: Always.
    """
    refused = f"{path} has no metadata of this package (kind {KIND!r})"
    try:
        check_nodes(path, session)
    except TensorFileMismatchError as error:
        raise TensorFileMismatchError(f"{refused}, and {error}") from error
    raise TensorFileMismatchError(
        f"{refused}. If it was trained for this version's observations and actions, add it with "
        "ddz_agents.neural.onnx_files.stamp_onnx(path, out, rules=..., objective=...)"
    )
