"""Reading a submit's body: what is ordered, or why it is refused.

Fields as reAPI names them: `model`, `prompt`, `size` or `aspect_ratio`, `resolution`, `n`, `duration`,
`image_with_roles`. A size is a ratio (`16:9`) or pixels (`1280x720`); a resolution is `1k` and `2k`, or the short
side as in `720p`. Unknown fields are ignored, as most providers do.
"""

import json
import re
from dataclasses import dataclass

from onetake.sandbox.options import SandboxOptions

_SIZES_1K = {  # about a megapixel each, every side a multiple of 8
    "1:1": (1024, 1024),
    "16:9": (1280, 720),
    "9:16": (720, 1280),
    "4:3": (1152, 864),
    "3:4": (864, 1152),
    "3:2": (1248, 832),
    "2:3": (832, 1248),
    "21:9": (1568, 672),
}
_SHORT_SIDES_PX = {"360p": 360, "480p": 480, "720p": 720, "1080p": 1080}
_TINY_PX = 64  # the longer side: a picture of a few hundred bytes, a clip of a few kilobytes
_SIDE_PX = (16, 4096)  # H.264's smallest macroblock; the largest side that this machine should be asked for
_PICTURES_MAX = 4
_SECONDS_MAX = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one submit asks for, checked.

    Attributes:
        kind: `image` or `video`.
        model: the model's id.
        prompt: as it was sent.
        width_px: even.
        height_px: even.
        count: how many pictures; 1 for a video.
        seconds: of a clip; 0 for pictures.
        first_frame_url: where a clip's first frame is; empty for pictures.
    """

    kind: str
    model: str
    prompt: str
    width_px: int
    height_px: int
    count: int = 1
    seconds: int = 0
    first_frame_url: str = ""

    def price_micros(self, options: SandboxOptions) -> int:
        """What it costs."""
        return (
            self.count * options.image_price_micros
            if self.kind == "image"
            else self.seconds * options.video_price_micros
        )


class RefusedError(Exception):
    """The provider takes nothing of this, and says so.

    Attributes:
        status: the HTTP status.
        code: the provider's word for it.
        prompt: of the order, as far as it could be read.
    """

    def __init__(self, status: int, code: str, message: str, prompt: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.prompt = prompt


def read_order(kind: str, body: bytes, options: SandboxOptions) -> Order:
    """The order in a submit's body.

    Raises:
        RefusedError: it can't be read, or asks for something that isn't offered.
    """
    try:
        fields = json.loads(body)
    except ValueError as error:
        raise RefusedError(400, "bad_json", "the body is not JSON") from error
    if not isinstance(fields, dict):
        raise RefusedError(400, "bad_json", "the body is not a JSON object")
    prompt = _prompt(fields)
    try:
        return _order(kind, fields, prompt, options)
    except RefusedError as error:
        error.prompt = prompt
        raise


def _order(kind: str, fields: dict[str, object], prompt: str, options: SandboxOptions) -> Order:
    models = options.image_models if kind == "image" else options.video_models
    model = fields.get("model")
    if not isinstance(model, str) or model not in models:
        raise RefusedError(400, "unknown_model", f"this route offers {', '.join(models)}")
    width, height = _size(fields, "1k" if kind == "image" else "720p", tiny=options.tiny)
    if kind == "image":
        count = _whole(fields, "n", 1, _PICTURES_MAX)
        return Order(kind=kind, model=model, prompt=prompt, width_px=width, height_px=height, count=count)
    return Order(
        kind=kind,
        model=model,
        prompt=prompt,
        width_px=width,
        height_px=height,
        seconds=_whole(fields, "duration", 5, _SECONDS_MAX),
        first_frame_url=_first_frame_url(fields),
    )


def _prompt(fields: dict[str, object]) -> str:
    prompt = fields.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise RefusedError(400, "missing_prompt", "prompt is missing")
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(400, "bad_prompt", "prompt holds half of a surrogate pair") from error
    return prompt


def _whole(fields: dict[str, object], name: str, default: int, most: int) -> int:
    number = fields.get(name, default)
    if type(number) is not int or not 1 <= number <= most:
        raise RefusedError(400, f"bad_{name}", f"{name} must be a whole number from 1 to {most}")
    return number


def _size(fields: dict[str, object], default: str, *, tiny: bool) -> tuple[int, int]:
    size = fields.get("size", fields.get("aspect_ratio", "16:9"))
    resolution = fields.get("resolution", default)
    if not isinstance(size, str) or not isinstance(resolution, str):
        raise RefusedError(400, "bad_size", "size, aspect_ratio and resolution are texts")
    width, height = _pixels(size.lower(), resolution.lower())
    if tiny:
        width, height = (round(side * _TINY_PX / max(width, height)) for side in (width, height))
    width, height = width + width % 2, height + height % 2
    if not all(_SIDE_PX[0] <= side <= _SIDE_PX[1] for side in (width, height)):
        raise RefusedError(400, "bad_size", f"each side has {_SIDE_PX[0]} to {_SIDE_PX[1]} pixels")
    return width, height


def _pixels(size: str, resolution: str) -> tuple[int, int]:
    if plain := re.fullmatch(r"(\d{1,4})[x*](\d{1,4})", size):
        return int(plain[1]), int(plain[2])
    if size not in _SIZES_1K:
        raise RefusedError(400, "bad_size", f"size is WIDTHxHEIGHT or one of {', '.join(_SIZES_1K)}")
    width, height = _SIZES_1K[size]
    if resolution in {"1k", "2k"}:
        times = int(resolution[0])
        return width * times, height * times
    if resolution not in _SHORT_SIDES_PX:
        raise RefusedError(400, "bad_resolution", f"resolution is one of 1k, 2k, {', '.join(_SHORT_SIDES_PX)}")
    across, down = (int(part) for part in size.split(":"))
    short = _SHORT_SIDES_PX[resolution]
    return round(short * across / min(across, down)), round(short * down / min(across, down))


def _first_frame_url(fields: dict[str, object]) -> str:
    roles = fields.get("image_with_roles")
    if isinstance(roles, list):
        urls = [role.get("url") for role in roles if isinstance(role, dict) and role.get("role") == "first_frame"]
        if len(urls) == 1 and isinstance(urls[0], str) and urls[0]:
            return urls[0]
    raise RefusedError(400, "bad_first_frame", "image_with_roles must name exactly one first_frame")
