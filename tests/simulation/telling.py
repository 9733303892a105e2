"""One run as a story: what befell whom and when, and what the jobs' journals say of it."""

from collections.abc import Iterator

from onetake.domain.story import sentence
from tests.simulation.schedule import Schedule
from tests.simulation.world import START_US, journal, simulate


def tell(schedule: Schedule) -> Iterator[str]:
    """The run's lines, in the order of virtual time."""
    yield repr(schedule)
    result = simulate(schedule)
    happened = [(each.at_s, f"  !! {each.what} at: {each.place} {each.name}") for each in result.crossings if each.what]
    happened += [(float(each.nth), f"  !! {each.what}") for each in schedule.faults if each.where == "second"]
    happened += [
        (each.at_s, f"  !! {each.name} is dead; the job stands at {each.standing!r}") for each in result.deaths
    ]
    for line in journal():
        at_s = (line["at"] - START_US) / 1e6
        happened.append((at_s, f"{line['job_id'][-4:]} {line['actor'][-4:]:>4}  {sentence(line)}"))
    for at_s, what in sorted(happened, key=lambda each: each[0]):
        yield f"{at_s:10.3f}  {what}"
    yield f"{result.virtual_s:10.3f}  all has come to rest; the first job is {result.ending!r}; POSTs: {result.posts}"
    yield from (f"BROKEN: {violation}" for violation in result.violations)
