"""Who does the tasks: workers of Ray, or this process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .._errors import InputError, NighError
from ._storage import Folder
from ._tasks import Done, Task, perform


class Workers(Protocol):
    """Does tasks in any order; yields the number of each and what it left behind."""

    def perform(self, tasks: Sequence[Task], out: Folder) -> Iterator[tuple[int, Done]]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class ThisProcess:
    """One task after the other, without Ray."""

    threads: int

    def perform(self, tasks: Sequence[Task], out: Folder) -> Iterator[tuple[int, Done]]:
        for number, task in enumerate(tasks):
            yield number, perform(task, out, self.threads)

    def close(self) -> None:
        pass


class RayWorkers:
    """Some tasks at a time on Ray. A task whose worker is lost is done again elsewhere."""

    def __init__(self, num_workers: int | None, cpus: int, memory: int | None, max_retries: int) -> None:
        self.ray = import_ray()
        self.started = not self.ray.is_initialized()
        if self.started:
            start(self.ray, None if num_workers is None else num_workers * cpus)
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        largest = max((node.get("CPU", 0) for node in nodes), default=0)
        if largest < cpus:
            self.close()
            raise InputError(f"`cpus_per_worker` is {cpus}, but the largest machine of the cluster has {largest:g} CPUs")
        most_memory = max((node.get("memory", 0) for node in nodes), default=0)
        if memory is not None and most_memory < memory:
            self.close()
            raise InputError(f"`memory` is {memory} bytes, but the largest machine of the cluster has {most_memory:.0f}")
        fitting = sum(int(node.get("CPU", 0) // cpus) for node in nodes)
        self.num_workers = num_workers or max(1, fitting)
        self.cpus, self.max_retries = cpus, max_retries
        self.most_cpus = int(largest)
        options: dict[str, Any] = {"max_retries": max_retries, **({} if memory is None else {"memory": memory})}
        self.remote = self.ray.remote(**options)(perform)

    def perform(self, tasks: Sequence[Task], out: Folder) -> Iterator[tuple[int, Done]]:
        ray, waiting = self.ray, list(enumerate(tasks))[::-1]
        running: dict[Any, int] = {}
        # Where there are fewer tasks than workers, each has the threads of several.
        cpus = min(self.cpus * max(1, self.num_workers // max(1, len(tasks))), self.most_cpus)
        remote = self.remote.options(num_cpus=cpus)
        try:
            while waiting or running:
                while waiting and len(running) < self.num_workers:
                    number, task = waiting.pop()
                    running[remote.remote(task, out, cpus)] = number
                ready, _ = ray.wait(list(running), num_returns=1)
                number = running.pop(ready[0])
                yield number, self._result(ready[0], tasks[number])
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _result(self, reference: Any, task: Task) -> Done:
        try:
            done: Done = self.ray.get(reference)
            return done
        except self.ray.exceptions.RayTaskError as error:
            # The exception of the worker, as if it had happened here.
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except self.ray.exceptions.RayError as error:
            raise NighError(
                f"a worker was lost {self.max_retries + 1} times in task {task.name} of stage `{task.stage}`; out of memory? "
                f"What is complete stays: the same call goes on from there. {error}"
            ) from error

    def close(self) -> None:
        if self.started:
            self.ray.shutdown()


def import_ray() -> Any:
    """Ray, which is an extra."""
    try:
        import ray
    except ImportError as error:
        raise ImportError(f"nigh.ray needs Ray (pip install 'nigh[ray]'): {error}") from error
    return ray


def start(ray: Any, num_cpus: int | None) -> None:
    """Connects to the cluster of ``RAY_ADDRESS``, as jobs have it, or starts one of this machine that nobody else can reach."""
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
        return
    with _loopback():
        # Token authentication is on by default, and stays so unless the user's RAY_AUTH_MODE says otherwise.
        ray.init(
            address="local",
            num_cpus=num_cpus,
            include_dashboard=False,
            # Nothing large passes through it: files do.
            object_store_memory=100 << 20,
            # Workers wait while a stage has a single task; by default they are ended after a second, and started again. And by default
            # they give way to every other process (niceness 15); here they do the work that the user waits for.
            _system_config={"idle_worker_killing_time_threshold_ms": 600_000, "worker_niceness": 0},
            log_to_driver=False,
            logging_level="ERROR",
        )
    address = ray.nodes()[0]["NodeManagerAddress"]
    if not address.startswith("127.") and address != "::1":
        ray.shutdown()
        raise NighError(f"Ray {ray.__version__} would listen at {address}, beyond this machine; start a cluster and set RAY_ADDRESS")


@contextlib.contextmanager
def _loopback() -> Iterator[None]:
    """Ray replaces 127.0.0.1 by an address that others can reach, except where it takes clusters to be of one machine, as on Macs."""
    from ray._private import ray_constants

    name = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    before, given = ray_constants.ENABLE_RAY_CLUSTER, os.environ.get(name)
    # For this process, which has read the variable already, and for those that it starts.
    ray_constants.ENABLE_RAY_CLUSTER, os.environ[name] = False, "0"
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        if given is None:
            del os.environ[name]
        else:
            os.environ[name] = given
