"""Which fault strikes when: scripts first, then the seed; never the timing."""

import pytest

from onetake.sandbox import FAULTS, SandboxOptions, Span
from onetake.sandbox.__main__ import parse
from onetake.sandbox.faults import FaultPlan, Occasion, Script, Stage
from tests.sandbox.client import Client, sandboxed

RATES = {"accept_then_drop": 0.2, "refuse_429": 0.2, "refuse_5xx": 0.2}


def occasion(number: int, attempt: int = 1) -> Occasion:
    return Occasion(prompt=f"prompt {number}", kind="image", attempt=attempt)


def struck(seed: str, order: list[int]) -> dict[int, str | None]:
    plan = FaultPlan(seed=seed, rates=RATES)
    faults = {number: plan.strike(Stage.SUBMIT, occasion(number)) for number in order}
    return {number: fault.name if fault else None for number, fault in faults.items()}


def test_the_order_of_calls_changes_nothing_and_the_seed_everything() -> None:
    forwards, backwards = struck("1", list(range(200))), struck("1", list(range(199, -1, -1)))
    assert forwards == backwards
    assert forwards != struck("2", list(range(200)))
    assert set(forwards.values()) == {None, *RATES}
    share = sum(name is not None for name in forwards.values()) / 200
    assert 0.35 < share < 0.62  # 1 - 0.8 cubed is 0.488; four standard deviations of 200 draws


def test_another_attempt_is_another_draw() -> None:
    plan = FaultPlan(seed="1", rates={"refuse_5xx": 0.5})
    outcomes = {plan.strike(Stage.SUBMIT, occasion(1, attempt)) is None for attempt in range(1, 30)}
    assert outcomes == {True, False}


def test_scripts_come_first_and_are_used_up() -> None:
    plan = FaultPlan(seed="1", rates={"refuse_5xx": 1.0}, scripts=[Script(fault="refuse_402", times=2)])
    names = [fault.name for _ in range(3) if (fault := plan.strike(Stage.SUBMIT, occasion(1)))]
    assert names == ["refuse_402", "refuse_402", "refuse_5xx"]
    assert plan.scripts == []


async def test_a_script_chooses_its_route_and_its_prompts(client: Client) -> None:
    client.sandbox.script("refuse_4xx", route="video")
    client.sandbox.script("refuse_402", prompt_contains="dog")
    still = await client.image()
    assert (await client.order_image(prompt="a dog")).status == 402
    assert (await client.order_video(still["output"]["image_urls"][0])).status == 400
    assert (await client.order_image(prompt="a dog")).status == 200


async def test_a_script_for_polls_can_choose_the_kind_of_task(client: Client) -> None:
    client.sandbox.script("poll_5xx", route="video")
    client.sandbox.script("poll_404", route="poll", prompt_contains="nobody asked for this")
    task = await client.image()
    clip = await client.finished(await client.order_video(task["output"]["image_urls"][0]))
    assert clip["error"]["code"] == "unavailable"


async def test_scripts_are_set_shown_and_cleared_over_http(client: Client) -> None:
    script = {"fault": "poll_5xx", "route": "poll", "times": 2, "prompt_contains": "fox"}
    assert (await client.send("POST", "/_faults", json=script)).said == script
    shown = (await client.send("GET", "/_faults")).said
    assert shown is not None
    assert shown["scripts"] == [script]
    assert shown["faults"]["poll_5xx"] == {"stage": "poll", "doc": FAULTS["poll_5xx"].doc}
    assert (await client.send("DELETE", "/_faults")).status == 204
    assert (await client.image())["status"] == "completed"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"fault": "no_such_thing"}',
        b'{"fault": 7}',
        b'{"fault": "poll_5xx", "route": "audio"}',
        b'{"fault": "poll_5xx", "times": 0}',
        b'{"fault": "poll_5xx", "times": true}',
        b'{"fault": "poll_5xx", "when": "now"}',
    ],
)
async def test_a_bad_script_is_refused(client: Client, body: bytes) -> None:
    answer = await client.send("POST", "/_faults", data=body)
    assert (answer.status, (answer.said or {})["error"]["code"]) == (400, "bad_script")


@pytest.mark.parametrize("rates", [{"no_such_fault": 0.1}, {"poll_5xx": 1.1}, {"poll_5xx": -0.1}])
def test_rates_that_mean_nothing_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"fault|rate"):
        SandboxOptions(rates=rates)


def test_waits_are_drawn_from_their_span() -> None:
    span = Span.parse("2:6")
    assert (span.at(0.0), span.at(0.5), span.at(1.0)) == (2.0, 4.0, 6.0)
    assert Span.parse("3") == Span(low_s=3.0, high_s=3.0)


@pytest.mark.parametrize("text", ["6:2", "-1", "soon", "", "nan"])
def test_a_span_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|LO:HI"):
        Span.parse(text)


def test_the_command_line_says_everything_that_the_options_can() -> None:
    line = "--port 0 --seed 7 --key a --key b --queue-s 1:2 --render-s 3 --fault poll_5xx=0.25 --tiny --says-queued"
    options = parse(line.split())
    assert (options.seed, options.keys, options.tiny, options.says_queued) == ("7", ("a", "b"), True, True)
    assert (options.queue_s, options.render_s) == (Span.parse("1:2"), Span.parse("3"))
    assert options.rates == {"poll_5xx": 0.25}


@pytest.mark.parametrize("line", ["--fault nothing=1", "--fault poll_5xx", "--queue-s 5:1", "--fault poll_5xx=7"])
def test_a_command_line_that_makes_no_sense_ends_with_a_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(line.split())
    assert "error:" in capsys.readouterr().err


def test_the_help_names_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse(["--help"])
    shown = capsys.readouterr().out
    assert all(f"  {fault.name} " in shown and fault.doc in shown for fault in FAULTS.values())


async def test_two_clients_that_behave_alike_meet_the_same_faults() -> None:
    seen = []
    for _ in range(2):
        async with sandboxed(SandboxOptions(tiny=True, rates={"refuse_5xx": 0.3, "refuse_4xx": 0.3})) as client:
            seen.append([(await client.order_image(prompt=f"prompt {n % 9}")).status for n in range(30)])
    assert seen[0] == seen[1]
    assert set(seen[0]) == {200, 400, 503}
