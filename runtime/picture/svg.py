"""A picture as SVG: for a file, with its own style, or for the page, which has it."""

from collections.abc import Sequence
from importlib.resources import files
from xml.etree import ElementTree

from runtime.picture.contents import Box, Picture
from runtime.picture.layers import Layout, Place, lay_out

NAMESPACE = "http://www.w3.org/2000/svg"
_SIGNS = {
    "agent": "M2 4h12v8H7l-3 3v-3H2z M6 8h.01 M10 8h.01",
    "model": "M8 1.5l1.7 4.8 4.8 1.7-4.8 1.7L8 14.5l-1.7-4.8L1.5 8l4.8-1.7z",
    "tools": "M10.5 2a3.5 3.5 0 0 0-3.3 4.7L2 12l2 2 5.3-5.2A3.5 3.5 0 0 0 14 5.5L11.8 7.5 9 4.7 11 2z",
    "server": "M2 2.5h12v4.5H2z M2 9h12v4.5H2z M4.5 4.7h.01 M4.5 11.2h.01",
    "other": "M8 1.5l6 3.3v6.4l-6 3.3-6-3.3V4.8z",
}
_STATES = {
    "ready": "M1 6l3.5 3.5L11 2.5",
    "degraded": "M6 1v6 M6 10.5v.01",
    "failed": "M2 2l8 8 M10 2l-8 8",
    "starting": "M6 1a5 5 0 1 0 5 5",
}
_LETTERS = 8.2, 6.6  # how wide a letter of a name, and of a kind, usually is
_TEXT_LEFT, _TEXT_RIGHT = 44, 14


def as_svg(picture: Picture) -> str:
    """A file of its own: text, style, light and dark, title and description for those who do not see it."""
    root = draw(picture)
    root.set("role", "img")
    root.set("aria-labelledby", "title desc")
    title, desc = ElementTree.Element("title", id="title"), ElementTree.Element("desc", id="desc")
    title.text = f"{len(picture.boxes)} resources and how they refer to each other"
    desc.text = describe(picture)
    style = ElementTree.Element("style")
    style.text = read_style()
    root[:0] = [title, desc, style]
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def read_style() -> str:
    """The style of pictures, which stands in SVG files and in the page."""
    return files("runtime.picture").joinpath("picture.css").read_text(encoding="utf-8")


def describe(picture: Picture) -> str:
    """The picture in words: each resource, and what it refers to."""
    needs: dict[int, list[str]] = {}
    for link in picture.links:
        needs.setdefault(link.source, []).append(picture.boxes[link.target].name)
    parts = []
    for number, box in enumerate(picture.boxes):
        state = f", {box.status}" if box.status else ""
        refers = f", refers to {', '.join(dict.fromkeys(needs[number]))}" if number in needs else ""
        parts.append(f"{box.name} ({box.kind}{state}{refers})")
    return "; ".join(parts) or "nothing"


def draw(picture: Picture, *, links_to: str = "") -> ElementTree.Element:
    """The drawing alone; with `links_to` each box is a link to that address with the box's number after it."""
    layout = lay_out(picture)
    width, height = f"{layout.width:g}", f"{layout.height:g}"
    root = ElementTree.Element(
        "svg", {"xmlns": NAMESPACE, "width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    )
    root.set("class", "picture")
    root.append(_arrow())
    wires = ElementTree.SubElement(root, "g", {"aria-hidden": "true"})
    for number, link in enumerate(picture.links):
        wire = ElementTree.SubElement(wires, "path", {"d": _curve(layout, number), "marker-end": "url(#tip)"})
        wire.set("class", f"link {picture.boxes[link.target].status}".rstrip())
        ElementTree.SubElement(wire, "title").text = link.label
    for number, (box, place) in enumerate(zip(picture.boxes, layout.places, strict=True)):
        root.append(_draw_box(box, place, f"{links_to}{number}" if links_to else ""))
    return root


def _arrow() -> ElementTree.Element:
    definitions = ElementTree.Element("defs")
    size = {"viewBox": "0 0 8 8", "refX": "7.5", "refY": "4", "markerWidth": "7", "markerHeight": "7"}
    marker = ElementTree.SubElement(definitions, "marker", {"id": "tip", "orient": "auto", **size})
    ElementTree.SubElement(marker, "path", {"d": "M0 0.5L8 4 0 7.5z", "class": "tip"})
    return definitions


def _curve(layout: Layout, number: int) -> str:
    points = layout.routes[number].points
    pieces = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for place in range(1, len(points)):
        (x, y), (u, v) = points[place - 1], points[place]
        if place % 2:  # between two layers; the others go through one
            bend = (u - x) / 2
            pieces.append(f"C{x + bend:g} {y:g} {u - bend:g} {v:g} {u:g} {v:g}")
        else:
            pieces.append(f"L{u:g} {v:g}")
    return "".join(pieces)


def _draw_box(box: Box, place: Place, link: str) -> ElementTree.Element:
    group = ElementTree.Element("a" if link else "g", {"transform": f"translate({place.x:g} {place.y:g})"})
    group.set("class", f"box {box.role} {box.status}".rstrip())
    told = f"{box.name}, {box.kind}" + (f", {box.status}" if box.status else "")
    if link:
        group.set("href", link)
        group.set("aria-label", told)
    ElementTree.SubElement(group, "title").text = told + (f": {box.note}" if box.note else "")
    size = {"width": f"{place.width:g}", "height": f"{place.height:g}"}
    ElementTree.SubElement(group, "rect", {"class": "card", "rx": "10", **size})
    ElementTree.SubElement(group, "path", {"class": "sign", "d": _SIGNS[box.role], "transform": "translate(15 22)"})
    room = place.width - _TEXT_LEFT - _TEXT_RIGHT - (12 if box.status else 0)
    lines: Sequence[tuple[str, str, int]] = (("name", box.name, 27), ("kind", box.kind, 45))
    for (word, text, y), letter in zip(lines, _LETTERS, strict=True):
        shown = ElementTree.SubElement(group, "text", {"class": word, "x": str(_TEXT_LEFT), "y": str(y)})
        shown.text = text if len(text) * letter <= room + 12 else text[: int(room / letter) - 1] + "…"
        shown.tail = " "  # for those who read it aloud, the name and the kind are two words
    if box.status:
        at = f"translate({place.width - 25:g} 12)"
        ElementTree.SubElement(group, "path", {"class": "state", "d": _STATES[box.status], "transform": at})
    return group
