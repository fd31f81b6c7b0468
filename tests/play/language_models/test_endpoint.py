"""Endpoints that mean harm, or are broken: each request ends in time, and the key is in nothing that is said of it."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from ddz_play.language_models.endpoint import Endpoint, EndpointError, Reply

KEY = "sk-secret/1"
SECONDS = 0.25
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
OTHER = "HTTP/1.1 {} {}\r\nContent-Length: {}\r\n\r\n{}"


def drip(piece: bytes = b"a", first: bytes = b"", pause: float = 0.02) -> Iterator[bytes]:
    """Something, and then a little for ever."""
    yield first
    while True:
        yield piece
        time.sleep(pause)


def said(text: str | bytes, code: int = 200, reason: str = "OK", encoding: str = "utf-8") -> list[bytes]:
    """A whole answer."""
    body = text.encode(encoding) if isinstance(text, str) else text
    return [f"HTTP/1.1 {code} {reason}\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body]


def completion(content: object, reason: str = "stop", **message: object) -> list[bytes]:
    return said(json.dumps({"choices": [{"message": {"content": content, **message}, "finish_reason": reason}]}))


ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
HOSTILE: dict[str, Iterable[bytes]] = {
    # what does not end
    "silence": drip(b""),
    "slow status line": drip(first=b"HTTP/1.1 200 "),
    "slow header": drip(first=OK + b"X: "),
    "endless headers": drip(b"X: y\r\n", OK),
    "endless headers at once": drip(b"X: y\r\n" * 99, OK, 0.0),
    "endless 100 Continue": drip(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "endless 103": drip(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", pause=0.0),
    "slow body": drip(first=OK + b"Content-Length: 9999\r\n\r\n"),
    "slow body without a length": drip(first=OK + b"\r\n"),
    "slow body of a 500": drip(first=b"HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n"),
    "slow body of a 401": drip(first=b"HTTP/1.1 401 No\r\n\r\n"),
    "slow body of a 307": drip(first=b"HTTP/1.1 307 No\r\nLocation: /there\r\nContent-Length: 9\r\n\r\n", pause=0.1),
    "slow chunk size": drip(b"0", CHUNKED),
    "slow chunk": drip(first=CHUNKED + b"ffff\r\n"),
    "endless chunks": drip(b"1\r\na\r\n", CHUNKED),
    "endless chunk extension": drip(first=CHUNKED + b"1;"),
    "endless trailers": drip(b"X: y\r\n", CHUNKED + b"0\r\n"),
    "gigabytes": drip(b"a" * (1 << 20), OK + b"\r\n", 0.0),
    "gigabytes in chunks": drip(b"100000\r\n" + b"a" * (1 << 20) + b"\r\n", CHUNKED, 0.0),
    "endless blank lines": drip(b"\r\n", pause=0.0),
    # what is no answer
    "nothing": [],
    "a redirection": [b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"],
    "garbage": [b"\xff\x00\x01" * 99 + b"\r\n\r\n"],
    "another protocol": [b"SSH-2.0-OpenSSH_9.6\r\n"],
    "two lengths": [OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    "a negative length": [OK + b"Content-Length: -1\r\n\r\nab"],
    "a body that ends early": [OK + b"Content-Length: 99\r\n\r\nab"],
    "chunks that end early": [CHUNKED + b"5\r\nab"],
    "a bomb": [OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"],
    "deep JSON": said("[" * 100_000),
    "a long number": said("1" * 100_000),
    "no content": [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "no choices": said('{"choices": []}'),
    "a text for a message": said('{"choices": [{"message": "33"}]}'),
    "parts of another kind": completion([5]),
    "a wait of years": [b"HTTP/1.1 429 Slow\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n"],
    # what repeats the key
    "the key in a body": said(f"wrong key {KEY}", 401),
    "the key in JSON": said(json.dumps({"error": KEY}).replace("/", "\\/"), 401),
    "the key escaped": said(f'{{"error": "{ESCAPED}"}}', 401),
    "the key escaped and no completion": said(f'{{"error": "{ESCAPED.upper().replace("U0", "u0")}"}}'),
    "the key in UTF-16": said(KEY, 403, encoding="utf-16"),
    "the key in the other UTF-16": said(KEY, 403, encoding="utf-16-be"),
    "the key in HTML": said("".join(f"&#{ord(letter)};" for letter in KEY), 403),
    "the key in the reason": said("", 401, f"no {KEY}"),
    "the key in the status line": [f"{KEY} 200 OK\r\n\r\n".encode()],
    "the key in a header": [OK + f"X {KEY}\r\n\r\n".encode()],
    "the key in a chunk size": [CHUNKED + f"{KEY}\r\n".encode()],
}


def endpoint(port: int) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{port}/v1", KEY, SECONDS, 1)


@pytest.fixture
def serve() -> Iterator[Callable[[Iterable[bytes]], int]]:
    """Sends a client what it is given, at a port."""
    listeners: list[socket.socket] = []

    def listen(pieces: Iterable[bytes]) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def answer() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    while not connection.recv(1 << 16).endswith(b"}"):
                        pass
                    for piece in itertools.takewhile(lambda _: listener.fileno() >= 0, pieces):
                        connection.sendall(piece)

        threading.Thread(target=answer, daemon=True).start()
        return int(listener.getsockname()[1])

    yield listen
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_endpoint_costs_its_time_and_learns_nothing_more(
    serve: Callable[[Iterable[bytes]], int], name: str
) -> None:
    hostile = endpoint(serve(HOSTILE[name]))
    began = time.monotonic()
    with pytest.raises(EndpointError) as refused:
        hostile.complete({"model": "x", "messages": []})
    assert time.monotonic() - began < SECONDS + 1
    text = "".join(map(str, (refused.value, refused.value.__context__, refused.value.__cause__)))
    assert len(text) < 500
    plain = text.replace("\\x00", "").replace("\\", "")
    assert KEY not in plain
    assert "secret" not in plain
    assert "u0073u0065" not in plain.lower()
    if name.startswith("the key") and "chunk" not in name:
        assert "(the key)" in plain


@pytest.mark.parametrize(
    ("pieces", "text", "problem"),
    [
        (completion("33"), "33", ""),
        (completion([{"type": "text", "text": "3"}, {"text": "3"}, {"type": "reasoning", "text": "no"}]), "33", ""),
        (completion(f"I know {KEY}"), "I know (the key)", ""),
        (said(f'{{"choices": [{{"message": {{"content": "{ESCAPED}"}}}}]}}'), "(the key)", ""),
        (completion([{"text": KEY[:4]}, {"text": KEY[4:]}]), "(the key)", ""),
        (completion("<think>22 looks", "length"), "<think>22 looks", "cut off"),
        (completion("22", "content_filter"), "22", "cut off"),
        (completion(None, reasoning_content="22"), "", "only reasoning"),
        (completion("", reasoning="22"), "", "only reasoning"),
        (completion(None), "", "empty"),
        (completion(" \n"), " \n", "empty"),
        (completion([]), "", "empty"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", *completion("33")], "33", ""),
    ],
)
def test_a_completion_is_read_and_what_is_not_whole_has_a_reason(
    serve: Callable[[Iterable[bytes]], int], pieces: Iterable[bytes], text: str, problem: str
) -> None:
    reply: Reply = endpoint(serve(pieces)).complete({"model": "x", "messages": []})
    assert reply.text == text
    assert problem in reply.problem
    assert bool(reply.problem) == bool(problem)


def test_a_proxy_is_the_one_that_is_named(
    serve: Callable[[Iterable[bytes]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert endpoint(serve(completion("33"))).complete({"model": "x"}).text == "33"
    proxy = f"http://127.0.0.1:{serve(completion('44'))}"
    assert Endpoint("http://nowhere.invalid/v1", KEY, SECONDS, 1, proxy).complete({"model": "x"}).text == "44"
