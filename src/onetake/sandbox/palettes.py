"""The colours of the sandbox's pictures: ten skies, each with the land and the light that belong to it."""

from dataclasses import dataclass

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One light.

    Attributes:
        top: the sky overhead.
        middle: the sky half way down.
        horizon: the sky where it meets the land, and the mist between ridges.
        sun: sun or moon, and the small line above a caption.
        far: the farthest ridge.
        near: the nearest ridge; dark in every palette, since captions stand on it.
        is_night: stars instead of birds.
    """

    top: Colour
    middle: Colour
    horizon: Colour
    sun: Colour
    far: Colour
    near: Colour
    is_night: bool


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """The colour that lies `share` of the way (0 to 1) from `a` to `b`."""
    return (
        round(a[0] + (b[0] - a[0]) * share),
        round(a[1] + (b[1] - a[1]) * share),
        round(a[2] + (b[2] - a[2]) * share),
    )


def _palette(colours: str, *, is_night: bool = False) -> Palette:
    top, middle, horizon, sun, far, near = (
        (int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)) for code in colours.split()
    )
    return Palette(top=top, middle=middle, horizon=horizon, sun=sun, far=far, near=near, is_night=is_night)


# Chosen by eye: top, middle, horizon, sun, far, near.
PALETTES = (
    _palette("2b3a67 b56576 ffb88a fff1d0 8d5b74 1f1b33"),  # dawn
    _palette("0f2a43 2f6f8f b7dbe0 fdf6e3 5c91a6 0b1f2e"),  # fjord
    _palette("e8935f f4b183 fde7bd fff8e4 d08862 4a2327"),  # apricot
    _palette("070b1f 1b2454 4b4a8f f4f1de 33346f 080a18", is_night=True),
    _palette("5fb3b3 b3dcc8 fdf1cf fffdf2 6aa79f 173b3f"),  # mint
    _palette("4a2f63 c06c84 f8b195 ffe9d6 8a5078 2a1836"),  # rose
    _palette("31525b 7aa095 dfe8d8 fbfbef 6f938a 12261f"),  # forest
    _palette("47658a 9db8d0 f0e6d2 ffffff 86a0ba 22344d"),  # arctic
    _palette("1d1a2f 6b2737 e08e45 f8e9a1 6a2c3a 150f1e"),  # ember
    _palette("04101a 0b3b46 2f7f74 e6f5d0 14525a 030b12", is_night=True),  # aurora
)
