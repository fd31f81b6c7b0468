"""Policies as ONNX files: bytes and prospects of hands in, logarithms of probabilities and values out.

What the file computes is :class:`StandalonePolicy`, the network with its columns as tensor operations.  They are those
of :mod:`agents.neural.columns`, equal to the bit; that module's compiled code is several times faster and is what
training and agents use.  Prospects alone are handed in: no tensor operation searches a hand.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.neural.columns import HEAD, LEFT_FIELDS, MOST_CARDS, OBSERVATION_SCALES, POLICY_INPUTS, TAIL
from agents.neural.errors import MissingOnnxError, OnnxExportError
from agents.neural.features import CHAINS, MOST, MOVE_BYTES, PLANES
from agents.neural.heading import heading
from agents.neural.leavings import SPENT, describe_prospects
from agents.neural.network import PolicyNetwork, masked_log_probabilities
from agents.neural.onnx_policy import INPUTS, KIND, NO_DIGEST, OUTPUTS, VERSION, digest_of
from agents.neural.tensor_file import replace_file
from agents.neural.weights import Weights
from ddz_env import State, __version__
from ddz_env.actions import NUM_ACTIONS
from ddz_env.cards import NUM_RANKS
from ddz_env.errors import install_hint
from ddz_env.observation import HISTORY, OBSERVATION, action_mask, observe

_SIZES = {feature.name: feature.size for feature in OBSERVATION.features}
_OLDEST = "2.6"
"""The first PyTorch whose exporter takes what depends on the data, as the number of legal actions does."""


def export_onnx(weights: Weights, path: str | Path) -> None:
    """Write a policy as ONNX, for :class:`~agents.neural.onnx_policy.OnnxPolicy` and for everybody else.

    The inputs are ``observations`` and ``masks``, the outputs ``log_probabilities`` and ``values``, as
    :meth:`agents.neural.model.PolicyModel.evaluate` has them, for any number of rows; ``prospects`` and
    ``rest_prospects`` go with them (:func:`agents.neural.leavings.describe_prospects`).  The critic stays behind.

    Args:
        weights: The networks; only the policy is written.
        path: Where to; the file is replaced atomically.

    Raises:
        MissingOnnxError: If onnx or onnxscript is not installed.
        OnnxExportError: If this PyTorch is too old.
        TensorFileError: If the file cannot be written.
    """
    try:
        import onnx
        import onnxscript  # noqa: F401  # PyTorch's exporter imports it
    except ImportError as error:
        raise MissingOnnxError(f"writing ONNX needs onnx and onnxscript ({error}): {install_hint('onnx')}") from error
    model = _converted(weights.policy)
    metadata = {
        **heading(KIND, VERSION),
        "package": f"ddz-env {__version__}",
        "rules": weights.rules,
        "objective": weights.objective,
        "values_trained": json.dumps(weights.values_trained),
        "notes": json.dumps(dict(weights.notes), sort_keys=True),
        "digest": NO_DIGEST,
    }
    onnx.helper.set_model_props(model, metadata)
    data = model.SerializeToString()
    replace_file(Path(path), data.replace(NO_DIGEST.encode(), digest_of(data, NO_DIGEST).encode()))


def _converted(network: PolicyNetwork) -> Any:
    """The graph."""
    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    state = State.new(0)
    seen = np.stack([observe(state)] * 2), np.stack([action_mask(state)] * 2)
    example = tuple(map(torch.from_numpy, (*seen, *describe_prospects(*seen))))
    rows = torch.export.Dim("n")
    with _quiet():
        program = torch.onnx.export(
            StandalonePolicy(network).eval(),
            example,
            dynamo=True,
            verbose=False,
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=({0: rows},) * len(INPUTS),
        )
    if program is None:
        raise OnnxExportError("PyTorch's exporter returned nothing")
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks on operators that are not used and on its own future."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def field(observations: Tensor, name: str) -> Tensor:
    """A field of the observation, shape ``[n, size]``."""
    first = OBSERVATION.offsets[name]
    return observations[:, first : first + _SIZES[name]]


def thresholds(counts: Tensor, most: int = MOST) -> Tensor:
    """Which of ``1 .. most`` each count reaches.

    Args:
        counts: Shape ``[n, columns]``, int8.
        most: The highest threshold.

    Returns:
        Shape ``[n, columns * most]``, float32.

    Example:
        >>> thresholds(torch.tensor([[0, 3]], dtype=torch.int8)).tolist()
        [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]]
    """
    steps = torch.arange(1, most + 1, dtype=torch.int8, device=counts.device)
    return (counts.unsqueeze(2) >= steps).flatten(1).to(torch.float32)


def _chain_weights() -> tuple[Tensor, Tensor]:
    """Weights and biases that turn the thresholds of a hand into chains: 1 where every link is there, else 0.

    Returns:
        Shapes ``[PLANES, len(CHAINS)]`` and ``[len(CHAINS)]``.
    """
    weights = np.zeros((NUM_RANKS, MOST, len(CHAINS)), np.float32)
    for column, chain in enumerate(CHAINS):
        for rank, copies in enumerate(chain.need):
            if copies:
                weights[rank, copies - 1, column] = 1.0
    return torch.from_numpy(weights.reshape(PLANES, len(CHAINS))), torch.tensor([1.0 - c.length for c in CHAINS])


def read_signs(observations: Tensor) -> Tensor:
    """What the others let pass (:mod:`agents.neural.features`), all moves at once.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.

    Returns:
        Shape ``[n, SIGNS]``, float32.
    """
    landlord = _landlord_of(observations)
    ranks, moves = (torch.arange(count, device=observations.device) for count in (NUM_RANKS, HISTORY))
    shown = observations[:, HEAD:TAIL].reshape(-1, HISTORY, MOVE_BYTES)
    cards, seat = shown[:, :, :NUM_RANKS].to(torch.int64), shown[:, :, NUM_RANKS].to(torch.int64)
    count, there = cards.sum(2), (seat >= 1) & (seat <= 3)
    # The latest move stands first: what was passed on is the nearest one behind in which cards were played, if any.
    nearest = torch.where(there & (count > 0), moves, HISTORY).unsqueeze(1)
    behind = torch.where(moves.unsqueeze(1) < moves, nearest, HISTORY).amin(2)
    copies = torch.where((cards.amax(2) == count) & (count <= 2), count, 0)
    copies, rank, owner = (
        functional.pad(values, (0, 1)).gather(1, behind) for values in (copies, ((cards > 0) * ranks).amax(2), seat)
    )
    passed = there & (count == 0) & ((owner == landlord) != (seat == landlord))
    found = []
    for other in (2, 3):
        for alike in (1, 2):
            lowest = torch.where(passed & (seat == other) & (copies == alike), rank, NUM_RANKS).amin(1, keepdim=True)
            found.append(ranks >= lowest)
    return torch.cat(found, 1).to(torch.float32)


def _landlord_of(observations: Tensor) -> Tensor:
    """The landlord's seat, counted from the observer: 1 self, 2 next, 3 previous; shape ``[n, 1]``."""
    role = field(observations, "role")
    peasant = role[:, 0] != 1
    down = (role[:, 1] == 1) & (field(observations, "cards_left_previous")[:, 0] > 0)
    return torch.where(peasant, torch.where(down, 3, 2), 1).unsqueeze(1)


