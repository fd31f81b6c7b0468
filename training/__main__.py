"""``ddz`` and ``python -m training``: the command line, which answers Ctrl-C from its first moment on."""

from __future__ import annotations

import os
import signal
from typing import Any

_INTERRUPTED = 130


def _leave(number: int, frame: Any) -> None:
    """End the process: while modules are imported there is nothing to save, and a traceback says nothing."""
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def main() -> None:
    """Run ``ddz``."""
    signals = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    for number in signals:
        signal.signal(number, _leave)
    from training.cli import app
    from training.cli.signals import watch

    watch()
    app()


if __name__ == "__main__":
    main()
