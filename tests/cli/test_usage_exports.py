"""Exports that can't be taken in, on the command line: one sentence, and nothing moves."""

from tests.cli.shell import Shell

HEAD = "id,task_id,model,amount,currency,created_at\n"
LINE = "chg_1,task_1,m,0.04,USD,2026-12-01T00:00:00Z\n"

BAD = {
    "empty.csv": (b"", "empty.csv is empty"),
    "latin.csv": ((HEAD + LINE.replace("task_1", "tâche")).encode("latin-1"), "latin.csv isn't UTF-8: byte "),
    "half.csv": ((HEAD + "chg_1,task_1\n").encode(), "half.csv, line 2: the line hasn't as many fields as the head"),
    "minus.csv": ((HEAD + LINE.replace("0.04", "-0.04")).encode(), "minus.csv, record 1: amount must be an amount"),
    "tiny.csv": ((HEAD + LINE.replace("0.04", "0.00000004")).encode(), "comes to whole millionths"),
    "word.csv": ((HEAD + LINE.replace("USD", "dollars")).encode(), "word.csv, record 1: the currency must be three"),
    "zone.csv": ((HEAD + LINE.replace("00Z", "00")).encode(), "created_at must be a moment with its zone"),
    "twice.csv": ((HEAD + LINE + LINE.replace("0.04", "0.05")).encode(), "twice.csv, record 2: chg_1 stands there"),
    "long.csv": ((HEAD + LINE.replace("task_1", "t" * 501)).encode(), "long.csv, record 1: task_id is longer than 500"),
    "nul.csv": ((HEAD + LINE.replace("task_1", "task\0")).encode(), "nul.csv, record 1: task_id holds NUL"),
    "head.csv": (LINE.encode(), "head.csv has no column id"),
    "pair.csv": ((HEAD.replace("model", "id") + LINE).encode(), "pair.csv has two columns id"),
    "late.csv": ((HEAD + LINE.replace("2026-", "9999-")).encode(), "late.csv, record 1: created_at must lie in"),
    "huge.csv": ((HEAD + LINE.replace("0.04", "9" * 16)).encode(), "huge.csv, record 1: amount must be an amount"),
    "wide.csv": (f"{HEAD}{LINE}".encode("utf-16"), "wide.csv isn't UTF-8: byte 1 "),
    "nan.json": (b'[{"id": "1", "task_id": "t", "model": "m", "amount": NaN}]', "nan.json, record 1: amount must"),
    "deep.json": (b"[" * 100_000, "deep.json can't be read as JSON"),
    "object.json": (b'{"charges": []}', "object.json holds no list of records"),
    "cut.json": (b'[{"id": "chg_1"', "cut.json can't be read as JSON"),
    "folder.csv": (None, "folder.csv can't be read"),
}


def test_what_is_no_export_is_one_sentence_and_moves_nothing(shell: Shell) -> None:
    for name, (data, _) in BAD.items():
        if data is None:
            (shell.folder / name).mkdir()
        else:
            (shell.folder / name).write_bytes(data)
    tries = shell.run_all([("reconcile", "import", name) for name in BAD])
    for ran, (_, words) in zip(tries, BAD.values(), strict=True):
        ran.refused(2, words)
    assert shell.run("reconcile", "list", "--json").out == ""


def test_a_byte_order_mark_is_no_part_of_the_first_column(shell: Shell) -> None:
    (shell.folder / "usage.csv").write_bytes(b"\xef\xbb\xbf" + (HEAD + LINE).encode())
    assert shell.json("reconcile", "import", "usage.csv")["records"] == 1
