"""Counts and times of the service, in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
"""

from collections import Counter
from collections.abc import Iterator

from runtime.serve.admission import Admission
from runtime.serve.runs import ServedRun

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Histogram:
    """How often a time was at most so long."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        place = next((place for place, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self._counts[place] += 1
        self._sum += seconds

    def lines(self, name: str, label: str) -> Iterator[str]:
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{label},le="{bound}"}} {total}'
        yield f"{name}_sum{{{label}}} {self._sum:.6f}"
        yield f"{name}_count{{{label}}} {total}"


class Metrics:
    """Names of agents come from the manifest alone, so that no caller can make up series."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._requests: Counter[tuple[str, int]] = Counter()
        self._runs: Counter[tuple[str, str]] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._applied = 0
        self._seconds: dict[str, Histogram] = {}

    def answered(self, method: str, status: int) -> None:
        """A request was answered; a method that is none of HTTP's usual ones counts as OTHER."""
        known = method in ("GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS")
        self._requests[(method if known else "OTHER", status)] += 1

    def applied(self) -> None:
        """A new set took the place of the old one."""
        self._applied += 1

    def ran(self, run: ServedRun) -> None:
        """A run is over."""
        self._runs[(run.target, run.status)] += 1
        self._seconds.setdefault(run.target, Histogram()).add(run.seconds)
        usage = run.result.get("usage") if isinstance(run.result, dict) else None
        if isinstance(usage, dict):
            for kind in ("promptTokens", "completionTokens"):
                if isinstance(usage.get(kind), int):
                    self._tokens[(run.target, kind.removesuffix("Tokens"))] += usage[kind]

    def render(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head("runtime_http_requests_total", "counter", "HTTP requests by method and status.")
        for (method, status), count in sorted(self._requests.items()):
            yield f'runtime_http_requests_total{{method="{method}",status="{status}"}} {count}'
        yield from _head("runtime_runs_total", "counter", "Runs that are over, by how they ended.")
        for (target, ended), count in sorted(self._runs.items()):
            yield f'runtime_runs_total{{target="{_label(target)}",status="{ended}"}} {count}'
        yield from _head("runtime_run_tokens_total", "counter", "Tokens of models, by agent.")
        for (target, kind), count in sorted(self._tokens.items()):
            yield f'runtime_run_tokens_total{{target="{_label(target)}",kind="{kind}"}} {count}'
        yield from _head("runtime_sets_applied_total", "counter", "Sets of manifests that took the place of another.")
        yield f"runtime_sets_applied_total {self._applied}"
        yield from _head("runtime_runs_running", "gauge", "Runs that are under way.")
        yield f"runtime_runs_running {self._admission.running}"
        yield from _head("runtime_runs_waiting", "gauge", "Runs that wait for a place.")
        yield f"runtime_runs_waiting {self._admission.waiting}"
        yield from _head("runtime_run_seconds", "histogram", "Seconds from asking to the end of a run.")
        for target, histogram in sorted(self._seconds.items()):
            yield from histogram.lines("runtime_run_seconds", f'target="{_label(target)}"')


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
