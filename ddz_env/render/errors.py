"""Named errors of the renderers."""

from __future__ import annotations

from ddz_env.errors import DouDizhuError


class InvalidPictureError(DouDizhuError):
    """A picture that cannot be drawn: an unknown perspective, a size out of range."""


class MissingDependencyError(DouDizhuError, ImportError):
    """A renderer needs a package that is not installed.

    Args:
        package: The package's name on the index.
    """

    def __init__(self, package: str) -> None:
        super().__init__(
            f'{package} is needed to draw the table: pip install "ddz-env[render]" (render_mode="ansi" needs nothing)'
        )
