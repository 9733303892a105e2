"""What of a provider's charges doesn't fit what is known of a request."""

import pytest

from onetake.domain.answers import Cost
from onetake.domain.billing import doubts
from onetake.domain.pricing import Worst

ORDERED = Worst(request_micros=100_000, requests=1, currency="USD")
UNPRICED = Worst(request_micros=0, requests=1, currency="")


@pytest.mark.parametrize(
    ("costs", "charged", "words"),
    [
        ([("USD", 100_000)], "yes", ""),
        ([("USD", 1)], "unknown", ""),
        ([("USD", 1)], "no", "charged all the same"),
        ([("USD", 100_001)], "yes", "charged more than the highest price that it was ordered at"),
        ([("EUR", 1)], "yes", "charged in another currency than USD"),
        ([("USD", 1), ("USD", 1)], "yes", "charged 2 times for one request"),
        (
            [("USD", 60_000), ("USD", 60_000)],
            "yes",
            "charged 2 times for one request, and charged more than the highest price that it was ordered at",
        ),
        (
            [("USD", 60_000), ("EUR", 60_000)],
            "yes",
            "charged 2 times for one request, and charged in another currency than USD",
        ),
    ],
)
def test_what_does_not_fit_is_named(costs: list[tuple[str, int]], charged: str, words: str) -> None:
    found = [Cost(micros=micros, currency=currency) for currency, micros in costs]
    assert doubts(found, ORDERED, currency="USD", charged=charged) == words


def test_what_was_ordered_without_a_price_is_never_too_dear() -> None:
    assert doubts([Cost(micros=10**12, currency="USD")], UNPRICED, currency="USD", charged="yes") == ""
