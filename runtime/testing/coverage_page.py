"""Coverage as a page of HTML that stands by itself."""

from collections.abc import Iterator, Sequence
from html import escape

from runtime.testing.coverage import AgentUse, Coverage, count

_HEAD = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Coverage of the cases</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #ccc; }
.no { background: #fde8e8; } .yes { background: #e6f4ea; }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #eee; } .no { background: #4a1c1c; } .yes { background: #173d22; }
}
</style>
"""


def coverage_page(coverages: Sequence[Coverage]) -> str:
    """Agents with their tools, then providers, of each set; what no case used is marked in words and colour."""
    return _HEAD + "".join(line + "\n" for coverage in coverages for line in _lines(coverage)) + "</html>\n"


def _lines(coverage: Coverage) -> Iterator[str]:
    totals = count(coverage)
    parts = (("agents", totals.agents), ("providers", totals.providers), ("offered tools", totals.tools))
    yield "<h1>Coverage of the cases</h1>"
    yield f"<p>{', '.join(f'{some} of {every} {what}' for what, (some, every) in parts)}</p>"
    for agent in coverage.agents:
        yield from _agent_lines(agent)
    yield "<h2>Providers</h2>"
    yield "<table><tr><th>provider</th><th>used</th></tr>"
    yield from (_row(is_used, name) for name, is_used in coverage.providers.items())
    yield "</table>"


def _agent_lines(agent: AgentUse) -> Iterator[str]:
    yield f"<h2>{escape(agent.name)}</h2>"
    if not agent.is_run:
        yield '<p class="no">Run by no case.</p>'
        return
    yield "<table><tr><th>tool</th><th>provider</th><th>called</th></tr>"
    yield from (_row(tool.is_called, tool.name, tool.provider) for tool in agent.tools)
    yield "</table>"


def _row(is_used: bool, *cells: str) -> str:
    word = "yes" if is_used else "no"
    return f'<tr class="{word}">{"".join(f"<td>{escape(cell)}</td>" for cell in (*cells, word))}</tr>'
