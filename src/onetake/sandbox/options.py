"""What a sandbox can be told at its start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from onetake.sandbox.faults import FAULTS

UsedKeys = Literal["ignored", "replayed", "refused"]

IMAGE_MODELS = ("gemini-3.1-flash-image-preview",)
VIDEO_MODELS = ("wan3.0-video",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of seconds; each task draws its own from it."""

    low_s: float
    high_s: float

    @classmethod
    def parse(cls, text: str) -> "Span":
        """A span from `LO:HI` or a single number.

        Raises:
            ValueError: it isn't one.
        """
        low, _, high = text.partition(":")
        try:
            span = cls(low_s=float(low), high_s=float(high or low))
        except ValueError:
            raise ValueError(f"{text!r} isn't LO:HI in seconds, such as 0.5:2") from None
        if not 0 <= span.low_s <= span.high_s:
            raise ValueError(f"{text}: the first number must be at least 0 and at most the second")
        return span

    def at(self, share: float) -> float:
        """The seconds at a share of the range, 0 to 1."""
        return self.low_s + (self.high_s - self.low_s) * share


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """The sandbox's settings.

    Attributes:
        host: the address to listen on.
        port: 0 takes a free one.
        seed: decides every fault, wait and picture.
        keys: the bearer keys that are accepted; empty asks for none.
        image_models: ids that draw pictures.
        video_models: ids that make clips.
        queue_s: how long a task waits before it is rendered.
        render_s: how long rendering takes, at least; a slow machine takes longer.
        says_queued: tell waiting tasks' status as `queued`; reAPI only knows `processing`.
        rates: fault name to share of the occasions, 0 to 1.
        slow_s: how long the slow faults hold an answer.
        silence_s_max: how long `accept_then_silence` holds the line if the client doesn't leave.
        retry_after_s: what 429 answers ask for.
        address_ttl_s: how long an output's address works.
        image_price_micros: of one picture.
        video_price_micros: of one second of a clip.
        tiny: draw everything 64 pixels wide with 4 frames a second, for tests.
        still: a picture file's bytes, handed out for every picture that is ordered; empty draws one for each.
        folder: where tasks and files are kept over restarts; none keeps them until the end only.
        used_keys: what a second order under the same `Idempotency-Key` comes to: `ignored`, as at reAPI, buys again;
            `replayed` is answered with the first one's task, and another body is refused; `refused` is refused.
        shows_tasks: list what was accepted, by the key it came with or by time, at `GET /api/v1/tasks`.
    """

    host: str = "127.0.0.1"
    port: int = 0
    seed: str = "1"
    keys: tuple[str, ...] = ()
    image_models: tuple[str, ...] = IMAGE_MODELS
    video_models: tuple[str, ...] = VIDEO_MODELS
    queue_s: Span = Span(low_s=0.0, high_s=0.0)
    render_s: Span = Span(low_s=0.0, high_s=0.0)
    says_queued: bool = False
    rates: Mapping[str, float] = field(default_factory=dict)
    slow_s: float = 5.0
    silence_s_max: float = 600.0
    retry_after_s: int = 1
    address_ttl_s: int = 3600
    image_price_micros: int = 40_000
    video_price_micros: int = 100_000
    tiny: bool = False
    still: bytes = b""
    folder: Path | None = None
    used_keys: UsedKeys = "ignored"
    shows_tasks: bool = False

    def __post_init__(self) -> None:
        """Refuse rates that mean nothing.

        Raises:
            ValueError: a fault that doesn't exist, or a rate outside 0 to 1.
        """
        for name, rate in self.rates.items():
            if name not in FAULTS:
                raise ValueError(f"{name}: no such fault; there are {', '.join(FAULTS)}")
            if not 0 <= rate <= 1:
                raise ValueError(f"{name}={rate}: a rate lies between 0 and 1")
