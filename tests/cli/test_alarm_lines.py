"""Many alarms don't push what was asked for off the screen."""

from onetake.cli.jobs import ALARMS_TOLD_MAX, alarm_lines


def test_the_oldest_are_told_one_by_one_and_the_rest_are_counted_by_kind() -> None:
    kinds = ["deadline"] * (ALARMS_TOLD_MAX + 2) + ["storage"]
    standing = [
        {"kind": kind, "since": 1_796_083_200_000_000, "job_id": f"job_{n}", "subject": "", "detail": "late"}
        for n, kind in enumerate(kinds)
    ]
    lines = list(alarm_lines(standing))
    assert len(lines) == ALARMS_TOLD_MAX + 2
    assert lines[0].startswith("alarm  deadline  since 2026-12-01 00:00:00 UTC  job_0: late")
    assert lines[-2:] == [
        "alarm  deadline  2 more; `onetake doctor` lists them all",
        "alarm  storage  1 more; `onetake doctor` lists them all",
    ]
