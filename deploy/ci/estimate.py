#!/usr/bin/env python3
"""Estimates an experiment with progress and a budget, for CI: estimate.py EXPERIMENT [INSTRUCTIONS]

Prints a line for every change of a job and a table of the results. Ends with 1 when outputs differ
from their references or when a job takes more than INSTRUCTIONS (median over its samples), with 2
when the request is refused, with 7 when the estimate could not be had.
"""

import statistics
import sys

from helx.api import HelxError, InvalidInput, RequestRefused, estimate_all, load_request


def told(progress):
    name = "/".join(filter(None, (progress.experiment, progress.run, progress.model_stem)))
    where = f" ({progress.queue_reason}, position {progress.queue_position})"
    print(f"{name}: {progress.phase}{where if progress.queue_reason else ''}", file=sys.stderr)


def main(path, budget):
    try:
        outcomes = estimate_all(load_request(path), on_progress=told)
    except (InvalidInput, RequestRefused) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    except HelxError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 7
    good = True
    print(f"{'result':32} {'instructions':>14} {'outputs':>12}")
    for outcome in outcomes:
        samples = outcome.result.measurements.samples
        instructions = statistics.median(sample.instructions.value for sample in samples)
        matched = {True: "match", False: "mismatch", None: "not compared"}[outcome.matched]
        print(f"{str(outcome.path):32} {instructions:14,.0f} {matched:>12}")
        good = good and outcome.matched is not False and instructions <= budget
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else float("inf")))