class StandalonePolicy(nn.Module):
    """A policy network that reads bytes.

    Args:
        network: The network.
    """

    scales: Tensor
    chain_weights: Tensor
    chain_biases: Tensor
    spent: Tensor

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network
        weights, biases = _chain_weights()
        self.register_buffer("scales", torch.from_numpy(OBSERVATION_SCALES), persistent=False)
        self.register_buffer("chain_weights", weights, persistent=False)
        self.register_buffer("chain_biases", biases, persistent=False)
        self.register_buffer("spent", torch.from_numpy(SPENT.reshape(-1, NUM_RANKS)), persistent=False)

    def forward(
        self, observations: Tensor, masks: Tensor, prospects: Tensor, rest_prospects: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Evaluate observations.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.
            prospects: Of the observers' hands (:func:`agents.neural.leavings.describe_prospects`), float32.
            rest_prospects: Of the hands that the actions leave, shape ``[n, 400, PROSPECTS]``, float32.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; values for the observer,
            shape ``[n]``; float32.
        """
        rows, actions = masks.to(torch.bool).nonzero(as_tuple=True)
        left = thresholds(self.leave(observations, rows, actions))
        rests = torch.cat([left, rest_prospects[rows, actions]], 1)
        logits, values = self.network(self.describe(observations, prospects), rows, actions, rests)
        return masked_log_probabilities(logits, masks.to(torch.int32)), values

    def describe_hands(self, counts: Tensor) -> Tensor:
        """Thresholds and chains of hands: shape ``[n, 15]``, int8, to ``[n, HAND_COLUMNS]``, float32."""
        planes = thresholds(counts)
        return torch.cat([planes, torch.relu(torch.addmm(self.chain_biases, planes, self.chain_weights))], 1)

    def describe(self, observations: Tensor, prospects: Tensor) -> Tensor:
        """The columns of observations, shape ``[n, observation_columns(history)]``, float32."""
        scaled = observations * self.scales
        inputs = {
            "table": scaled[:, :HEAD],
            "history": scaled[:, HEAD : HEAD + MOVE_BYTES * self.network.architecture.history],
            "state": scaled[:, TAIL:],
            "hand": self.describe_hands(field(observations, "hand")),
            "prospects": prospects,
            "unseen": thresholds(field(observations, "unseen")),
            "target": thresholds(field(observations, "target")),
            "sizes": torch.cat([thresholds(field(observations, name), MOST_CARDS) for name in LEFT_FIELDS], 1),
            "key": thresholds(field(observations, "target_key"), NUM_RANKS),
            "signs": read_signs(observations),
        }
        return torch.cat([inputs[entry.name] for entry in POLICY_INPUTS.inputs], 1)

    def leave(self, observations: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        """The hand that each legal action leaves, shape ``[pairs, 15]``, int8."""
        hands = field(observations, "hand") - field(observations, "pending_body") - field(observations, "kickers")
        pair_kickers = (field(observations, "kicker_size")[:, 0] == 2).to(torch.int64) * NUM_ACTIONS
        return hands[rows] - self.spent[actions + pair_kickers[rows]]
