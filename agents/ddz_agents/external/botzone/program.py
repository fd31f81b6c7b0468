"""A bot's process, which runs under limits on time, memory and output.

It is limited, not isolated: it runs as your user, with your files and your network.  The processes that it starts end
with it, unless they leave its process group.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ddz_env.support.atomic_files import real_path
from ddz_env.support.errors import DouDizhuError, InvalidAgentOptionError
from ddz_env.support.processes import kill_process_group

KEEP_RUNNING = b">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"
_CHUNK = 1 << 16
_LOOK = 0.02
"""Seconds between looks at whether the program has ended while something else holds its output open."""


class BotFaultError(DouDizhuError):
    """Raised when a bot fails; the message says how it failed.

    Attributes:
        verdict: The platform's word: ``RE`` (crashed), ``TLE`` (too late), ``OLE`` (too much output), ``NJ`` (no JSON).
    """

    def __init__(self, verdict: str, reason: str) -> None:
        super().__init__(f"{verdict}: {reason}")
        self.verdict = verdict


@dataclass(frozen=True)
class Limits:
    """Limits on the time, memory and output of a bot's answer.

    Attributes:
        seconds: Time on the clock, the start of its process included.
        megabytes: Address space of each of its processes, in MiB; the platform counts resident memory.
        kilobytes: Output, in KiB.
    """

    seconds: float
    megabytes: int
    kilobytes: int


@dataclass(frozen=True)
class BotAnswer:
    """A bot's answer to one request, with its running time and memory use.

    Attributes:
        text: Its output, without the line that asks to be kept running.
        keeps_running: Whether it waits for the next request.
        milliseconds: How long it took.
        megabytes: Its largest resident memory, in MiB; 0 where it still runs.
    """

    text: str
    keeps_running: bool
    milliseconds: int
    megabytes: int


def build_command(path: str | Path) -> list[str]:
    """Return the command that starts a bot: this Python for ``.py`` and ``.zip`` files, else the file itself.

    Raises:
        InvalidAgentOptionError: If there is no such file, or it cannot be executed.
    """
    file = real_path(Path(path))
    if not file.is_file():
        raise InvalidAgentOptionError(f"path={str(path)!r}: there is no such file")
    if file.suffix in (".py", ".zip", ".pyz"):
        return [sys.executable, str(file)]
    if not os.access(file, os.X_OK):
        raise InvalidAgentOptionError(
            f"path={str(path)!r} must be an executable file (chmod +x), or end in .py, .zip or .pyz"
        )
    return [str(file)]


class BotProgram:
    """A running bot process that answers each request with a line.

    Args:
        command: How it is started.
        limits: What an answer may take.
        may_keep_running: Whether it may stay alive between answers; otherwise its input ends after the request.
    """

    def __init__(self, command: list[str], limits: Limits, may_keep_running: bool = True) -> None:
        self._command, self._limits, self._may_stay = command, limits, may_keep_running
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the bot's process is alive and waits for a request."""
        return self._process is not None

    def ask(self, request: str) -> BotAnswer:
        """Send a request line to the bot and return its answer.

        Raises:
            BotFaultError: If there is none within the limits; then every process of the bot is ended.
        """
        start = time.monotonic()
        try:
            process = self._process or self._start()
            self._signal(signal.SIGCONT)
            text, asks_to_stay = self._exchange(process, request.encode() + b"\n", start + self._limits.seconds)
            if asks_to_stay and self._may_stay:
                self._signal(signal.SIGSTOP)  # no thinking in the others' time
                return BotAnswer(text, True, _milliseconds_since(start), 0)
            megabytes = self._wait(process, start + self._limits.seconds)
        except BaseException:
            self.end()
            raise
        self.end()
        return BotAnswer(text, False, _milliseconds_since(start), megabytes)

    def end(self) -> None:
        """End the bot's process and all processes that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        kill_process_group(process.pid)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(self._command[-1]).parent,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BotFaultError("RE", f"it cannot be started: {error}") from error
        self._process = process
        most = self._limits.megabytes << 20
        with contextlib.suppress(OSError, AttributeError):  # it may have ended already; macOS has no prlimit
            resource.prlimit(process.pid, resource.RLIMIT_AS, (most, most))
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        return process

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, number)

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes, deadline: float) -> tuple[str, bool]:
        """Write a request, and read output until the bot asks to be kept running, closes its output or ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        most = self._limits.kilobytes << 10
        output = b""
        with selectors.DefaultSelector() as ready:
            for pipe, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
                os.set_blocking(pipe.fileno(), False)
                ready.register(pipe, event)
            while True:
                remaining = deadline - time.monotonic()
                events = ready.select(max(0.0, min(remaining, _LOOK)))
                gone = not events and _has_ended(process)
                if remaining <= 0 and not (events or gone):  # it may have answered while this process was stopped
                    raise BotFaultError("TLE", f"no answer within {self._limits.seconds:g} s")
                for key, _ in events:
                    if key.fileobj is process.stdin:
                        request = self._write(process, request)
                        if not request:
                            ready.unregister(process.stdin)
                            self._close_input(process)
                        continue
                    piece = os.read(process.stdout.fileno(), _CHUNK)
                    output += piece
                    gone = gone or not piece
                if len(output) > most:
                    raise BotFaultError("OLE", f"more than {self._limits.kilobytes} KiB of output")
                if KEEP_RUNNING in output or gone:
                    answer, asks_to_stay, _ = output.partition(KEEP_RUNNING)
                    return answer.decode("utf-8", "replace"), bool(asks_to_stay)

    def _close_input(self, process: subprocess.Popen[bytes]) -> None:
        if not self._may_stay and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()

    @staticmethod
    def _write(process: subprocess.Popen[bytes], request: bytes) -> bytes:
        """Write part of a request and return the rest, which is empty if the bot has closed its input."""
        assert process.stdin is not None
        try:
            return request[os.write(process.stdin.fileno(), request) :]
        except BlockingIOError:
            return request
        except OSError:
            return b""

    def _wait(self, process: subprocess.Popen[bytes], deadline: float) -> int:
        """Wait until a program that has closed its output ends, and return its peak memory in MiB."""
        while not _has_ended(process):
            if time.monotonic() > deadline:
                raise BotFaultError("TLE", f"it did not end within {self._limits.seconds:g} s")
            time.sleep(_LOOK / 10)
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        if code:
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise BotFaultError("RE", f"it crashed ({how})")
        return usage.ru_maxrss >> 10


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the program has ended, without reaping its process."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _milliseconds_since(start: float) -> int:
    return round(1000 * (time.monotonic() - start))
