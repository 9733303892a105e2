"""What becomes of held credits when nothing was delivered: the recipe's rule and what the provider charged decide."""

from onetake.domain.events import HoldEvent
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
