"""What a caged call of a Python executor adds to a bare one, beside bubblewrap driven from Python.

Runs all three in interleaved rounds of one run and prints what each adds, as a ratio; then many calls from
several threads, and what they leave behind. Never asserts a time.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import stockade

EXECUTOR = """
import json, sys
arguments = json.load(sys.stdin)
json.dump({"sum": sum(arguments["numbers"])}, sys.stdout)
"""

ARGUMENTS = {"numbers": [1, 2, 3]}


def bare(command):
    """The executor as a plain subprocess, as the caller of a tool would start it without a sandbox."""
    done = subprocess.run(
        command, input=json.dumps(ARGUMENTS), capture_output=True, text=True, timeout=30, check=True
    )
    return json.loads(done.stdout)


def milliseconds(work):
    begun = time.perf_counter()
    answer = work()
    took = (time.perf_counter() - begun) * 1000
    if answer != {"sum": 6}:
        sys.exit(f"a wrong answer: {answer}")
    return took


def measure(kinds, rounds):
    times = {name: [] for name in kinds}
    names = list(kinds)
    for number in range(rounds + WARM_UP):
        # Each kind comes first as often as any other.
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            took = milliseconds(kinds[name])
            if number >= WARM_UP:
                times[name].append(took)
    return {name: statistics.median(taken) for name, taken in times.items()}


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def children():
    found = 0
    for thread in os.listdir("/proc/self/task"):
        # A thread may end between the two looks.
        with contextlib.suppress(FileNotFoundError):
            found += len(Path(f"/proc/self/task/{thread}/children").read_text().split())
    return found


def crowd(executor, calls, threads):
    """Many calls at once; returns how many failed, what is left, and the calls a second."""
    before = (descriptors(), children())
    failed = []

    def work():
        for _ in range(calls // threads):
            try:
                value = stockade.invoke(executor, ARGUMENTS).value
                if value != {"sum": 6}:
                    failed.append(value)
            except stockade.StockadeError as error:
                failed.append(error)

    begun = time.perf_counter()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rate = calls / (time.perf_counter() - begun)
    after = (descriptors(), children())
    return failed, (after[0] - before[0], after[1] - before[1]), rate


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=200)
    arguments.add_argument("--calls", type=int, default=1000)
    arguments.add_argument("--threads", type=int, default=8)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.home()) as directory:
        code = Path(directory, "add.py")
        code.write_text(EXECUTOR)
        executor = {"name": "add", "version": "1", "code_path": str(code), "capabilities": []}
        # What a cage has as `python3`; this process may run in a venv that no cage has.
        plain = ["/usr/bin/python3", str(code)]
        bubblewrap = stockade.wrap_command(executor, plain, backend="bwrap")
        medians = measure(
            {
                "bare": lambda: bare(plain),
                "bubblewrap": lambda: bare(bubblewrap),
                "stockade": lambda: stockade.invoke(executor, ARGUMENTS).value,
            },
            asked.rounds,
        )
        added = {name: median - medians["bare"] for name, median in medians.items()}
        print(f"{'':12} {'median':>10} {'added':>10}")
        for name, median in medians.items():
            print(f"{name:12} {median:7.2f} ms {added[name]:7.2f} ms")
        print(f"stockade adds {added['stockade'] / added['bubblewrap']:.2f} of what bubblewrap adds")
        failed, left, rate = crowd(executor, asked.calls, asked.threads)
        print(
            f"{asked.calls} calls from {asked.threads} threads: {rate:.0f} a second, {len(failed)} failed, "
            f"{left[0]} descriptors and {left[1]} processes left"
        )
        for problem in failed[:3]:
            print(f"  {problem!r}")
        return 1 if failed or any(left) else 0


WARM_UP = 10

if __name__ == "__main__":
    sys.exit(main())
