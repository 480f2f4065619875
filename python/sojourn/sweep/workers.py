"""Where points are computed: processes of this machine, a Dask cluster, or any executor given.

Tasks return what went wrong instead of raising it, since not every exception survives the way back
from another process. What remains is a process that dies: then the pool is replaced, and the tasks
that were under way are tried again one by one, so that only the one that kills its process fails.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

from sojourn.errors import SojournError

Task = TypeVar("Task")


class Workers:
    """Any executor: it is used, and left running. `note` is what a user should know of it, if anything."""

    note: str | None = None

    def __init__(self, executor: Executor, window: int = 1000) -> None:
        self.executor = executor
        self.window = window

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have something done."""
        return self.executor.submit(work, *arguments)

    def replace(self) -> None:
        """Put a working executor in the place of a broken one."""
        raise SojournError("the executor broke since one of its workers died; run the study again to resume")

    def close(self) -> None:
        """Finish in good order."""

    def kill(self) -> None:
        """Stop at once; what is under way is lost."""


class Processes(Workers):
    """A pool of processes on this machine."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        super().__init__(self._pool(), window=2 * jobs)

    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn"), initializer=_begin_worker)

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        # Processes start here. One that a Ctrl-C meets before it ignores it would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(work, *arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def replace(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._pool()

    def close(self) -> None:
        self.executor.shutdown(wait=True)

    def kill(self) -> None:
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        manager = getattr(self.executor, "_executor_manager_thread", None)
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with contextlib.suppress(Exception):
                process.kill()
        if manager is not None:
            # Else the interpreter may wake it at exit while it closes its pipe, and say so with a traceback.
            manager.join(timeout=5)


class Cluster(Workers):
    """The workers of a Dask scheduler, which share the results directory with this machine."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise SojournError(
                "--scheduler needs the package distributed: pip install 'sojourn[dask]'"
            ) from None
        if not re.fullmatch(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d+/?", address):
            raise SojournError(
                f"--scheduler {address}: expected the address of a Dask scheduler, as tcp://host:8786"
            )
        try:
            _knock(address)
            self.client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise SojournError(f"no Dask scheduler answers at {address}: {reason}") from None
        if not self.client.scheduler_info()["workers"]:
            self.note = (
                f"the Dask scheduler at {address} has no workers yet: nothing runs before one joins it, as "
                f"with dask worker {address}"
            )
        super().__init__(self.client.get_executor(pure=False))

    def close(self) -> None:
        self.executor.shutdown(wait=True)
        self.client.close()

    def kill(self) -> None:
        with contextlib.suppress(Exception):
            self.executor.shutdown(wait=False)
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)


def _knock(address: str) -> None:
    """Raise OSError at once where nothing listens; a client of Dask tries again for its whole timeout."""
    protocol, _, place = address.rpartition("://")
    if protocol in ("", "tcp", "tls"):
        host, _, port = place.rstrip("/").rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def open_workers(
    *, jobs: int | None = None, scheduler: str | None = None, executor: Executor | None = None
) -> Workers:
    """Return the workers that were asked for: an executor, a cluster, or processes of this machine."""
    if executor is not None:
        return Workers(executor)
    if scheduler is not None:
        return Cluster(scheduler)
    return Processes(jobs or cores())


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def spread(
    workers: Workers, work: Callable[..., Any], tasks: Sequence[tuple[Task, tuple[Any, ...]]]
) -> Iterator[tuple[Task, Any]]:
    """Do `work(*arguments)` for each task and yield pairs of task and what came back, as they finish.

    What came back is an exception if the task's process died, or could not be reached.
    """
    waiting = deque(tasks)
    suspects: deque[tuple[Task, tuple[Any, ...]]] = deque()
    running: dict[Future[Any], tuple[Task, tuple[Any, ...]]] = {}
    while waiting or suspects or running:
        broken: list[tuple[Task, tuple[Any, ...]]] = []
        source, window = (suspects, 1) if suspects else (waiting, workers.window)
        alone = source is suspects
        try:
            while source and len(running) < window:
                running[workers.submit(work, *source[0][1])] = source[0]
                source.popleft()
        except BrokenExecutor:
            if not running:
                workers.replace()
                continue
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                broken.append(task)
            else:
                yield task[0], error if error is not None else future.result()
        if not broken:
            continue
        for future in wait(running).done:
            task = running.pop(future)
            if future.exception() is None:
                yield task[0], future.result()
            else:
                broken.append(task)
        workers.replace()
        if alone:
            yield broken[0][0], SojournError("its process died (killed, or out of memory)")
        else:
            suspects.extend(broken)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
