"""What a person may do in an account, by role. One table; an act that isn't in a role's row is refused."""

import enum

from onetake.domain.states import Role


class Act(enum.StrEnum):
    """What people do that is recorded under their name."""

    LOOK = "look"
    ORDER = "order"
    STEER = "steer"
    ATTACH = "attach"
    APPROVE = "approve"
    GRANT = "grant"
    CORRECT = "correct"
    BUDGET = "budget"
    RECONCILE = "reconcile"
    STOP = "stop"
    PEOPLE = "people"
    OWNERS = "owners"
    RECIPE = "recipe"
    ACCOUNT = "account"


_LOOK = frozenset({Act.LOOK})

MAY = {
    Role.OWNER: frozenset(Act),
    Role.OPERATOR: _LOOK | {Act.ORDER, Act.STEER, Act.ATTACH, Act.RECONCILE, Act.STOP, Act.RECIPE},
    Role.REVIEWER: _LOOK | {Act.APPROVE},
    Role.PUBLISHER: _LOOK,
    Role.ADMIN: _LOOK
    | {Act.GRANT, Act.CORRECT, Act.BUDGET, Act.RECONCILE, Act.STOP, Act.PEOPLE, Act.RECIPE, Act.ACCOUNT},
}
"""What each role may do. Owners may do all; else who keeps the books doesn't order, and the other way round."""

TOLD = {
    Act.LOOK: "look at it",
    Act.ORDER: "order",
    Act.STEER: "resume or cancel jobs",
    Act.ATTACH: "attach a provider's id",
    Act.APPROVE: "approve",
    Act.GRANT: "grant credits",
    Act.CORRECT: "correct what was captured",
    Act.BUDGET: "set budgets",
    Act.RECONCILE: "reconcile with a provider's records",
    Act.STOP: "stop or open sending",
    Act.PEOPLE: "change who may do what",
    Act.OWNERS: "make or unmake owners",
    Act.RECIPE: "bring in recipes that nobody ordered before",
    Act.ACCOUNT: "make or change accounts",
}
"""Each act in words, after "may"."""


def may(roles: frozenset[Role], act: Act) -> bool:
    """Whether one of the roles permits the act."""
    return any(act in MAY[role] for role in roles)
