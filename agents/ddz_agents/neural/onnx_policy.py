"""A policy in an ONNX file: played by ONNX Runtime, without PyTorch.

There are two formats, and both give logits.  A policy that ``ddz export`` wrote takes what the network takes
(:class:`ddz_agents.neural.network.PolicyInput`), which this package makes of observations and masks; it gives values,
too.  A network of another program (:func:`ddz_agents.neural.onnx_files.stamp_onnx`) takes the bytes of both.  A file's
metadata say what it is, which observation and action tables it was written for, and the digest of the whole file (with
zeros in the digest's own place), so that a flipped bit is an error and not a weaker policy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import POLICY_TABLES, check_inputs, inputs_of
from ddz_agents.neural.columns import REST_COLUMNS, observation_columns
from ddz_agents.neural.decisions import describe_afterstates, describe_observations
from ddz_agents.neural.errors import MissingOnnxError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.model import Bytes, Floats, check_batch, leaf_of
from ddz_agents.neural.tensor_file import check_heading, check_purpose, plain_values, read_bytes
from ddz_env import State
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import HISTORY, OBSERVATION_SIZE, action_mask, observe
from ddz_env.support.errors import install_hint, shown

NO_DIGEST = "0" * 64
"""What is in the digest's place while it is computed."""


EXPORTED = "ddz-policy-onnx"
"""The kind of a policy that ``ddz export`` wrote."""


class Format(NamedTuple):
    """A kind of ONNX file that can be played: its inputs and outputs.

    Attributes:
        kind: Its name.
        version: Its version.
        inputs: Types, and sizes behind the batch, in the order in which the network takes them.
        outputs: Those of what it gives.
        tables: Names of the tables of inputs by which this package makes what the network takes.
    """

    kind: str
    version: int
    inputs: dict[str, tuple[str, list[int]]]
    outputs: dict[str, tuple[str, list[int]]]
    tables: tuple[str, ...] = ()


def exported_format(history: int) -> Format:
    """A policy as it was trained: its inputs are the columns that this package computes.

    Args:
        history: Completed moves that the policy sees.
    """
    inputs = {
        "columns": ("tensor(float)", [observation_columns(history)]),
        "rows": ("tensor(int64)", list[int]()),
        "actions": ("tensor(int64)", list[int]()),
        "rests": ("tensor(float)", [REST_COLUMNS]),
    }
    outputs = {"logits": ("tensor(float)", [NUM_ACTIONS]), "values": ("tensor(float)", list[int]())}
    return Format(EXPORTED, 2, inputs, outputs, POLICY_TABLES)


OWN = Format(
    "ddz-standalone-onnx",
    1,
    {"observation": ("tensor(int8)", [OBSERVATION_SIZE]), "action_mask": ("tensor(int8)", [NUM_ACTIONS])},
    {"logits": ("tensor(float)", [NUM_ACTIONS])},
)
"""The kind of a file whose network needs nothing of this package."""


def digest_of(data: bytes, digest: str) -> str:
    """The digest of a file.

    Args:
        data: The file.
        digest: What is in the digest's place.
    """
    return hashlib.sha256(data.replace(digest.encode(), NO_DIGEST.encode())).hexdigest()


