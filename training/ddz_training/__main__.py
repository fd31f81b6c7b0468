"""``ddz`` and ``python -m ddz_training``: the command line, which answers Ctrl-C from its first moment on."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any

_INTERRUPTED = 130
_BAD_INPUT = 2


def _leave(number: int, frame: Any) -> None:
    """End the process: while modules are imported there is nothing to save, and a traceback says nothing."""
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def _surroundings() -> str | None:
    """Replace standard streams that are closed; the reason why nothing can be done here, if there is one.

    A file that is opened later must not get the number of a stream that is closed: what is printed would go into it.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = before[0] or os.fdopen(0)  # at its end
    sys.stderr = before[2] or os.fdopen(2, "w")
    if before[1] is None:
        return "standard output is closed: what is printed would be lost (> /dev/null, if that is wanted)"
    if isinstance(before[1], io.TextIOWrapper) and before[1].errors == "strict":
        before[1].reconfigure(errors="backslashreplace")  # the name of a folder need not be text
    try:
        os.getcwd()
    except OSError as error:
        return f"this folder is not there any more, or cannot be read ({error.strerror}): change into another (cd)"
    wrong = next((text for text in sys.argv[1:] if not _is_text(text)), None)
    if wrong is not None:
        shown = os.fsencode(wrong).decode("utf-8", "backslashreplace")
        return f"{shown}: names are text in UTF-8, and this one has other bytes in it; rename the file"
    return None


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def main() -> None:
    """Run ``ddz``."""
    if reason := _surroundings():
        print(reason, file=sys.stderr)
        sys.exit(_BAD_INPUT)
    signals = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    for number in signals:
        signal.signal(number, _leave)
    from ddz_training.apps.cli import main as run
    from ddz_training.apps.cli.signals import watch

    watch()
    run()


if __name__ == "__main__":
    main()
