"""Named errors of the learned policies."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidPolicyInputError(DouDizhuError):
    """Observations or masks have the wrong shape or type, or a row has no legal action."""


class InvalidPolicyOutputError(DouDizhuError):
    """A network of the user's own answers with the wrong shape, or with numbers that are not finite."""


class InvalidArchitectureError(DouDizhuError):
    """The size of a network is out of range, or a file describes it in another way."""


class TensorFileError(DouDizhuError):
    """A policy or another file of tensors cannot be read: it is missing, truncated, corrupt or something else."""


class TensorFileMismatchError(TensorFileError):
    """A file of tensors is sound, but was written for something else: another format, layout or architecture."""


class UntrustedFileError(DouDizhuError):
    """Reading a file would run the code in it, and the user has not said that the file is trusted."""


class MissingTorchError(DouDizhuError, ImportError):
    """PyTorch is not installed."""


class MissingOnnxError(DouDizhuError, ImportError):
    """ONNX Runtime, or what writes ONNX files, is not installed."""


class OnnxExportError(DouDizhuError):
    """A policy cannot be written as ONNX."""


class MissingSb3Error(DouDizhuError, ImportError):
    """Stable-Baselines3 or sb3-contrib is not installed."""
