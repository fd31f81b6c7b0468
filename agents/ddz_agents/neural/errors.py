"""Exceptions raised by the learned policies."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidPolicyInputError(DouDizhuError):
    """Raised when observations or masks have a wrong shape or type, or a mask allows no action."""


class InvalidPolicyOutputError(DouDizhuError):
    """Raised when a user's network returns a wrong shape or numbers that are not finite."""


class InvalidArchitectureError(DouDizhuError):
    """Raised when a network's size is out of range or does not match the file that describes it."""


class TensorFileError(DouDizhuError):
    """Raised when a policy or another tensor file cannot be read, for instance because it is missing or corrupt."""


class TensorFileMismatchError(TensorFileError):
    """Raised when a sound tensor file has another format, byte layout or architecture than required."""


class UntrustedFileError(DouDizhuError):
    """Raised when reading a file would run code in it and the user has not marked the file as trusted."""


class MissingTorchError(DouDizhuError, ImportError):
    """Raised when PyTorch is not installed."""


class MissingOnnxError(DouDizhuError, ImportError):
    """Raised when ONNX Runtime or a package that writes ONNX files is not installed."""


class OnnxExportError(DouDizhuError):
    """Raised when a policy cannot be written as an ONNX file."""


class MissingSb3Error(DouDizhuError, ImportError):
    """Raised when Stable-Baselines3 or sb3-contrib is not installed."""