class OnnxPolicy:
    """An ONNX file as a :class:`~ddz_agents.neural.model.PolicyModel`.

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
        TensorFileMismatchError: If it was not written by ``ddz export`` or stamped
            (:func:`ddz_agents.neural.onnx_files.stamp_onnx`), or is for other observations or actions.
    """

    def __init__(self, path: str | Path, threads: int = 1) -> None:
        data = read_bytes(Path(path))
        self._session = session_of(path, data, threads)
        metadata = _metadata_of(path, self._session)
        if "kind" not in metadata:
            _refuse_unstamped(path, self._session)
        self._history = _history_of(self._session)
        self._form = OWN if metadata["kind"] == OWN.kind else exported_format(self._history)
        check_heading(path, metadata, self._form.kind, self._form.version)
        digest = metadata.get("digest", "")
        if len(digest) != len(NO_DIGEST) or digest_of(data, digest) != digest:
            raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
        check_nodes(path, self._session, self._form)
        written = plain_values(path, metadata["inputs"]) if "inputs" in metadata else None
        if check_inputs(path, written, *self._form.tables) != inputs_of(*self._form.tables):
            raise TensorFileMismatchError(f"{path} reads other inputs than policies do now: export its weights again")
        self._path = path
        self.rules: Any = metadata.get("rules")
        self.notes: dict[str, Any] = plain_values(path, metadata.get("notes", ""))
        self.objective: str = metadata.get("objective", "")
        taught = metadata.get("values_trained", "true")  # earlier files do not say
        values_trained: Any = {"true": True, "false": False}.get(taught)
        check_purpose(path, self.rules, self.objective, self.notes, values_trained)
        self.leaf = leaf_of(self.objective, values_trained)
        self.evaluate(*two_rows())  # refuses weights that are not finite, and a graph for one row

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
            TensorFileError: If the graph cannot be run, or answers with numbers that are not finite.
            TensorFileMismatchError: If it does not answer every row.
        """
        check_batch(observations, masks)
        if self._form is OWN:
            (logits,), values = self._run(observations, masks), np.zeros(len(masks), np.float32)
        else:
            rows, actions, rests = describe_afterstates(observations, masks)
            logits, values = self._run(describe_observations(observations, self._history), rows, actions, rests)
        if (logits.shape, values.shape) != (masks.shape, masks.shape[:1]):
            raise TensorFileMismatchError(f"{self._path} answers {len(masks)} rows with logits of shape {logits.shape}")
        log_probabilities = _log_softmax(logits, masks)
        if np.isnan(log_probabilities).any() or not np.isfinite(values).all():
            raise TensorFileError(f"{self._path} answers with numbers that are not finite")
        return log_probabilities, values

    def _run(self, *inputs: npt.NDArray[Any]) -> Sequence[Floats]:
        """Run the graph on a batch; returns its outputs."""
        named = dict(zip(self._form.inputs, inputs, strict=True))
        try:
            outputs: Sequence[Floats] = self._session.run(list(self._form.outputs), named)
        except Exception as error:  # ONNX Runtime's own classes
            raise TensorFileError(f"{self._path} cannot be run: {shown(error)}") from error
        return outputs


def two_rows() -> tuple[Bytes, Bytes]:
    """Observations and masks to try a graph on."""
    state = State.new(0)
    return np.stack([observe(state)] * 2), np.stack([action_mask(state)] * 2)


def _metadata_of(path: str | Path, session: Any) -> dict[str, str]:
    """What a file says about itself."""
    try:
        metadata: dict[str, str] = session.get_modelmeta().custom_metadata_map
    except UnicodeDecodeError as error:
        raise TensorFileError(f"{path} is corrupt: what it says about itself is no text") from error
    return metadata


def _history_of(session: Any) -> int:
    """The number of past moves that a policy reads, computed from the width of its input."""
    widths = [node.shape[-1] for node in session.get_inputs() if node.name == "columns" and len(node.shape) == 2]
    lengths = [history for history in range(HISTORY + 1) if [observation_columns(history)] == widths]
    return lengths[0] if lengths else 0


def _log_softmax(logits: Floats, masks: Bytes) -> Floats:
    """Logarithms of the probabilities, minus infinity where illegal."""
    legal = np.where(masks != 0, logits, np.float32(-np.inf))
    legal -= legal.max(axis=1, keepdims=True)
    result: Floats = legal - np.log(np.exp(legal).sum(axis=1, keepdims=True))
    return result


def session_of(path: str | Path, data: bytes, threads: int) -> Any:
    """ONNX Runtime's session for the content of a file.

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


def check_nodes(path: str | Path, session: Any, form: Format) -> None:
    """Compare the names, types and sizes behind the batch of a file's inputs and outputs with what a format has.

    Raises:
        TensorFileMismatchError: If they differ.
    """
    for group, nodes, required in (
        ("inputs", session.get_inputs(), form.inputs),
        ("outputs", session.get_outputs(), form.outputs),
    ):
        present = {node.name: (node.type, list(node.shape[1:])) for node in nodes}
        if present != required:
            raise TensorFileMismatchError(f"{path} has the {group} {present}; this package needs {dict(required)}")


def _refuse_unstamped(path: str | Path, session: Any) -> NoReturn:
    """Raise for a file without our metadata, saying how it is made playable or what is wrong.

    Raises:
        TensorFileMismatchError: Always.
    """
    refused = f"{path} is not a {EXPORTED} file but 'something else': it does not say what it is for"
    try:
        check_nodes(path, session, OWN)
    except TensorFileMismatchError as error:
        raise TensorFileMismatchError(f"{refused}, and {error}") from error
    raise TensorFileMismatchError(
        f"{refused}; if it was trained for the observations and actions of this version, "
        "ddz_agents.neural.onnx_files.stamp_onnx(path, out, rules=..., objective=...) writes that into it"
    )
