"""docs/reference/kill-points.md, by really dying at every point of a simulated chain."""

from tests.simulation.kill_points import KillPoint, kill_points
from tools.page import publish

INTRODUCTION = """\
# Kill points

<!-- written by tools/docs/kill_points.py -->

What if the process dies exactly here? This table is not written by hand: the [simulator](simulation.md) runs a chain
of two paid steps once, notes every commit and every request that it makes, and then runs it again for each of them
with a kill -9 in that very place. A worker is started again ten seconds later; where the outcome of a POST can't be
known, a person attaches what the provider's dashboard shows, if it shows anything.

**Before** means that nothing of it happened. **After** means that all of it happened and the process died with the
answer. Paid POSTs are counted at the provider, for the still and for the clip, when everything has come to rest: never
more than one each. A 0 is a request that was announced and never sent; nobody can know that from outside, so it is not
sent again, its money stays held, and it waits with an open case.
"""

PLACES = {
    "commit accept": "the order is written",
    "commit insert": "the worker registers",
    "get models": "the provider is asked for its models",
    "commit _keep": "the list of models is kept",
    "commit claim": "the intent is written, with the exact bytes",
    "post image": "the paid POST",
    "post video": "the paid POST",
    "commit record_outcome": "the provider's id is saved",
    "poll image": "the provider is asked about the id",
    "poll video": "the provider is asked about the id",
    "commit record_finished": "the outputs' addresses are saved",
    "download": "an output is downloaded",
    "decode": "it is decoded and measured",
    "keep": "it is stored under its digest",
    "commit record_delivered": "the output is filled, its hold captured, the next gate opened",
}
"""Every place of a chain in words; a new one without words fails here."""

MOMENTS = {"crash_before": "before", "crash_after": "after", "crash_answered": "after, with the answer in hand"}
IN_AIR = "after, before the answer"

SEQUELS = {
    "job.created": "the order is made, under its key",
    "attempt.submitting": "it is claimed and sent",
    "attempt.finished": "the saved id is polled",
    "attempt.delivered": "the saved addresses are fetched again",
}
"""By the first event after the death."""

UNKNOWN = "the submit's lease runs out; unknown, a case is opened; "


def moment(point: KillPoint) -> str:
    """When exactly it died."""
    is_in_air = point.where.startswith("post") and point.what == "crash_after"
    return IN_AIR if is_in_air else MOMENTS[point.what]


def sequel(point: KillPoint) -> str:
    """What happened next."""
    if not point.sequel:
        return "nothing is left to do"
    if point.sequel[0] == "attempt.unknown":
        found = "attempt.accepted" in point.sequel
        return UNKNOWN + ("a person attaches the id" if found else "the dashboard shows nothing, so it stays")
    return SEQUELS[point.sequel[0]]


def row(point: KillPoint) -> str:
    """The point as a line of the table."""
    if point.violations:
        raise AssertionError(f"{point.where}, {point.what}: {point.violations}")
    standing = f"`{point.standing}`" if point.standing else "no job yet"
    posts = " + ".join(str(count) for count in point.posts)
    found = (point.step or "order", PLACES[point.where], moment(point), standing)
    return f"| {' | '.join((*found, sequel(point), posts, f'`{point.ending}`'))} |"


COLUMNS = ("step", "dies when", "moment", "state found", "what comes next", "paid POSTs", "ends as")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"

publish("kill-points.md", "\n".join([INTRODUCTION, HEAD, *map(row, kill_points())]) + "\n")
