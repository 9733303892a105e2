"""What a process tree uses, sampled: peak memory, and processor time by process."""

import threading
import time

import psutil

INTERVAL_S = 0.2
"""Between samples: a sample costs about a millisecond, and the end of a child's life in between is missed."""


class Sampler(threading.Thread):
    """Watches a process and its descendants until told to stop.

    Attributes:
        peak_one_bytes: resident memory of the largest process.
        peak_tree_bytes: of all together; pages that processes share count in each.
        cpu_s: user and system seconds of each process, by its id.
    """

    def __init__(self, pid: int) -> None:
        """Begin to watch."""
        super().__init__(daemon=True)
        self.pid, self.peak_one_bytes, self.peak_tree_bytes = pid, 0, 0
        self.cpu_s: dict[int, float] = {}
        self._stop_asked = threading.Event()
        self.start()

    def run(self) -> None:
        """Sample until told to stop."""
        while not self._stop_asked.wait(INTERVAL_S):
            self.sample()

    def sample(self) -> None:
        """Look once."""
        sizes = [0]
        try:
            root = psutil.Process(self.pid)
            for process in [root, *root.children(recursive=True)]:
                with process.oneshot():
                    sizes.append(process.memory_info().rss)
                    times = process.cpu_times()
                    self.cpu_s[process.pid] = times.user + times.system
        except psutil.Error:  # it ended while we looked
            pass
        self.peak_one_bytes = max(self.peak_one_bytes, *sizes)
        self.peak_tree_bytes = max(self.peak_tree_bytes, sum(sizes))

    def finish(self) -> None:
        """Stop watching."""
        self._stop_asked.set()
        self.join()

    def children_cpu_s(self) -> float:
        """Seconds of all but the root process."""
        return sum(spent for pid, spent in self.cpu_s.items() if pid != self.pid)


def cpu_of(pid: int) -> float:
    """User and system seconds of one process so far."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def calibrate_ms() -> int:
    """Processor time of a fixed loop in milliseconds: tells a run on a busy machine from one on a quiet one."""
    began, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number
    return round((time.process_time() - began) * 1000)
