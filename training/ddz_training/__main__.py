"""The entry point of ``ddz`` and ``python -m ddz_training``, which prepares the process and runs the command line."""

from __future__ import annotations

import io
import os
import sys

_BAD_INPUT = 2


def main() -> None:
    """Repair the standard streams, check that the working folder exists, and run the command line."""
    _complete_streams()
    try:
        os.getcwd()
    except OSError:  # PettingZoo cannot even be imported there
        print("the folder that this was started in is gone: change to another", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    from ddz_training.cli.app import main as run

    run()


def _complete_streams() -> None:
    """Escape characters that stdout cannot encode, and reopen closed standard streams on the null device.

    Daemons and ``pythonw`` close them.  A file opened later would get their number, and what is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(opened, True)  # processes that are started get it, too
            setattr(sys, name, os.fdopen(opened, mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does


if __name__ == "__main__":
    main()
