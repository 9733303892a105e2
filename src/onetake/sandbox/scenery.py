"""Landscapes painted with Pillow: sky, light, clouds, ridges, water, pines.

Coordinates are in picture heights: y runs from 0 (top) to 1 (bottom), x from 0 to the picture's aspect ratio.
Every shape is a mask, drawn at twice the size and halved, which smooths its edges.
"""

import math
import random
from collections.abc import Callable, Iterator

from PIL import Image, ImageDraw, ImageFilter

from onetake.sandbox.palettes import Colour, Palette, mix

Point = tuple[float, float]
_OVERSAMPLED = 2


class Canvas:
    """A picture being painted."""

    def __init__(self, width_px: int, height_px: int) -> None:
        self.size = (width_px, height_px)
        self.aspect = width_px / height_px
        self.image = Image.new("RGB", self.size)

    def fill(self, mask: Image.Image, colours: tuple[Colour, ...], top: float = 0.0, bottom: float = 1.0) -> None:
        """Paint vertical bands of colour, from `top` to `bottom`, through a mask."""
        self.image.paste(self._gradient(colours, top, bottom), mask=mask)

    def sky(self, colours: tuple[Colour, ...], bottom: float) -> None:
        """Paint the whole picture, the last colour reached at `bottom`."""
        self.image.paste(self._gradient(colours, 0.0, bottom))

    def mask(self, paint: Callable[[ImageDraw.ImageDraw, float], None]) -> Image.Image:
        """A smooth-edged mask; `paint` gets the brush and the pixels per picture height."""
        width, height = self.size
        large = Image.new("L", (width * _OVERSAMPLED, height * _OVERSAMPLED))
        paint(ImageDraw.Draw(large), float(height * _OVERSAMPLED))
        return large.reduce(_OVERSAMPLED)

    def _gradient(self, colours: tuple[Colour, ...], top: float, bottom: float) -> Image.Image:
        height = self.size[1]
        column = Image.new("RGB", (1, height))
        for y in range(height):
            where = min(max((y / height - top) / max(bottom - top, 1e-6), 0.0), 1.0) * (len(colours) - 1)
            band = min(int(where), len(colours) - 2)
            column.putpixel((0, y), mix(colours[band], colours[band + 1], where - band))
        return column.resize(self.size, Image.Resampling.NEAREST)


def paint_light(canvas: Canvas, palette: Palette, centre: Point, radius: float) -> None:
    """Add a sun or moon with its glow."""
    width, height = canvas.size
    reach = round(height * radius * 12)
    glow = Image.radial_gradient("L").point(lambda v: round(max(1 - v / 181, 0.0) ** 2 * 140))  # 181 at its edges
    halo = Image.new("L", canvas.size)
    halo.paste(
        glow.resize((reach, reach)), (round(centre[0] * height - reach / 2), round(centre[1] * height - reach / 2))
    )
    canvas.image.paste(palette.sun, (0, 0, width, height), halo)
    canvas.fill(canvas.mask(lambda brush, unit: _disc(brush, unit, centre, radius)), (palette.sun, palette.sun))


def paint_stars(canvas: Canvas, palette: Palette, chance: random.Random) -> None:
    """Scatter stars over the upper half, fewer and fainter towards the horizon."""

    def stars(brush: ImageDraw.ImageDraw, unit: float) -> None:
        for _ in range(round(110 * canvas.aspect)):
            at = (chance.uniform(0, canvas.aspect), chance.random() ** 1.6 * 0.62)
            _disc(brush, unit, at, chance.uniform(0.0007, 0.002), round(chance.uniform(70, 255) * (1 - at[1])))

    canvas.fill(canvas.mask(stars), (palette.sun, palette.sun))


