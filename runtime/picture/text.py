"""A picture as text for other programs to draw: Mermaid and DOT."""

from runtime.picture.contents import Picture

_SHAPES = {"agent": ("([", "])"), "model": ("{{", "}}"), "server": ("[[", "]]")}


def as_mermaid(picture: Picture) -> str:
    """A flowchart (https://mermaid.js.org/syntax/flowchart.html): agents are stadiums, models hexagons, clients
    subroutines, everything else boxes."""
    lines = ["flowchart LR"]
    for number, box in enumerate(picture.boxes):
        left, right = _SHAPES.get(box.role, ("[", "]"))
        lines.append(f'  r{number}{left}"{_mermaid(box.name)}<br>{_mermaid(box.kind)}"{right}')
    for link in picture.links:
        lines.append(f'  r{link.source} -->|"{_mermaid(link.label)}"| r{link.target}')
    return "\n".join(lines) + "\n"


def as_dot(picture: Picture) -> str:
    """A digraph of Graphviz (https://graphviz.org/doc/info/lang.html)."""
    shapes = {"agent": "Mrecord", "model": "hexagon", "server": "component"}
    lines = ["digraph manifest {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for number, box in enumerate(picture.boxes):
        shape = f", shape={shapes[box.role]}" if box.role in shapes else ""
        lines.append(f'  r{number} [label="{_dot(box.name)}\\n{_dot(box.kind)}"{shape}];')
    for link in picture.links:
        lines.append(f'  r{link.source} -> r{link.target} [label="{_dot(link.label)}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid(text: str) -> str:
    """Text inside quotes, where Mermaid takes HTML and entities of its own."""
    return "".join(
        character if character.isalnum() or character in " _.-/" else f"#{ord(character)};" for character in text
    )


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
