"""Processes that share the work of encoding data. Results come in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

import torch

from composer.core.problems import UserError

Task = TypeVar("Task")
Result = TypeVar("Result")

#: The seconds between two looks of a worker at its parent.
WATCH = 0.5

_work: Callable[[Any], Any]  # of a worker


class WorkersEnded(UserError):
    """A worker was killed, for example because the machine has too little memory."""


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int | None
) -> Iterator[tuple[Task, Result]]:
    """All tasks, each with the result of ``work``, by several processes; None: as many as there are processors.

    The processes are forked, so that ``work`` may be any function over anything in memory. Few tasks are drawn ahead.
    """
    count = cores() if workers is None else workers
    if count == 1 or multiprocessing.current_process().daemon:  # a daemon may not have children
        yield from ((task, work(task)) for task in tasks)
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=(work, os.getpid()))
    waiting: deque[tuple[Task, Future[Result]]] = deque()
    try:
        for task in tasks:
            waiting.append((task, pool.submit(_apply, task)))
            if len(waiting) > count + 1:
                done, result = waiting.popleft()
                yield done, result.result()
        yield from ((done, result.result()) for done, result in waiting)
    except BrokenProcessPool as error:
        message = "a process that encodes the data was ended from outside, perhaps for lack of memory."
        more = "Start again: data=text goes on where it was, and data.workers=1 takes less memory."
        raise WorkersEnded(f"{message} {more}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(work: Callable[[Any], Any], parent: int) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)  # the threads of the parent did not survive the fork
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End this worker when its parent has ended, also by a kill, so that the parent's locks are free."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


def _apply(task: Any) -> Any:
    return _work(task)
