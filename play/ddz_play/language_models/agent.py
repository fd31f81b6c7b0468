"""The agent ``chat:http://...``: a language model that reads the position as text and names a legal move.

Every decision is a conversation of its own, as all that the seat knows is in the position.  The request names the
legal answers in ``response_format``; an endpoint that refuses this is asked by the text alone.  What cannot be read, or
is not legal, is answered with the reason, until the answers of the decision are used up.  How an endpoint draws its
words is its own affair: the seeds of a match do not reach it, and the same match may go otherwise.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np

from ddz_env import Move, View
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError, InvalidMoveError, short_repr
from ddz_env.support.options import Options, Range, takes_options
from ddz_play.dialogue import answer_format, parse_answer, position_text, rules_text
from ddz_play.language_models.endpoint import Endpoint, RefusedRequestError, Reply

_MAX_REPEATED = 2000
"""Characters of an answer, its last, that the conversation about it repeats."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatOptions(Options):
    """The options of ``chat``: the model, where it is asked, and its limits.

    Attributes:
        address: The endpoint without `/chat/completions`, as `http://localhost:11434/v1`. The agent connects only to
            this address, or to the `proxy`.
        model: The model's name there.
        key: The environment variable that holds the key; none for an endpoint without one.
        temperature: Sent along; none leaves it to the endpoint.
        retries: Further answers that a decision may take after one that is not a legal move, and further attempts of a
            request that failed.
        seconds: Time for a request.
        max_tokens: Tokens that an answer may take, reasoning included; none leaves it to the endpoint.
        proxy: The address of a proxy, as `http://proxy:3128`; the environment's are not used.
        transcript: A file to which every answer is appended with its conversation, as a line of JSON.
    """

    address: str
    _: KW_ONLY
    model: str
    key: str | None = None
    temperature: Annotated[float, Range(0, 2)] | None = None
    retries: Annotated[int, Range(0, 100)] = 2
    seconds: Annotated[float, Range(0, above=True)] = 60.0
    max_tokens: Annotated[int, Range(1)] | None = None
    proxy: str | None = None
    transcript: str | Path | None = None

    def check(self) -> None:
        """Refuse an address that is not plain HTTP or HTTPS, and a key whose environment variable is not set."""
        for name, address in (("address", self.address), ("proxy", self.proxy)):
            if address is not None and not _is_address(address):
                raise InvalidAgentOptionError(
                    f"{name}={short_repr(address)} must begin with http:// or https:// and a host, without a user's "
                    "name, as http://localhost:11434/v1"
                )
        key = os.environ.get(self.key, "") if self.key is not None else "none"
        if not (key and key.isascii() and key.isprintable()):
            # What was given may be the key itself, which belongs in no message.
            raise InvalidAgentOptionError("key= names an environment variable, and none of that name holds a key")

    def files(self) -> tuple[Path, ...]:
        """Return no files, because the agent only writes its transcript and never reads it."""
        return ()


def _is_address(text: str) -> bool:
    """Return whether a string is an HTTP or HTTPS address without a user name or password."""
    try:
        parts = urlsplit(text)
        host = parts.hostname if parts.port != 0 else ""
    except ValueError:  # of brackets or a port
        return False
    return parts.scheme in ("http", "https") and bool(host) and "@" not in parts.netloc and text.split() == [text]


@dataclass
class Usage:
    """The numbers of requests and tokens that an agent has used.

    Attributes:
        requests: Answers that came.
        prompt_tokens: Tokens of the conversations, as the endpoint counts them.
        completion_tokens: Tokens of the answers.
        refused: Answers that were not a legal move.
        fallbacks: Decisions without one, for which the first legal move was played.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    refused: int = 0
    fallbacks: int = 0


class ChatAgent:
    """The agent ``chat:http://localhost:11434/v1,model=NAME``, which asks a language model for its moves.

    Where no answer of a decision is a legal move, it plays the first one in the order of the action table: a pass or
    no bid, on lead the lowest card.  An endpoint that fails is an error, never a move.

    Attributes:
        usage: The requests and tokens that it has used.

    Raises:
        InvalidAgentOptionError: If an option's value is not allowed, the key is not in the environment, or the
            transcript cannot be written.
    """

    name = "chat"
    main_option = "address"

    @takes_options(ChatOptions)
    def __init__(self, options: ChatOptions) -> None:
        self.options = options
        key = options.key and os.environ[options.key]
        self._endpoint = Endpoint(options.address, key, options.seconds, options.retries + 1, options.proxy)
        self._takes_format = True
        self.usage = Usage()
        try:
            self._append(b"")  # before the first answer is paid for
        except OSError as error:
            raise InvalidAgentOptionError(f"the transcript cannot be written: {error}") from error

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Return the model's move, or the only legal move without asking.

        Raises:
            EndpointError: If the endpoint fails.
        """
        legal = view.legal_moves()
        if len(legal) == 1:
            return legal[0]
        messages = [
            {"role": "system", "content": rules_text(view.rules)},
            {"role": "user", "content": position_text(view)},
        ]
        for _ in range(self.options.retries + 1):
            answer, move, complaint = self._ask_once(messages, view)
            if move is not None:
                return move
            repeated = answer[-_MAX_REPEATED:] or "(no answer)"  # some endpoints refuse an empty message
            messages += [{"role": "assistant", "content": repeated}, {"role": "user", "content": complaint}]
        self.usage.fallbacks += 1
        self._log_answer(view, fallback=str(legal[0]))
        _log.warning("chat: no answer was a legal move (%s); seat %d plays %s", complaint, view.seat, legal[0])
        return legal[0]

    def _ask_once(self, messages: list[dict[str, str]], view: View) -> tuple[str, Move | None, str]:
        """Ask the model once; return its answer, and the move in it or the reason why it has none."""
        reply = self._request(messages, view)
        self.usage.requests += 1
        self.usage.prompt_tokens += reply.prompt_tokens
        self.usage.completion_tokens += reply.completion_tokens
        move, complaint = None, reply.problem
        try:
            move = None if complaint else parse_answer(reply.text, view)
        except (InvalidMoveError, IllegalMoveError) as error:
            complaint = str(error)
        self.usage.refused += move is None
        said = {"text": reply.text, "prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
        self._log_answer(view, messages=messages, **said, move=move and str(move), complaint=complaint)
        return reply.text, move, complaint

    def _request(self, messages: list[dict[str, str]], view: View) -> Reply:
        """Send a conversation to the endpoint, with ``response_format`` until the endpoint refuses it."""
        chosen = {"temperature": self.options.temperature, "max_tokens": self.options.max_tokens}
        settings = {name: value for name, value in chosen.items() if value is not None}
        body = {"model": self.options.model, "messages": messages, **settings}
        if self._takes_format:
            try:
                return self._endpoint.complete({**body, "response_format": answer_format(view)})
            except RefusedRequestError as error:
                reply = self._endpoint.complete(body)  # which fails if the form was not the reason
                _log.info("chat: asked without response_format from now on (%s)", error)
                self._takes_format = False
                return reply
        return self._endpoint.complete(body)

    def _log_answer(self, view: View, **said: Any) -> None:
        """Append one model answer to the transcript as a JSON line."""
        line = {"model": self.options.model, "seat": view.seat, "number": len(view.history), **said}
        self._append(f"{json.dumps(line)}\n".encode())

    def _append(self, line: bytes) -> None:
        """Append a line to the transcript, if any, in a single write, because several processes may share it."""
        if self.options.transcript is not None:
            with open(self.options.transcript, "ab", buffering=0) as file:
                file.write(line)
