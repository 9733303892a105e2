"""What there is to ask about charges: currencies never add up, and the highest price is no surprise."""

import pytest

from onetake.domain.answers import Cost
from onetake.domain.billing import doubts
from onetake.domain.pricing import Worst

ORDERED = Worst(request_micros=100, requests=2, currency="USD")
UNPRICED = Worst(request_micros=0, requests=1, currency="")
DEARER = "charged more than the highest price that it was ordered at"
TWICE = "charged 2 times for one request"


def usd(*amounts: int) -> list[Cost]:
    return [Cost(micros=micros, currency="USD") for micros in amounts]


EURO = Cost(micros=1000, currency="EUR")


@pytest.mark.parametrize(
    ("costs", "ordered", "charged", "reason"),
    [
        (usd(100), ORDERED, "yes", ""),
        (usd(100), ORDERED, "unknown", ""),
        (usd(100), ORDERED, "no", "charged all the same"),
        (usd(101), ORDERED, "yes", DEARER),
        (usd(50, 50), ORDERED, "yes", TWICE),
        (usd(50, 51), ORDERED, "yes", f"{TWICE}, and {DEARER}"),
        ([EURO], ORDERED, "yes", "charged in another currency than USD"),
        ([*usd(100), EURO], ORDERED, "yes", f"{TWICE}, and charged in another currency than USD"),
        (usd(10**9), UNPRICED, "unknown", ""),
    ],
)
def test_what_does_not_fit_is_said(costs: list[Cost], ordered: Worst, charged: str, reason: str) -> None:
    assert doubts(costs, ordered, currency="USD", charged=charged) == reason
