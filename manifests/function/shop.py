"""What the agent of `function.yaml` can ask."""

PRICES = {"green": 2.5, "black": 2}


def find_price(tea: str, cups: int = 1) -> dict[str, object]:
    return {"tea": tea, "cups": cups, "total": PRICES[tea] * cups}
