"""A layered layout (Sugiyama): layers from left to right, few crossings, each box near to what it is linked with.

Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System Structures", IEEE
Transactions on Systems, Man, and Cybernetics 11 (1981): layers by longest path, a stand-in wherever a link passes a
layer, order by barycentres.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence

from msgspec import Struct

from runtime.picture.contents import Box, Picture

HEIGHT = 60.0
_GAP, _PASS, _BETWEEN, _MARGIN = 18.0, 10.0, 72.0, 12.0
_NARROWEST, _WIDEST = 168.0, 300.0
_ROUNDS = 12


class Place(Struct, frozen=True):
    """Where a box stands: the corner at the top left, and its size."""

    x: float
    y: float
    width: float
    height: float = HEIGHT


class Route(Struct, frozen=True):
    """The points of a link from the right edge of its source to the left edge of its target."""

    points: Sequence[tuple[float, float]]


class Layout(Struct, frozen=True):
    """Places by box and routes by link, in the order of the picture."""

    width: float
    height: float
    places: Sequence[Place]
    routes: Sequence[Route]


def lay_out(picture: Picture) -> Layout:
    """Places for all boxes. What others refer to stands to the right of them; the picture has no circle."""
    depths = _find_depths(picture)
    points = [_Point(depth, HEIGHT) for depth in depths]
    chains = [list(_chain(points, link.source, link.target)) for link in picture.links]
    layers: list[list[_Point]] = [[] for _ in range(max(depths, default=-1) + 1)]
    for point in points:
        layers[point.depth].append(point)
    layers = _order(layers)
    _settle(layers)
    return _measure(picture, points, chains, layers)


class _Point:
    """A box, or the stand-in of a link in a layer that it passes."""

    def __init__(self, depth: int, height: float) -> None:
        self.depth = depth
        self.height = height
        self.before: list[_Point] = []
        self.after: list[_Point] = []
        self.place = 0
        self.middle = 0.0


def _find_depths(picture: Picture) -> list[int]:
    """The layer of each box: the longest way to it from one that nothing refers to."""
    targets: list[list[int]] = [[] for _ in picture.boxes]
    waiting = [0] * len(picture.boxes)
    for link in picture.links:
        targets[link.source].append(link.target)
        waiting[link.target] += 1
    depths = [0] * len(picture.boxes)
    free = [number for number, count in enumerate(waiting) if not count]
    for number in free:
        for target in targets[number]:
            depths[target] = max(depths[target], depths[number] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    return depths


def _chain(points: list[_Point], source: int, target: int) -> Iterator[_Point]:
    """The points of a link, joined to each other; stand-ins are added to `points`."""
    last = points[source]
    yield last
    for depth in range(last.depth + 1, points[target].depth):
        passing = _Point(depth, _PASS)
        points.append(passing)
        _join(last, passing)
        yield passing
        last = passing
    _join(last, points[target])
    yield points[target]


def _join(left: _Point, right: _Point) -> None:
    left.after.append(right)
    right.before.append(left)


def _order(layers: list[list[_Point]]) -> list[list[_Point]]:
    """The layers, each ordered by the middles of what its points are linked with, as long as that helps."""
    _number(layers)
    best, fewest = [list(layer) for layer in layers], _count_crossings(layers)
    for round_ in range(_ROUNDS):
        is_forward = round_ % 2 == 0
        for layer in layers if is_forward else reversed(layers):
            layer.sort(key=lambda point: _middle_place(point, point.before if is_forward else point.after))
            for place, point in enumerate(layer):
                point.place = place
        crossings = _count_crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    _number(best)
    return best


def _number(layers: list[list[_Point]]) -> None:
    for layer in layers:
        for place, point in enumerate(layer):
            point.place = place


def _middle_place(point: _Point, linked: list[_Point]) -> float:
    return sum(each.place for each in linked) / len(linked) if linked else point.place


def _count_crossings(layers: list[list[_Point]]) -> int:
    """Pairs of links between neighbouring layers that cross: inversions of their ends."""
    count = 0
    for layer in layers:
        ends: list[int] = []
        for point in layer:
            places = sorted(each.place for each in point.after)
            count += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return count


def _settle(layers: list[list[_Point]]) -> None:
    """Heights: each point as near to the middle of what it is linked with as its neighbours in the layer let it."""
    for layer in layers:
        top = 0.0
        for point in layer:
            point.middle = top + point.height / 2
            top += point.height + _GAP
    for round_ in range(_ROUNDS):
        is_forward = round_ % 2 == 0
        for layer in layers if is_forward else reversed(layers):
            _spread(layer, [_wanted(point, point.before if is_forward else point.after) for point in layer])


def _wanted(point: _Point, linked: list[_Point]) -> float:
    return sum(each.middle for each in linked) / len(linked) if linked else point.middle


def _spread(layer: list[_Point], wanted: list[float]) -> None:
    """The heights nearest to the wanted ones (least squares) that keep order and distance: pools of neighbours."""
    pools: list[tuple[float, int]] = []  # the height that a pool of points wants for its first one, and its size
    offsets, offset = [], 0.0
    for number, point in enumerate(layer):
        if number:
            offset += (layer[number - 1].height + point.height) / 2 + _GAP
        offsets.append(offset)
        pools.append((wanted[number] - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, few), (other, more) = pools[-2:]
            pools[-2:] = [((one * few + other * more) / (few + more), few + more)]
    firsts = [first for first, size in pools for _ in range(size)]
    for point, first, offset in zip(layer, firsts, offsets, strict=True):
        point.middle = first + offset


def _measure(picture: Picture, points: list[_Point], chains: list[list[_Point]], layers: list[list[_Point]]) -> Layout:
    widths = [_NARROWEST] * len(layers)
    for point, box in zip(points, picture.boxes, strict=False):
        widths[point.depth] = max(widths[point.depth], _find_width(box))
    lefts = [_MARGIN + sum(widths[:number]) + _BETWEEN * number for number in range(len(layers))]
    shift = _MARGIN - min((point.middle - point.height / 2 for point in points), default=0.0)
    for point in points:
        point.middle = float(round(point.middle + shift))
    places = [
        Place(lefts[point.depth], point.middle - HEIGHT / 2, widths[point.depth])
        for point in points[: len(picture.boxes)]
    ]
    routes = []
    for first, *passed, last in chains:
        route = [(lefts[first.depth] + widths[first.depth], first.middle)]
        for point in passed:
            left = lefts[point.depth]
            route += [(left, point.middle), (left + widths[point.depth], point.middle)]
        routes.append(Route([*route, (lefts[last.depth], last.middle)]))
    width = lefts[-1] + widths[-1] + _MARGIN if layers else 2 * _MARGIN
    bottom = max((point.middle + point.height / 2 for point in points), default=0.0)
    return Layout(width, bottom + _MARGIN, places, routes)


def _find_width(box: Box) -> float:
    """Wide enough for the text of a box, by the usual width of letters of its size."""
    return float(round(min(_WIDEST, max(len(box.name) * 8.2, len(box.kind) * 6.6) + 72)))
