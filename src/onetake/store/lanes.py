"""Group commit: threads that take operations as they wait and run them together, one transaction for many.

Theory of operation. Callers put operations into one queue. Each lane is a thread with a connection of its own; it
takes what waits, at most `GROUP_MAX` operations, into one transaction, so that fifty waiting tasks pay for one commit.
An operation that raises undoes the group, which is then done again one by one: each loses or wins by itself. Alone,
an operation that another transaction was in the way of is done again a few times, because a second look sees what
the first one could not. When the answer to a COMMIT is lost nothing is done again: whoever waits has to look.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from onetake.domain.errors import CommitUnknownError, DatabaseError
from onetake.store.database import ConflictError, ConstraintError, Tx

T = TypeVar("T")

GROUP_MAX = 64
"""Operations in one transaction: past about 64 a commit's cost is spread thin enough (measured in the trial)."""

CONFLICTS_MAX = 10
"""Tries of an operation that others are in the way of: a deadlock takes one more, and no two of ours wait in a ring."""

Begin = Callable[[bool], AbstractContextManager[Tx]]
"""Begins a transaction on a lane's connection; told whether several operations are going to share it."""


@dataclass(slots=True)
class _Call:
    op: Callable[[Tx], Any]
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.cancelled():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Lanes:
    """Lanes that share one queue."""

    def __init__(self, begins: Sequence[Begin], *, name: str, where: str, looks: int = 1) -> None:
        """Start a thread for each connection.

        Args:
            begins: one for each connection.
            name: of the threads.
            where: what the database is called in messages.
            looks: tries of an operation that a constraint refuses; 2 where a row of another transaction can come
                between look and write.
        """
        self._where, self._looks, self._is_closed = where, looks, False
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, args=(begin,), name=f"{name}-{n}", daemon=True)
            for n, begin in enumerate(begins)
        ]
        for thread in self._threads:
            thread.start()

    async def call(self, op: Callable[[Tx], T]) -> T:
        """The operation's result, once its transaction has ended well."""
        if self._is_closed:
            raise DatabaseError(f"{self._where} was closed; nothing of this was written.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Call(op, future))
        return await future

    async def aclose(self) -> None:
        """Finish what was handed in; the connections may be closed afterwards."""
        self._is_closed = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _serve(self, begin: Begin) -> None:
        is_open = True
        while is_open:
            group, is_open = self._group()
            if not group:
                continue
            for done in self._run(begin, group):
                _answer(done)

    def _group(self) -> tuple[list[_Call], bool]:
        first = self._queue.get()
        if first is None:
            return [], False
        group = [first]
        while len(group) < GROUP_MAX:
            try:
                call = self._queue.get_nowait()
            except queue.Empty:
                break
            if call is None:
                return group, False
            group.append(call)
        return group, True

    def _run(self, begin: Begin, group: list[_Call]) -> Iterator[list[_Call]]:
        """What is done, as it is done: all in one transaction; if one raises or the commit fails, each in its own."""
        if len(group) == 1:
            self._run_alone(begin, group[0])
            yield group
            return
        has_begun = False
        try:
            with begin(True) as tx:  # noqa: FBT003 - the one argument of `Begin`
                has_begun = True
                for call in group:
                    call.result = call.op(tx)
        except Exception as error:  # noqa: BLE001 - handed to the callers who wait
            # Without a transaction there is nobody to blame, and nobody waits for it twice.
            is_over = not has_begun or isinstance(error, CommitUnknownError)
            for call in group:
                if is_over:
                    call.error = error
                else:
                    self._run_alone(begin, call)
                yield [call]
        else:
            yield group

    def _run_alone(self, begin: Begin, call: _Call) -> None:
        """A transaction for this operation; again, if it may come out differently."""
        conflicts, looks = CONFLICTS_MAX, self._looks
        while True:
            try:
                with begin(False) as tx:  # noqa: FBT003 - likewise
                    call.result = call.op(tx)
            except ConflictError as error:
                conflicts -= 1
                if conflicts:
                    continue
                call.error = error
            except ConstraintError as error:
                looks -= 1
                if looks:
                    continue
                call.error = error
            except Exception as error:  # noqa: BLE001 - handed to the caller who waits
                call.error = error
            return


def _answer(calls: list[_Call]) -> None:
    """Hand the results over, each to the loop that waits for it."""
    for loop in {call.future.get_loop() for call in calls}:
        mine = [call for call in calls if call.future.get_loop() is loop]
        with contextlib.suppress(RuntimeError):  # that loop was closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle, mine)


def _settle(calls: list[_Call]) -> None:
    for call in calls:
        call.settle()
