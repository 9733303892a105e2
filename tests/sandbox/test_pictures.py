"""Pictures: every prompt is set and shown, no two are alike, and the same asking gives the same bytes."""

import io

import pytest
from PIL import Image, ImageChops, ImageStat

from onetake.sandbox import captions, letters
from onetake.sandbox.pictures import picture
from tests.sandbox.prompts import PROMPTS

ORNAMENTS = {chr(code) for code in range(0xE000, 0xE040)}


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def caption(prompt: str, width_px: float = 1180, height_px: float = 360) -> captions.Caption:
    return captions.fit(prompt, width_px, height_px, 63, 24)


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_a_picture_is_drawn_for_every_prompt(prompt: str) -> None:
    image = opened(picture(prompt, 640, 360, "task_1"))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (640, 360))
    assert image.info["Take"] == "task_1"
    uncaptioned = ImageStat.Stat(image.crop((0, 0, 640, 120))).stddev
    assert max(uncaptioned) > 4  # a sky, not a flat sheet


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_a_caption_fits_its_room_and_holds_no_letter_that_the_font_lacks(prompt: str) -> None:
    set_ = caption(prompt)
    font = letters.font(set_.size_px)
    assert 24 <= set_.size_px <= 63
    assert len(set_.lines) * set_.size_px * captions.LINE_HEIGHT <= 360
    for line in set_.lines:
        assert font.getlength(line.text) <= 1180 + 2 * set_.size_px  # the ellipsis may stand over
        assert line.text == letters.settable(line.text)


@pytest.mark.parametrize("name", [name for name in PROMPTS if name != "strange"])
def test_the_font_has_the_letters_that_people_write(name: str) -> None:
    assert not ORNAMENTS & set(letters.settable(PROMPTS[name]))


def test_letters_that_no_font_has_become_ornaments_and_controls_vanish() -> None:
    shown = letters.settable(PROMPTS["strange"])
    assert len(set(shown) & ORNAMENTS) >= 5
    assert not set(shown) & set("\u0000\u0007ᚠক\U0010ffff")
    assert letters.settable("ᚠxᚠ")[0] == letters.settable("ᚠ")


def test_scripts_that_must_be_shaped_become_ornaments_where_that_is_impossible() -> None:
    for name in ("Arabic", "Hebrew", "Hindi"):
        shown = letters.settable(PROMPTS[name], is_shaped=False)
        assert len(set(shown) & ORNAMENTS) > 5
        assert not any(letters.is_right_to_left(word) for word in shown.split())
    for name in ("Chinese", "Russian", "Thai"):
        assert letters.settable(PROMPTS[name], is_shaped=False) == letters.settable(PROMPTS[name])


def test_all_of_a_short_prompt_is_shown_and_of_a_long_one_its_beginning() -> None:
    assert "".join(line.text for line in caption(PROMPTS["Chinese"]).lines) == PROMPTS["Chinese"]
    assert " ".join(line.text for line in caption(PROMPTS["plain"]).lines) == PROMPTS["plain"]
    lines = caption(PROMPTS["long"]).lines
    assert lines[0].text.startswith("A slow dolly shot")
    assert lines[-1].text.endswith("…")


def test_lines_break_at_newlines_and_never_inside_a_sign() -> None:
    assert [line.text for line in caption(PROMPTS["newlines"]).lines][:2] == ["First line", "second line"]
    family = "👨‍👩‍👧‍👦"
    for line in caption(family * 60).lines:
        assert set(line.text.removesuffix(" …").split(family)) == {""}
    assert not any(line.text[0] in "。、" for line in caption("雾中、的灯塔。海浪、" * 12).lines)


def test_right_to_left_lines_are_told_by_their_first_letter() -> None:
    assert [letters.is_right_to_left(PROMPTS[name]) for name in ("Arabic", "Hebrew", "emoji", "Russian")] == [
        True,
        True,
        False,
        False,
    ]
    assert letters.is_right_to_left("5 🌊 منارة")


def test_a_prompt_of_blanks_has_no_lines_and_still_a_picture() -> None:
    assert caption(" \n ").lines == ()
    assert opened(picture(" ", 320, 180, "task_1")).size == (320, 180)


def test_no_two_prompts_or_takes_give_the_same_picture_and_the_same_asking_does() -> None:
    drawn = {picture(prompt, 64, 36, take) for prompt in PROMPTS.values() for take in ("task_1", "task_2")}
    assert len(drawn) == 2 * len(PROMPTS)
    assert picture("A fox", 64, 36, "task_1") == picture("A fox", 64, 36, "task_1")


def test_two_takes_differ_before_the_eyes() -> None:
    one, two = (opened(picture("A fox", 320, 180, take)) for take in ("task_1", "task_2"))
    differing = ImageChops.difference(one, two).convert("L").point(lambda level: 255 if level > 8 else 0)
    assert ImageStat.Stat(differing).mean[0] > 255 * 0.05


@pytest.mark.parametrize("size", [(16, 16), (64, 36), (36, 64), (161, 333), (720, 1280), (1024, 1024)])
def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    assert opened(picture(PROMPTS["plain"], *size, "task_1")).size == size
