"""The layout of pictures: whatever the links, boxes stand apart and links lead to the right."""

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.picture.contents import Box, Link, Picture
from runtime.picture.layers import HEIGHT, Layout, Place, lay_out


def make(count: int, *pairs: tuple[int, int]) -> Picture:
    boxes = [Box(f"Box{number}", "Some.Kind", "other") for number in range(count)]
    return Picture(boxes, [Link(source, target, "field") for source, target in pairs])


def overlap(one: Place, other: Place) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + HEIGHT
        and other.y < one.y + HEIGHT
    )


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    count = draw(st.integers(0, 14))
    pairs = [(source, target) for source in range(count) for target in range(source + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=24, unique=True)) if pairs else []
    return make(count, *chosen)


@settings(max_examples=150, deadline=None)
@given(pictures())
def test_boxes_stand_apart_and_inside_and_links_lead_to_the_right(picture: Picture) -> None:
    layout = lay_out(picture)

    places = layout.places
    apart = [(a, b) for a in range(len(places)) for b in range(a) if overlap(places[a], places[b])]
    outside = [
        place
        for place in places
        if place.x < 0 or place.y < 0 or place.x + place.width > layout.width or place.y + HEIGHT > layout.height
    ]
    assert (apart, outside) == ([], [])
    for link, route in zip(picture.links, layout.routes, strict=True):
        source, target = places[link.source], places[link.target]
        assert route.points[0] == (source.x + source.width, source.y + HEIGHT / 2)
        assert route.points[-1] == (target.x, target.y + HEIGHT / 2)
        xs = [x for x, _ in route.points]
        assert xs == sorted(xs) and route.points[0][0] < route.points[-1][0]


def crossings(picture: Picture, layout: Layout) -> int:
    ends = [(layout.places[link.source].y, layout.places[link.target].y) for link in picture.links]
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for number, a in enumerate(ends) for b in ends[:number])


def test_links_that_can_be_drawn_without_a_crossing_are() -> None:
    picture = make(8, (0, 7), (1, 6), (2, 5), (3, 4))

    assert crossings(picture, lay_out(picture)) == 0


def test_a_box_stands_at_the_height_of_the_middle_of_what_it_refers_to() -> None:
    layout = lay_out(make(4, (0, 1), (0, 2), (0, 3)))

    assert layout.places[0].y == layout.places[2].y


def test_a_box_that_others_refer_to_over_several_layers_stands_behind_all_of_them() -> None:
    layout = lay_out(make(4, (0, 1), (1, 2), (0, 3), (2, 3)))

    assert [place.x for place in layout.places] == sorted({place.x for place in layout.places})