def paint_clouds(canvas: Canvas, palette: Palette, chance: random.Random) -> None:
    """Draw soft streaks across the sky."""
    width, height = (max(side // 4, 1) for side in canvas.size)  # they are blurred: a quarter of the size will do
    soft = Image.new("L", (width, height))
    brush = ImageDraw.Draw(soft)
    for _ in range(chance.randint(3, 6)):
        x, y, long = chance.uniform(-0.1, canvas.aspect), chance.uniform(0.08, 0.46), chance.uniform(0.25, 0.7)
        for _ in range(7):
            shift, lift, share = chance.uniform(0, long), chance.gauss(0, 0.008), chance.uniform(0.15, 0.5)
            box = [(x + shift) * height, (y + lift) * height, (x + shift + long * share) * height, 0.0]
            box[3] = box[1] + chance.uniform(0.006, 0.02) * height
            brush.ellipse(box, fill=chance.randint(50, 120))
    soft = soft.filter(ImageFilter.GaussianBlur(max(height * 0.008, 0.5)))
    canvas.fill(soft.resize(canvas.size, Image.Resampling.BICUBIC), (mix(palette.horizon, palette.sun, 0.5),) * 2)


def paint_birds(canvas: Canvas, palette: Palette, chance: random.Random) -> None:
    """Let a few birds cross the sky."""
    middle = (chance.uniform(0.15, 0.85) * canvas.aspect, chance.uniform(0.2, 0.36))

    def birds(brush: ImageDraw.ImageDraw, unit: float) -> None:
        for _ in range(chance.randint(3, 7)):
            x, y = middle[0] + chance.gauss(0, 0.07), middle[1] + chance.gauss(0, 0.03)
            wing, pen = chance.uniform(0.006, 0.012), max(round(unit * 0.0016), 1)
            for side in (-1, 1):
                left, right = sorted((x * unit, (x + side * 2 * wing) * unit))
                brush.arc((left, y * unit, right, (y + 1.3 * wing) * unit), 200, 340, fill=200, width=pen)

    canvas.fill(canvas.mask(birds), (palette.near, palette.near))


def ridge_line(canvas: Canvas, chance: random.Random, level: float, rise: float, rough: float) -> list[Point]:
    """The outline of a ridge around `level`: value noise whose octaves fade by `rough` (0 smooth, 0.6 craggy)."""
    octaves = []
    for octave in range(6):
        often = 1.3 * 2**octave
        values = [chance.uniform(-1, 1) for _ in range(int(canvas.aspect * often) + 3)]
        octaves.append((values, often, rise * rough**octave))
    steps = min(canvas.size[0] // 3, 400)  # an edge every third pixel looks round
    return [
        (x, level - sum(size * _noise(values, x * often) for values, often, size in octaves))
        for x in (canvas.aspect * step / steps for step in range(steps + 1))
    ]


def paint_ridge(canvas: Canvas, line: list[Point], colours: tuple[Colour, ...]) -> None:
    """Paint the land below an outline, from its crest's colour down to its foot's."""
    crest = min(y for _, y in line)

    def land(brush: ImageDraw.ImageDraw, unit: float) -> None:
        outline = [(0.0, 1.1), *line, (canvas.aspect, 1.1)]
        brush.polygon([(x * unit, y * unit) for x, y in outline], fill=255)

    canvas.fill(canvas.mask(land), colours, crest, min(crest + 0.42, 1.0))


def paint_pines(canvas: Canvas, line: list[Point], colour: Colour, chance: random.Random) -> None:
    """Plant conifers along an outline, in groves."""

    def pines(brush: ImageDraw.ImageDraw, unit: float) -> None:
        for x, y in _groves(line, chance):
            tall = chance.uniform(0.03, 0.085)
            for tier in range(4):
                half, foot = tall * (0.09 + 0.05 * tier), y - tall * (0.72 - 0.24 * tier)
                peak = foot - tall * 0.34
                corners = [(x - half, foot), (x, peak), (x + half, foot)]
                brush.polygon([(u * unit, v * unit) for u, v in corners], fill=255)

    canvas.fill(canvas.mask(pines), (colour, colour))


def paint_water(canvas: Canvas, palette: Palette, level: float, light: Point, chance: random.Random) -> None:
    """Lay water from `level` down, with the light's path glittering on it."""
    width = canvas.aspect

    def water(brush: ImageDraw.ImageDraw, unit: float) -> None:
        brush.rectangle((0, level * unit, width * unit, unit), fill=255)

    def glitter(brush: ImageDraw.ImageDraw, unit: float) -> None:
        for _ in range(190):
            depth = chance.random() ** 1.7
            y, spread = level + 0.006 + depth * (1 - level), 0.015 + depth * 0.16
            x, half = light[0] + chance.gauss(0, spread), chance.uniform(0.004, 0.02) * (0.5 + 2 * depth)
            thick = 0.0012 + 0.004 * depth
            box = ((x - half) * unit, (y - thick / 2) * unit, (x + half) * unit, (y + thick / 2) * unit)
            brush.rounded_rectangle(box, thick * unit / 2, fill=round(chance.uniform(60, 230) * (1 - 0.55 * depth)))

    sea = (mix(palette.horizon, palette.middle, 0.35), mix(palette.middle, palette.near, 0.45), palette.near)
    canvas.fill(canvas.mask(water), sea, level, 1.0)
    canvas.fill(canvas.mask(glitter), (palette.sun, palette.sun))


def _disc(brush: ImageDraw.ImageDraw, unit: float, centre: Point, radius: float, light: int = 255) -> None:
    x, y = centre
    brush.ellipse(((x - radius) * unit, (y - radius) * unit, (x + radius) * unit, (y + radius) * unit), fill=light)


def _noise(values: list[float], x: float) -> float:
    left = int(x)
    share = (1 - math.cos((x - left) * math.pi)) / 2
    return values[left] * (1 - share) + values[left + 1] * share


def _groves(line: list[Point], chance: random.Random) -> Iterator[Point]:
    shift = chance.uniform(0, 10)
    for x, y in line:
        if math.sin(x * 5 + shift) + math.sin(x * 11.3 + shift) > chance.uniform(-0.2, 1.6):
            yield x + chance.uniform(-0.003, 0.003), y + 0.012
