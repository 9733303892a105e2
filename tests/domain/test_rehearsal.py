"""The judge of a rehearsal: a clean run is four times yes, and every way to be broken is a no where it belongs."""

from dataclasses import replace
from typing import Any

import pytest

from onetake.domain.fixture import Part
from onetake.domain.rehearsal import KILLED, Crash, Evidence, Kept, Ordered, Sold, judge

S = 1_000_000
STILL_SHA, CLIP_SHA = "a" * 64, "b" * 64
STILL = Ordered(part=Part(step="draw", output="still", input="prompt"), model="painter", prompt="A fox")
CLIP = Ordered(part=Part(step="move", output="clip", input="motion"), model="mover", prompt="It turns")
BOUGHT_STILL = Sold(id="t1", model="painter", prompt="A fox", accepted_us=1 * S, first_frame="")
BOUGHT_CLIP = Sold(id="t2", model="mover", prompt="It turns", accepted_us=6 * S, first_frame=STILL_SHA)
CRASHES = (
    Crash(step="draw", ref="t1", state="processing", exit_code=KILLED, sold=(BOUGHT_STILL,)),
    Crash(step="move", ref="t2", state="processing", exit_code=KILLED, sold=(BOUGHT_STILL, BOUGHT_CLIP)),
)
KEPT_STILL = Kept(step="draw", output="still", kind="image", digest=STILL_SHA, stored=STILL_SHA)
KEPT_CLIP = Kept(step="move", output="clip", kind="video", digest=CLIP_SHA, stored=CLIP_SHA)
JOURNAL: tuple[dict[str, Any], ...] = tuple(
    {"seq": seq, "at": at, "event": event, "step": step}
    for seq, (at, event, step) in enumerate(
        [
            (0, "job.created", ""),
            (1 * S, "attempt.submitting", "draw"),
            (4 * S, "attempt.finished", "draw"),
            (5 * S, "step.complete", "draw"),
            (5 * S + 700, "attempt.submitting", "move"),
        ],
        start=1,
    )
)
CLEAN = Evidence(
    still=STILL,
    clip=CLIP,
    approved=STILL_SHA,
    crashes=CRASHES,
    bill=(BOUGHT_STILL, BOUGHT_CLIP),
    refused=0,
    refs={"draw": "t1", "move": "t2"},
    posts={"draw": 1, "move": 1},
    journal=JOURNAL,
    state="complete",
    kept=(KEPT_STILL, KEPT_CLIP),
    manifest=(CLIP_SHA,),
)
AGAIN = replace(BOUGHT_STILL, id="t9")


def answers(evidence: Evidence) -> list[bool]:
    return [answer.is_yes for answer in judge(evidence)]


def test_a_clean_run_is_four_times_yes() -> None:
    assert answers(CLEAN) == [True] * 4
    assert [answer.question for answer in judge(CLEAN)] == [
        "Was one image task created?",
        "Did video wait for it?",
        "Did the restart reuse both ids?",
        "Was one final video recorded?",
    ]
    assert all(finding.says for answer in judge(CLEAN) for finding in answer.findings)


def test_a_clip_accepted_within_the_commits_millisecond_is_not_early() -> None:
    """The bill counts whole milliseconds, the journal microseconds."""
    journal = tuple({**line, "at": line["at"] + 700} for line in JOURNAL)
    assert (
        answers(replace(CLEAN, journal=journal, bill=(BOUGHT_STILL, replace(BOUGHT_CLIP, accepted_us=5 * S))))
        == [True] * 4
    )


@pytest.mark.parametrize(
    ("doctored", "broken"),
    [
        # a second still was bought, or the first was sent twice
        ({"bill": (BOUGHT_STILL, AGAIN, BOUGHT_CLIP)}, {0, 2}),
        ({"bill": (BOUGHT_CLIP,)}, {0, 2}),
        ({"posts": {"draw": 2, "move": 1}}, {0, 2}),
        ({"posts": {}}, {0, 2}),
        ({"bill": (BOUGHT_STILL, BOUGHT_CLIP, replace(BOUGHT_CLIP, id="t9"))}, {2}),
        ({"refused": 1}, {2}),
        # the clip was ordered too early, without the still, or with another one
        ({"crashes": (replace(CRASHES[0], sold=(BOUGHT_STILL, BOUGHT_CLIP)), CRASHES[1])}, {1}),
        ({"bill": (BOUGHT_STILL, replace(BOUGHT_CLIP, accepted_us=4 * S))}, {1}),
        ({"bill": (BOUGHT_STILL, replace(BOUGHT_CLIP, first_frame="c" * 64))}, {1}),
        ({"bill": (BOUGHT_STILL,)}, {1, 2}),
        ({"journal": tuple(line for line in JOURNAL if line["event"] != "attempt.finished")}, {1}),
        ({"journal": tuple(line for line in JOURNAL if line["event"] != "step.complete")}, {1}),
        ({"journal": JOURNAL[:-1]}, {1}),
        ({"journal": (*JOURNAL[:3], JOURNAL[4], {**JOURNAL[3], "at": 7 * S})}, {1}),
        ({"journal": ()}, {1}),
        # an id was lost or replaced, or nothing was proved because nobody died in time
        ({"refs": {"draw": "t9", "move": "t2"}}, {2}),
        ({"refs": {"draw": "t1"}}, {2}),
        ({"crashes": (CRASHES[0], replace(CRASHES[1], ref=None, state="submitting"))}, {2}),
        ({"crashes": (replace(CRASHES[0], state="delivered"), CRASHES[1])}, {2}),
        ({"crashes": (replace(CRASHES[0], exit_code=0), CRASHES[1])}, {2}),
        ({"crashes": CRASHES[1:]}, {1, 2}),
        # the clip isn't there, isn't whole, or isn't the only one
        ({"state": "failed"}, {3}),
        ({"kept": (KEPT_STILL, replace(KEPT_CLIP, digest=None, stored=None))}, {3}),
        ({"kept": (KEPT_STILL, replace(KEPT_CLIP, stored=None))}, {3}),
        ({"kept": (KEPT_STILL, replace(KEPT_CLIP, stored="c" * 64))}, {3}),
        ({"kept": (KEPT_STILL, KEPT_CLIP, replace(KEPT_CLIP, output="second"))}, {3}),
        ({"kept": (KEPT_STILL,), "manifest": ()}, {3}),
        ({"kept": (replace(KEPT_STILL, digest="c" * 64), KEPT_CLIP)}, {3}),
        ({"manifest": None}, {3}),
        ({"manifest": (CLIP_SHA, CLIP_SHA)}, {3}),
        ({"manifest": ("c" * 64,)}, {3}),
    ],
)
def test_every_way_to_be_broken_is_a_no(doctored: dict[str, Any], broken: set[int]) -> None:
    found = answers(replace(CLEAN, **doctored))
    assert {place for place, is_yes in enumerate(found) if not is_yes} == broken
