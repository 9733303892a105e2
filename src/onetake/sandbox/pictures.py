"""A picture for a prompt: a painted landscape with the prompt as its caption.

The prompt chooses the light and the kind of landscape, prompt and take together its outlines: two takes of one
prompt are brothers, not twins. Sizes and places are shares of the picture, tuned by eye.
"""

import hashlib
import io
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from onetake.sandbox import captions, letters, scenery
from onetake.sandbox.captions import Caption, Line
from onetake.sandbox.chance import dice
from onetake.sandbox.palettes import PALETTES, Palette, mix

_INK = (255, 253, 248)
_MARGIN = 0.085  # of the shorter side: room for a clip's camera to come closer without cutting the caption
_CAPTIONED_FROM_PX = 160  # a shorter side leaves no room for letters that can be read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    palette: Palette
    level: float
    light: scenery.Point
    roughness: float
    is_wooded: bool
    has_water: bool


def picture(prompt: str, width_px: int, height_px: int, take: str) -> bytes:
    """A PNG drawn from the prompt; `take`, such as the task's id, varies it and is kept in its text chunk "Take"."""
    canvas = scenery.Canvas(width_px, height_px)
    outlines = dice("outlines", prompt, take)
    scene = _scene(prompt, canvas.aspect, outlines)
    _paint_sky(canvas, scene, outlines)
    _paint_land(canvas, scene, outlines)
    if min(canvas.size) >= _CAPTIONED_FROM_PX:
        _paint_caption(canvas.image, scene.palette, prompt, take)
    info = PngInfo()
    info.add_itxt("Take", take)
    stored = io.BytesIO()
    canvas.image.save(stored, "PNG", pnginfo=info, compress_level=3)  # faster than 6 and hardly larger
    return stored.getvalue()


def _scene(prompt: str, aspect: float, outlines: random.Random) -> _Scene:
    kind = dice("scene", prompt)
    level = outlines.uniform(0.5, 0.58)
    return _Scene(
        palette=kind.choice(PALETTES),
        level=level,
        light=(outlines.uniform(0.2, 0.8) * aspect, outlines.uniform(0.15, 0.36)),
        roughness=kind.choice((0.3, 0.42, 0.5)),
        is_wooded=kind.choice((True, False)),
        has_water=kind.choice((True, False, False)),
    )


def _paint_sky(canvas: scenery.Canvas, scene: _Scene, chance: random.Random) -> None:
    palette = scene.palette
    canvas.sky((palette.top, palette.middle, palette.horizon), scene.level + 0.06)
    if palette.is_night:
        scenery.paint_stars(canvas, palette, chance)
    scenery.paint_light(canvas, palette, scene.light, chance.uniform(0.035, 0.07))
    scenery.paint_clouds(canvas, palette, chance)
    if not palette.is_night:
        scenery.paint_birds(canvas, palette, chance)


def _paint_land(canvas: scenery.Canvas, scene: _Scene, chance: random.Random) -> None:
    """Ridges from far to near, each darker and less misty; with water, two of them stand behind it."""
    palette, count, apart = (scene.palette, 2, 0.035) if scene.has_water else (scene.palette, 5, 0.1)
    for ridge in range(count):
        colour = mix(palette.far, palette.near, (ridge / 4) ** 0.8)
        foot = mix(colour, palette.horizon, 0.45 * (1 - ridge / 4))
        line = scenery.ridge_line(canvas, chance, scene.level + apart * ridge, 0.06 + 0.015 * ridge, scene.roughness)
        if scene.is_wooded and ridge >= count - 2:
            scenery.paint_pines(canvas, line, colour, chance)
        scenery.paint_ridge(canvas, line, (colour, foot))
    if scene.has_water:
        scenery.paint_water(canvas, palette, scene.level + 0.07, scene.light, chance)


def _paint_caption(image: Image.Image, palette: Palette, prompt: str, take: str) -> None:
    short = min(image.size)
    margin = short * _MARGIN
    caption = captions.fit(prompt, image.width - 2 * margin, image.height * 0.5, short * 0.088, short * 0.034)
    leading = caption.size_px * captions.LINE_HEIGHT
    top = image.height - margin - leading * len(caption.lines)
    _shade(image, palette, (top - short * 0.24) / image.height)
    _sign(image, palette, caption, take, top - short * 0.03)
    brush = ImageDraw.Draw(image)
    for number, line in enumerate(caption.lines):
        _set(brush, line, caption.size_px, margin, top + leading * (number + 0.86))


def _shade(image: Image.Image, palette: Palette, top: float) -> None:
    """Darken the land behind the caption, so that it can be read in every light."""
    column = Image.new("L", (1, 256))
    for y in range(256):
        share = min(max((y / 255 - top) / max(0.74 - top, 0.1), 0.0), 1.0)
        column.putpixel((0, y), round(200 * share * share * (3 - 2 * share)))
    image.paste(palette.near, (0, 0, *image.size), column.resize(image.size, Image.Resampling.BICUBIC))


def _sign(image: Image.Image, palette: Palette, caption: Caption, take: str, baseline: float) -> None:
    """The small line above a caption, on the caption's side: this came from the sandbox, and which take it is."""
    mark = hashlib.blake2b(take.encode(), digest_size=3).hexdigest().upper()
    text, margin = f"SANDBOX  ·  TAKE {mark}", min(image.size) * _MARGIN
    font = letters.font(margin * 0.26)
    rule, gap = margin * 0.57, margin * 0.18
    is_right = bool(caption.lines) and caption.lines[0].is_right_to_left
    left = image.width - margin - rule - gap - font.getlength(text) if is_right else margin
    brush = ImageDraw.Draw(image)
    brush.rectangle((left, baseline - margin * 0.11, left + rule, baseline - margin * 0.08), fill=palette.sun)
    brush.text((left + rule + gap, baseline), text, fill=palette.sun, font=font, anchor="ls")


def _set(brush: ImageDraw.ImageDraw, line: Line, size_px: float, margin: float, baseline: float) -> None:
    is_right = line.is_right_to_left
    brush.text(
        (brush.im.size[0] - margin if is_right else margin, baseline),
        line.text,
        fill=_INK,
        font=letters.font(size_px),
        anchor="rs" if is_right else "ls",
        direction="rtl" if is_right and letters.IS_SHAPED else None,
    )
