"""What the runtime costs beside a hand-written loop on the official SDK and httpx2 (`raw.py`), in the same rounds.

    python benchmarks/agent [--rounds N] [--only WORD ...] [--output text|json]

Needs the extra `test` and Linux: figures are CPU time of the system's own process, as the kernel counts it, without its
servers; on a busy machine that moves far less than wall time. A ratio is the median over the rounds of ours to the
reference's. `most` is what we hold ourselves to.
"""

import argparse
import compileall
import json
import statistics
import sys
import tempfile
from pathlib import Path

from measuring import FIGURES, Bench


def main() -> None:
    names = [figure.name for figure in FIGURES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, one of each system in turn")
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORD", help=f"some of: {', '.join(names)}")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("this benchmark reads the CPU clock of other processes, as only Linux gives it")
    for package in ("runtime", "kinds"):  # whatever PYTHONDONTWRITEBYTECODE says: a wheel's files are compiled as well
        compileall.compile_dir(Path(__file__).parents[2] / package, quiet=2)
    rows = []
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
        for figure in FIGURES:
            if options.only and figure.name not in options.only:
                continue
            pairs = bench.measure(figure, options.rounds)
            raw, ours = (statistics.median(values) for values in zip(*pairs, strict=True))
            seen = ours if figure.is_absolute else statistics.median(own / theirs for theirs, own in pairs)
            rows.append({"name": figure.name, "unit": figure.unit, "raw": raw, "ours": ours, "seen": seen})
            if options.output == "text":
                print_row(figure.name, figure.title, figure.unit, raw, ours, seen, figure.most, figure.is_absolute)
    if options.output == "json":
        print(json.dumps(rows, indent=2))


def print_row(*cells: object) -> None:
    """One line at once: the whole table takes minutes."""
    name, title, unit, raw, ours, seen, most, is_absolute = cells
    compared = f"{seen:8.2f}  " if is_absolute else f"{seen:8.2f} x"
    print(f"{name:<11}{title:<52}{raw:>9.2f}{ours:>9.2f} {unit:<6}{compared} most {most}", flush=True)


if __name__ == "__main__":
    main()
