"""An endpoint with the chat-completions interface: one request, one answer, and what it cost.

It connects to the given address alone: a redirection is refused, for it would take the key along.
"""

from __future__ import annotations

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, NamedTuple

from ddz_env.support.checks import as_integer
from ddz_env.support.errors import InvalidAgentOptionError, plural, shown

_PAUSE = 0.5
"""Seconds before the second attempt; before each further one twice as long, or what the endpoint names."""
_MOST_BYTES = 1 << 24
_PIECE = 1 << 16
_TEMPORARY = (408, 425, 429)
"""Codes after which another attempt may succeed, besides those from 500 on."""


class EndpointError(InvalidAgentOptionError):
    """The endpoint cannot be reached, refuses, or answers with something else than a chat completion.

    No move is played instead.  A match stops, as for an agent that cannot be made, and can be resumed.
    """


class Reply(NamedTuple):
    """An answer.

    Attributes:
        text: What the model wrote; empty if it wrote nothing.
        prompt_tokens: Tokens of the conversation, as the endpoint counts them; 0 if it does not say.
        completion_tokens: Tokens of the answer, likewise.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int


class Endpoint:
    """An endpoint.

    Args:
        address: Its base, to which ``/chat/completions`` is added.
        key: Sent as a bearer token; None for none.
        seconds: Time for a request.
        attempts: Requests before it counts as failed.
    """

    def __init__(self, address: str, key: str | None, seconds: float, attempts: int) -> None:
        self._address = f"{address.rstrip('/')}/chat/completions"
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._seconds, self._attempts = seconds, attempts
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirection)

    def answer(self, body: Mapping[str, Any]) -> Reply:
        """Send a request.

        Args:
            body: Model, messages and settings.

        Raises:
            EndpointError: If no attempt brings a chat completion, or the endpoint refuses for good.
        """
        request = urllib.request.Request(self._address, json.dumps(body).encode(), self._headers, method="POST")
        pause, why = 0.0, ""
        for attempt in range(self._attempts):
            time.sleep(min(pause, self._seconds))
            pause = _PAUSE * 2**attempt
            try:
                return _reply(self._sent(request))
            except urllib.error.HTTPError as error:
                why = self._refusal(error)
                if error.code < 500 and error.code not in _TEMPORARY:
                    raise EndpointError(f"{self._address}: {why}") from error
                wanted = error.headers.get("Retry-After", "")
                pause = float(wanted) if wanted.isdecimal() else pause
            except TimeoutError:
                why = f"no answer within {self._seconds:g} seconds"
            except (OSError, HTTPException, UnicodeError) as error:
                why = shown(str(getattr(error, "reason", error)) or type(error).__name__)
        raise EndpointError(f"{self._address}: {why} ({plural(self._attempts, 'attempt')})")

    def _sent(self, request: urllib.request.Request) -> bytes:
        until = time.monotonic() + self._seconds
        try:
            response = self._opener.open(request, timeout=self._seconds)
        except urllib.error.URLError as error:
            raise error.reason if isinstance(error.reason, TimeoutError) else error from None
        content = bytearray()
        with response:
            while piece := response.read1(_PIECE):
                content += piece
                if len(content) > _MOST_BYTES:
                    raise HTTPException(f"more than {_MOST_BYTES >> 20} MiB came")
                if time.monotonic() > until:  # the limit of the socket is that of each piece
                    raise TimeoutError
        return self._without_key(bytes(content))

    def _refusal(self, error: urllib.error.HTTPError) -> str:
        """A code of HTTP with the beginning of what came along."""
        said = b""
        with error, contextlib.suppress(OSError, HTTPException):
            said = error.read(_PIECE)
        return f"HTTP {error.code} {shown(error.reason)}: {shown(self._without_key(said).decode(errors='replace'))}"

    def _without_key(self, content: bytes) -> bytes:
        """What an endpoint sent, which may repeat the key; messages and transcripts must not."""
        return content.replace(self._key.encode(), b"(the key)") if self._key else content


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow none: the answer is then an error."""


def _reply(content: bytes) -> Reply:
    """Read a chat completion.

    Raises:
        HTTPException: If it is not one.
    """
    try:
        document = json.loads(content)
        text = document["choices"][0]["message"].get("content") or ""
        usage = document.get("usage") or {}
        counts = [as_integer(usage.get(name)) or 0 for name in ("prompt_tokens", "completion_tokens")]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise HTTPException(f"the answer is not a chat completion: {shown(content[:_PIECE])}")
    return Reply(text, *counts)
