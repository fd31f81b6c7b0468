"""Where requests wait: for their game and for a place among those in which agents think, as long as the client does.

Nobody who waits takes up a thread, so one game that thinks holds up no other.  What runs in a thread is not cut off: a
move that an agent has chosen is kept, whether somebody reads the answer or not.  But it keeps its place for a while
only, so agents that hang do not keep others from thinking.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CancelScope, CapacityLimiter, Lock, create_task_group
from starlette.requests import ClientDisconnect
from starlette.types import Receive

_OTHERS = 32
"""Requests in which nobody thinks, at the same time; they take milliseconds."""
KEPT = 60.0
"""Seconds after which a request's place is given to the next one, though it has not been answered yet."""

_Answer = TypeVar("_Answer")


class Desk:
    """Lets requests in, a few that think at the same time, one of these a game; it belongs to one event loop.

    Args:
        thinking: Requests in which agents think, at the same time.
    """

    def __init__(self, thinking: int) -> None:
        self._sizes = {True: thinking, False: _OTHERS}
        self._places: dict[bool, CapacityLimiter] = {}
        self._games: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, receive: Receive, game: str | None, thinking: bool) -> AsyncIterator[None]:
        """Wait until a request may be answered.

        Args:
            receive: The request's, whose body has been read.
            game: The game that it is about, if any.
            thinking: Whether an agent thinks.

        Raises:
            ClientDisconnect: If the client leaves before.
        """
        # Agents think on a copy of their game, so what is looked at or played there meanwhile need not wait for them.
        lock = Lock() if game is None else self._games.setdefault(f"{game} {thinking}", Lock())
        places, borrower = self._places.setdefault(thinking, CapacityLimiter(self._sizes[thinking])), object()

        def leave() -> None:
            with contextlib.suppress(RuntimeError):  # it has left already
                places.release_on_behalf_of(borrower)

        async with AsyncExitStack() as held:
            came = False
            async with create_task_group() as waiting:
                waiting.start_soon(_until_the_client_leaves, receive, waiting.cancel_scope)
                await held.enter_async_context(lock)
                await places.acquire_on_behalf_of(borrower)
                held.callback(leave)
                came = True
                waiting.cancel_scope.cancel()
            if not came:
                raise ClientDisconnect
            held.callback(asyncio.get_running_loop().call_later(KEPT, leave).cancel)
            yield


async def _until_the_client_leaves(receive: Receive, scope: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def in_thread(do: Callable[[], _Answer]) -> _Answer:
    """Do something that takes its time in a thread of its own, which does not keep the process from ending."""
    done: Future[_Answer] = Future()
    done.set_running_or_notify_cancel()

    def work() -> None:
        try:
            done.set_result(do())
        except Exception as error:
            done.set_exception(error)
        except BaseException as error:  # none that would end the server
            done.set_exception(RuntimeError(repr(error)))

    threading.Thread(target=work, name="request", daemon=True).start()
    return await asyncio.wrap_future(done)
