"""What many runs at once ask of one store: a simulation fed by measured figures.

Each run is a loop of turns: the model answers after a while, tools work, and each step is recorded. The database does
so many steps a second (`--steps-per-second`, from what `benchmarks/durable` says that one costs it), one after the
other: what comes meanwhile waits. Workers carry on a number of runs each, with a share of a processor for each step.

    python benchmarks/scale_sim.py [--runs 10000] [--turns 20] [--model-seconds 6] [--tool-seconds 1]
        [--steps-per-second 3000] [--cpu-ms 3.5] [--per-worker 200] [--bytes-per-step 1500] [--output text|json]

Told are the steps per second that the runs want and get, how long a step waits for the database, how many workers,
connections and processors that takes, and the rows and bytes of a day. Nothing is measured here.
"""

import argparse
import heapq
import json
import random
from typing import Any

CONNECTIONS = 10
"""Most of one process (`runtime.durable.database.POOL`); a step holds one while it is written."""
STATEMENTS = 4
"""Of a step: two to look, two to write."""


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """Figures of `options.runs` runs that are always under way: whenever one ends, another begins."""
    chance = random.Random(7)
    service = 1 / options.steps_per_second
    steps_per_turn = 2 + options.intents
    # Runs begin at different places of a turn, as those of a day do.
    events = [(chance.uniform(0, options.model_seconds + options.tool_seconds), run) for run in range(options.runs)]
    heapq.heapify(events)
    place = [chance.randrange(options.turns * steps_per_turn) for _ in range(options.runs)]
    free, done, busy = 0.0, 0, 0.0
    waits: list[float] = []
    begun_at = options.warm_seconds
    end = begun_at + options.seconds
    while events[0][0] < end:
        now, run = heapq.heappop(events)
        started = max(now, free)
        free = started + service
        if free >= begun_at and free < end:
            waits.append(started - now)
            busy += service
            done += 1
        place[run] += 1
        is_model = place[run] % steps_per_turn == 1
        mean = options.model_seconds if is_model else options.tool_seconds / (steps_per_turn - 1)
        heapq.heappush(events, (free + chance.expovariate(1 / mean), run))
    waits.sort()
    turn = options.model_seconds + options.tool_seconds
    workers = max(-(-options.runs // options.per_worker), 1)
    rate = done / options.seconds
    rows = rate * 86_400 * (1 + 1 / (options.turns * steps_per_turn))
    return {
        "runs": options.runs,
        "stepsPerSecondWanted": round(options.runs * steps_per_turn / turn),
        "stepsPerSecond": round(rate),
        "statementsPerSecond": round(rate * STATEMENTS),
        "databaseBusy": round(min(busy / options.seconds, 1.0), 2),
        "stepWaitsMs": {name: round(_find(waits, share) * 1000, 1) for name, share in (("median", 0.5), ("p99", 0.99))},
        "slowerBy": round((options.runs * steps_per_turn / turn) / rate - 1, 3),
        "workers": workers,
        "connections": workers * CONNECTIONS,
        "processors": round(rate * options.cpu_ms / 1000, 1),
        "rowsPerDay": round(rows),
        "gigabytesPerDay": round(rows * options.bytes_per_step / 1e9, 1),
    }


def _find(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def show(figures: dict[str, Any]) -> None:
    print(f"{figures['runs']} runs at once want {figures['stepsPerSecondWanted']} steps/s")
    print(f"  recorded       {figures['stepsPerSecond']} steps/s, {figures['statementsPerSecond']} statements/s")
    print(f"  database       {figures['databaseBusy']:.0%} busy")
    waits = figures["stepWaitsMs"]
    print(f"  a step waits   {waits['median']} ms, 1 of 100 longer than {waits['p99']} ms")
    print(f"  runs take      {figures['slowerBy']:.1%} longer than by themselves")
    print(f"  workers        {figures['workers']}, {figures['connections']} connections at most")
    print(f"  processors     {figures['processors']} for the workers")
    print(f"  a day          {figures['rowsPerDay']:.3g} rows, {figures['gigabytesPerDay']} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description="What many runs at once ask of one store.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--model-seconds", type=float, default=6.0, help="mean of a model's turn")
    parser.add_argument("--tool-seconds", type=float, default=1.0, help="mean of the calls of a turn")
    parser.add_argument("--intents", type=int, choices=(0, 1), default=1, help="1: calls that may not be made twice")
    parser.add_argument("--steps-per-second", type=float, default=3000.0, help="what the database records")
    parser.add_argument("--cpu-ms", type=float, default=3.5, help="of a processor, for a step, in a worker")
    parser.add_argument("--per-worker", type=int, default=200, help="runs at a time in one process")
    parser.add_argument("--bytes-per-step", type=int, default=1500, help="a row with its indexes")
    parser.add_argument("--seconds", type=float, default=30.0, help="simulated and counted")
    parser.add_argument("--warm-seconds", type=float, default=15.0, help="simulated before")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    figures = simulate(options)
    if options.output == "json":
        print(json.dumps(figures, indent=2))
    else:
        show(figures)


if __name__ == "__main__":
    main()
