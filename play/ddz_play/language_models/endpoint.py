"""A client for a chat-completions endpoint, which sends requests and counts the tokens used.

It connects to the given address alone: a redirection is refused, for it would take the key along, and the
environment's proxies are not used.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ddz_env.support.checks import as_integer
from ddz_env.support.errors import InvalidAgentOptionError, install_hint, pluralize, short_repr

try:
    import anyio
    import httpx2
except ImportError:
    httpx2 = None  # type: ignore[assignment]  # said when an endpoint is made

_FIRST_PAUSE = 0.5
"""Seconds before the second attempt; before each further one twice as long, or what the endpoint names."""
_MAX_BYTES = 1 << 22
_SHOWN_BYTES = 1 << 16
_RETRY_CODES = (408, 425, 429)
"""Codes after which another attempt may succeed, besides those from 500 on."""
_REFUSAL_CODES = (400, 415, 422)
"""Codes of a request that another one may replace."""
_CUT_OFF_REASONS = ("length", "max_tokens", "content_filter")


class EndpointError(InvalidAgentOptionError):
    """Raised when the endpoint cannot be reached, refuses a request, or answers without a chat completion.

    No move is played instead.  A match stops, as for an agent that cannot be made, and can be resumed.
    """


class RefusedRequestError(EndpointError):
    """Raised when the endpoint understands a request but refuses what it asks for (HTTP 400, 415 or 422)."""


class Reply(NamedTuple):
    """A model's answer: its text, any problem with it, and the number of tokens used.

    Attributes:
        text: What the model wrote; empty if it wrote nothing.
        problem: Why this is no whole answer; empty if it is one.
        prompt_tokens: Tokens of the conversation, as the endpoint counts them; 0 if it does not say.
        completion_tokens: Tokens of the answer, likewise.
    """

    text: str
    problem: str
    prompt_tokens: int
    completion_tokens: int


class _HttpAnswer(NamedTuple):
    """An HTTP answer: its status, the time to wait before a retry, and its body."""

    code: int
    reason: str
    wait: str
    content: bytes


class Endpoint:
    """A chat-completions server, and the settings for requests to it.

    Args:
        address: Its base, to which ``/chat/completions`` is added.
        key: Sent as a bearer token; None for none.
        seconds: Time for a request, from the look-up of the host to the last byte.
        attempts: Requests before it counts as failed.
        proxy: The address of a proxy.

    Raises:
        InvalidAgentOptionError: If the HTTP client is not installed.
    """

    def __init__(self, address: str, key: str | None, seconds: float, attempts: int, proxy: str | None = None) -> None:
        if httpx2 is None:
            raise InvalidAgentOptionError(f"chat needs httpx2: {install_hint('chat')}")
        self._address = f"{address.rstrip('/')}/chat/completions"
        # Compressed answers could be small on the wire and large here.
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        self._headers |= {"Authorization": f"Bearer {key}"} if key else {}
        self._seconds, self._attempts = seconds, attempts
        certificates = httpx2.create_ssl_context()  # takes long to make
        self._settings: dict[str, Any] = {"verify": certificates, "proxy": proxy, "trust_env": False, "timeout": None}
        self._key = re.compile("".join(map(_regex_of_key_character, key))) if key else None

    def complete(self, body: Mapping[str, Any]) -> Reply:
        """Request a chat completion from the server, retrying after temporary failures.

        Args:
            body: Model, messages and settings.

        Raises:
            RefusedRequestError: If the endpoint refuses what the body asks for.
            EndpointError: If no attempt brings a chat completion, or the endpoint refuses for good.
        """
        pause, why = 0.0, ""
        for attempt in range(self._attempts):
            time.sleep(min(pause, self._seconds))
            pause, for_good, kind = _FIRST_PAUSE * 2**attempt, False, EndpointError
            try:
                answer = _run_in_thread(self._send, json.dumps(body).encode())
            except TimeoutError:
                why = f"no answer within {self._seconds:g} seconds"
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
                why = short_repr(self._redact_key(str(error)) or type(error).__name__)
            else:
                is_refused = not 200 <= answer.code < 300
                if not is_refused and (reply := self._parse_reply(answer.content)):
                    return reply
                why = self._refusal_text(answer)
                for_good = is_refused and answer.code < 500 and answer.code not in _RETRY_CODES
                kind = RefusedRequestError if answer.code in _REFUSAL_CODES else EndpointError
                pause = float(answer.wait) if answer.wait.isascii() and answer.wait.isdecimal() else pause
            if for_good:
                raise kind(f"{self._address}: {why}")
        raise EndpointError(f"{self._address}: {why} ({pluralize(self._attempts, 'attempt')})")

    async def _send(self, body: bytes) -> _HttpAnswer:
        """Send one HTTP request without following redirections or using the environment's proxies and passwords.

        Raises:
            TimeoutError: If it is not over in time, whatever has come until then.
            httpx2.HTTPError: If what comes is not HTTP, or too much.
        """
        with anyio.fail_after(self._seconds):
            async with (
                httpx2.AsyncClient(**self._settings) as client,
                client.stream("POST", self._address, content=body, headers=self._headers) as response,
            ):
                content = bytearray()
                async for piece in response.aiter_raw():
                    content += piece
                    if len(content) > _MAX_BYTES:
                        raise httpx2.DecodingError(f"the answer has more than {_MAX_BYTES >> 20} MiB")
                wait = response.headers.get("Retry-After", "")
                return _HttpAnswer(response.status_code, response.reason_phrase, wait, bytes(content))

    def _refusal_text(self, answer: _HttpAnswer) -> str:
        """Describe an HTTP answer that is not a chat completion by its status and the beginning of its body."""
        said = short_repr(self._redact_key(answer.content[:_SHOWN_BYTES].decode(errors="replace")))
        if 200 <= answer.code < 300:
            return f"the answer is not a chat completion: {said}"
        return f"HTTP {answer.code} {short_repr(self._redact_key(answer.reason))}: {said}"

    def _redact_key(self, text: str) -> str:
        """Remove the API key from the endpoint's output, so that messages and transcripts do not show it."""
        return self._key.sub("(the key)", text) if self._key else text

    def _parse_reply(self, content: bytes) -> Reply | None:
        """Parse a chat completion; return None if the content is not one."""
        try:
            document = json.loads(content)
            choice = document["choices"][0]
            message, reason = choice["message"], choice.get("finish_reason")
            parts = message.get("content") or ""
            if isinstance(parts, list):
                parts = "".join(part["text"] for part in parts if part.get("type", "text") in ("text", "output_text"))
            usage = document.get("usage") or {}
            counts = [as_integer(usage.get(name)) or 0 for name in ("prompt_tokens", "completion_tokens")]
            thought = message.get("reasoning_content") or message.get("reasoning")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        if not isinstance(parts, str):
            return None
        problem = ""
        if reason in _CUT_OFF_REASONS:
            problem = f"the answer was cut off ({reason}): a shorter one, or a higher token limit, is needed"
        elif not parts.strip():
            problem = "the answer holds only reasoning" if thought else "the answer is empty"
        return Reply(self._redact_key(parts), problem, *counts)


def _regex_of_key_character(character: str) -> str:
    """Return a regular expression that matches a character of the API key, whether plain or escaped."""
    code = ord(character)
    return (
        rf"(?:\\{{0,4}}{re.escape(character)}|(?i:(?:\\{{1,4}}[ux]|%|&\#x)0{{0,6}}{code:x};?)|&\#0{{0,6}}{code};?)\0*"
    )


def _run_in_thread(exchange: Any, body: bytes) -> _HttpAnswer:
    """Run an HTTP exchange in a new thread with an event loop of its own, and return the answer.

    The answer counts before the loop is closed, which waits for a look-up of a host that does not end.
    """
    done: concurrent.futures.Future[_HttpAnswer] = concurrent.futures.Future()

    async def work() -> None:
        try:
            done.set_result(await exchange(body))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=lambda: asyncio.run(work()), daemon=True).start()
    return done.result()
