"""What becomes of held credits when nothing was delivered, and what there is to ask about what the provider charged."""

from collections.abc import Sequence

from onetake.domain.answers import Cost
from onetake.domain.events import HoldEvent
from onetake.domain.pricing import Worst
from onetake.domain.recipe import Billing


def billing(rule: Billing, charged: str, *, was_accepted: bool) -> HoldEvent | None:
    """How the hold is closed; None: not yet, because nobody knows whether the provider charged.

    What the provider never accepted and doesn't charge is released whatever the rule.

    Args:
        rule: the recipe's.
        charged: what the provider does: yes, no or unknown.
        was_accepted: whether it took the request.
    """
    if not was_accepted and charged == "no":
        return HoldEvent.RELEASED
    by_charge = {"yes": HoldEvent.CAPTURED, "no": HoldEvent.RELEASED}.get(charged)
    return {"bill": HoldEvent.CAPTURED, "return": HoldEvent.RELEASED, "charged": by_charge}[rule]


def doubts(costs: Sequence[Cost], ordered: Worst, *, currency: str, charged: str) -> str:
    """What of the charges for one request doesn't fit what is known of it, in words; empty where all does.

    Args:
        costs: each charge.
        ordered: what the request may cost at worst.
        currency: in which it is counted; only charges in it add up.
        charged: whether it was known to be billed: yes, no or unknown.
    """
    own = [cost.micros for cost in costs if cost.currency == currency]
    found = {
        "charged all the same": charged == "no",
        f"charged {len(costs)} times for one request": len(costs) > 1,
        f"charged in another currency than {currency}": len(own) < len(costs),
        "charged more than the highest price that it was ordered at": ordered.currency == currency
        and sum(own) > ordered.request_micros,
    }
    return ", and ".join(doubt for doubt, is_so in found.items() if is_so)
