"""What a provider says, made fit to be kept and shown: printable, without addresses, without the customer's words."""

import itertools
import re
from collections.abc import Iterable

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_TEXT_CHARS_MIN = 8  # shorter inputs are choices and names, which every message holds by chance
_QUOTE_CHARS = 60  # a long prompt is quoted by its beginning


def plain(text: str) -> str:
    """The text without addresses and without what can't be printed.

    NUL, control characters and lone surrogates can't be stored or shown everywhere. Looking for addresses takes time
    by the square of the text's length: shorten it first.
    """
    return _ADDRESS.sub("(address)", "".join(each if each.isprintable() else " " for each in text))


def without_texts(message: str, texts: Iterable[object]) -> str:
    """The message without what the customer wrote: a refusal may quote the prompt, an error may not show it.

    A quote is one whatever its case, its blanks and line breaks, as they change on the way through a provider.
    """
    message = plain(message)
    for text in texts:
        if isinstance(text, str):
            # Cut for speed to more than a message can quote: one character may stand for three small ones.
            quoted, _ = _folded(plain(" ".join(text.split())[: 3 * len(message)]))
            if len(quoted) >= _TEXT_CHARS_MIN:
                message = _without(message, quoted)
    return message


def _without(message: str, quoted: str) -> str:
    """The message without the text, whole or by its beginning, as a long one is quoted or a shortened message ends."""
    folded, places = _folded(message)
    for start in range(len(folded) - _TEXT_CHARS_MIN + 1):
        rest = folded[start:]
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(rest, quoted, strict=False)))
        if shared >= min(len(quoted), _QUOTE_CHARS) or shared == len(rest):
            before, after = message[: places[start]], message[places[start + shared - 1] + 1 :]
            return f"{before}(your text){_without(after, quoted)}"
    return message


def _folded(text: str) -> tuple[str, list[int]]:
    """The text as texts are compared, in small letters and with single blanks; and where each character comes from."""
    small = [(each, place) for place, char in enumerate(text) for each in (" " if char.isspace() else char.casefold())]
    kept = [pair for last, pair in itertools.pairwise([(" ", 0), *small]) if (last[0], pair[0]) != (" ", " ")]
    while kept and kept[-1][0] == " ":
        kept.pop()
    return "".join(each for each, _ in kept), [place for _, place in kept]
