"""What is left of a provider's sentence once the customer's own words are out of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from onetake.domain.quoting import plain, without_texts

PROMPT = ("A fox in the snow, " * 20).strip()
LINES = "A Fox,\n\n  in the\tsnow\u200bat Straße 5"


@pytest.mark.parametrize(
    ("message", "quiet"),
    [
        (f"refused: {PROMPT}.", "refused: (your text)."),
        (f"refused: {PROMPT[:200]}… twice: {PROMPT}", "refused: (your text)… twice: (your text)"),
        (f"refused: {PROMPT[:39]}", "refused: (your text)"),
        (f"refused: {PROMPT[:39]}…", f"refused: {PROMPT[:39]}…"),
        ("slow zoom, 16:9", "(your text), 16:9"),
        ("nothing of yours", "nothing of yours"),
        ("", ""),
    ],
)
def test_a_message_does_not_quote_what_the_customer_wrote(message: str, quiet: str) -> None:  # L12
    assert without_texts(message, [PROMPT, "slow zoom", "16:9", 5, None]) == quiet


@pytest.mark.parametrize(
    "quote",
    [
        LINES,
        LINES.upper(),
        LINES.lower(),
        plain(LINES),
        " ".join(LINES.split()),
        LINES.replace(" ", "\n \n"),
        "a fox, in the snow at strasse 5",
    ],
)
def test_a_quote_is_one_whatever_its_case_and_blanks(quote: str) -> None:
    assert without_texts(f"Refused:  {quote}; Try again", [LINES]) == "Refused:  (your text); Try again"


def test_a_quote_is_one_although_its_address_was_taken_out() -> None:
    text = "like https://a.example/b.png?sig=1 but in blue"
    assert without_texts(plain(f"no {text}!"), [text]) == "no (your text)!"


def test_blanks_alone_are_no_quote() -> None:
    assert without_texts("not  now,         please", [" " * 9]) == "not  now,         please"


def test_a_text_of_a_megabyte_is_no_work() -> None:
    assert without_texts("a " * 150 + "a", ["a " * 500_000]) == "(your text)"


@given(some.text(max_size=300), some.text(max_size=90))
@example("", "ßßßß ßßß")
@example("ﬁ", "fi fi fi fi")
def test_no_message_quotes_a_text_whole(message: str, text: str) -> None:
    wanted = _small(text)
    quiet = without_texts(f"{message}{text}{message}", [text])
    assert (
        len(wanted) < 8 or wanted in "(your text)" or all(wanted not in _small(x) for x in quiet.split("(your text)"))
    )


def _small(text: str) -> str:
    """The text without anything that says nothing."""
    return " ".join(plain(text).casefold().split())
