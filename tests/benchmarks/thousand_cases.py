"""Benchmark: a thousand generated cases on both executors on the embedded server. Aim: under 10 s on two cores.

Run it by hand: ``.venv/bin/python -m tests.benchmarks.thousand_cases``. It prints seconds and cases a second, the
best and the median of three rounds. Whether the executors agree is not judged here.
"""

import statistics
import time

import emqlab
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import run_case
from tests.benchmarks.generate import cases

CASES = 1000


def main() -> None:
    """Run three rounds and print them."""
    parsed = [parse_case(source) for source in cases(seed=1, count=CASES)]
    rounds = []
    with emqlab.open_lab("embedded") as lab:
        server, executors = lab.bench()
        for _ in range(3):
            start = time.perf_counter()
            for case in parsed:
                for name in executors:
                    run_case(server, executors, case, name, traced=False, before=False)
            rounds.append(time.perf_counter() - start)
    best, median = min(rounds), statistics.median(rounds)
    print(f"{CASES} cases on both executors: best {best:.2f} s, median {median:.2f} s, {CASES / median:.0f} cases/s")


if __name__ == "__main__":
    main()
