"""Settings, from the environment alone: `ONETAKE_…`, with `__` between levels. None needs to be given.

Every field here has its line in docs/reference/settings.md; a test finds the one that hasn't.
"""

import ipaddress
import os
import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from onetake.domain.errors import BadValueError

_PREFIX = "ONETAKE_"
_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_FILE = re.compile(r"file:(?://(?=/))?(?P<path>.+)")
_ORIGIN = re.compile(r"https?://(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#@\s:\[\]]+)(:(?P<port>[0-9]{1,5}))?")
_HEADER = re.compile(r"[\x20-\x7e]*")
_LINE = r"^[^\x00-\x1f\x7f]+$"
_LOCAL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # a leading digit could be an address spelt as one number


def is_private_host(host: str) -> bool:
    """Whether a host is a private address or a local name: it is looked up and reached within one's network."""
    try:
        address = ipaddress.ip_address(host)
        return not (getattr(address, "ipv4_mapped", None) or address).is_global
    except ValueError:
        return _LOCAL_NAME.fullmatch(host) is not None


class ProviderSettings(BaseModel):
    """One provider account. Times are seconds."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    base_url: str = Field(
        default="",
        description=(
            "Where the provider answers: an origin without path; `http` only within your own network. Not set: the"
            " provider's own address, such as https://reapi.ai, where it costs money."
        ),
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="Our key. Never shown, never logged.")
    contract: str = Field(
        default="",
        description="A contract file to go by; not set: the one that ships. `onetake contract explain` reads it.",
    )
    submit_timeout_s: float = Field(default=120.0, gt=0, le=3600, description="Longest a paid POST may take in all.")
    poll_first_s: float = Field(default=5.0, ge=0, le=3600, description="From acceptance to the first poll.")
    poll_interval_s: float = Field(default=5.0, gt=0, le=3600, description="Between polls that are answered.")
    in_flight_max: int | None = Field(
        default=None,
        ge=1,
        description="Most tasks of this provider account asked for or known to be made, all workers together.",
    )
    sends_per_minute: int | None = Field(
        default=None, ge=1, le=60_000, description="Most paid POSTs in any minute, all workers together."
    )

    @field_validator("base_url")
    @classmethod
    def _is_origin(cls, value: str) -> str:
        match = _ORIGIN.fullmatch(value.rstrip("/"))
        if match is None or int(match["port"] or 0) > 65535:
            raise ValueError("must be an origin such as https://reapi.ai, without path, query or password")
        if value.startswith("http:") and not is_private_host(match["host"].strip("[]")):
            raise ValueError("must begin with https://, as our key would go over a public network for all to read")
        return value.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr) -> SecretStr:
        if not _HEADER.fullmatch(value.get_secret_value()):
            raise ValueError("must be one line of ASCII, as it goes into a header")
        return value


class WorkerSettings(BaseModel):
    """How a worker works. Times are seconds."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    concurrency: int = Field(default=16, ge=1, le=1000, description="Paid POSTs in the air at once.")
    polls: int = Field(default=64, ge=1, le=10_000, description="Polls in the air at once.")
    downloads: int = Field(default=8, ge=1, le=1000, description="Downloads and checks at once.")
    lease_s: float = Field(default=30.0, ge=1, le=3600, description="How long a silent worker keeps what it holds.")
    grace_s: float = Field(
        default=30.0, ge=0, le=3600, description="How long a stopping worker waits for POSTs in the air."
    )


class AccountSettings(BaseModel):
    """What each account may do."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(
        default="default", min_length=1, max_length=100, pattern=_LINE, description="In which account a person acts."
    )
    in_flight_max: int | None = Field(
        default=None,
        ge=1,
        description="Most tasks of one account asked for or known to be made, so that others get their turn.",
    )


class PostgresSettings(BaseModel):
    """How PostgreSQL is spoken to, where the database is one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    lanes: int = Field(default=2, ge=1, le=32, description="Connections of a process that write to PostgreSQL.")
    prepare: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="Prepared statements: `auto` uses them unless a pooler is in between.",
    )


class Settings(BaseSettings):
    """All of them."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_nested_delimiter="__", extra="ignore")

    database_url: str = Field(
        default="sqlite:///onetake-data/onetake.db",
        repr=False,  # it may hold a password
        description="Where the state is kept: `sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.",
    )
    storage_url: str = Field(default="file:onetake-data/files", description="Where the files are kept.")
    providers: dict[str, ProviderSettings] = Field(default_factory=dict, description="Provider accounts, by name.")
    postgres: PostgresSettings = Field(default_factory=PostgresSettings, description="How PostgreSQL is spoken to.")
    worker: WorkerSettings = Field(default_factory=WorkerSettings, description="How a worker works.")
    account: AccountSettings = Field(default_factory=AccountSettings, description="What each account may do.")
    quote_s: int = Field(default=3600, ge=1, le=31_536_000, description="How long a quote may be accepted, in seconds.")
    person: str = Field(
        default="owner", min_length=1, max_length=100, pattern=_LINE, description="Who acts, in the journal."
    )

    @field_validator("database_url")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if not value.startswith((_SQLITE, *_POSTGRES)) or value in (_SQLITE, f"{_SQLITE}:memory:"):
            raise ValueError("must be sqlite:///PATH or postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        return value

    @field_validator("storage_url")
    @classmethod
    def _is_folder(cls, value: str) -> str:
        if _FILE.fullmatch(value) is None:
            raise ValueError("must be file:///PATH, or file:PATH for a folder below the current one")
        return value

    @classmethod
    def load(cls) -> Self:
        """The settings of this process.

        Raises:
            BadValueError: one can't be used; names it and says why.
        """
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = _PREFIX + "__".join(str(part) for part in first["loc"]).upper()
            raise BadValueError(f"{name} {_reason(first)}.") from None
        except SettingsError:  # ONETAKE_WORKER=x: pydantic wants JSON there, and we want the levels spelled out
            groups = {_PREFIX + field.upper() for field, about in cls.model_fields.items() if about.default_factory}
            name = next(variable for variable in os.environ if variable.upper() in groups)
            raise BadValueError(
                f"{name} can't be set as a whole: set its parts, such as {name}__…, one by one."
            ) from None

    @staticmethod
    def list_strangers() -> list[str]:
        """Variables of this process that look like settings and are none: misspelt, most likely."""
        found = (name for name in os.environ if name.upper().startswith(_PREFIX))
        groups = {field.upper() for field in Settings.model_fields}
        return sorted(name for name in found if name.upper().removeprefix(_PREFIX).split("__")[0] not in groups)

    @property
    def database_path(self) -> Path:
        """The file, where the database is SQLite."""
        return Path(self.database_url.removeprefix(_SQLITE))

    @property
    def storage_path(self) -> Path:
        """The folder of the files."""
        match = _FILE.fullmatch(self.storage_url)
        return Path(match["path"] if match else self.storage_url)

    def provider(self, name: str) -> ProviderSettings:
        """The account at a provider; with defaults if nothing was set."""
        return self.providers.get(name, ProviderSettings())


def _reason(error: ErrorDetails) -> str:
    """What is wrong with a value, without telling it."""
    context = error.get("ctx", {})
    reasons = {
        "value_error": str(context.get("error")),
        "extra_forbidden": "isn't a setting",
        "model_type": "can't be set as a whole: set its parts one by one",
        "dict_type": "can't be set as a whole: set its parts one by one",
        "int_parsing": "must be a whole number",
        "float_parsing": "must be a number",
        "finite_number": "must be a number",
        "greater_than": f"must be more than {context.get('gt')}",
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "string_too_short": "must not be empty",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "literal_error": f"must be one of {context.get('expected')}",
        "string_pattern_mismatch": "must be one line of text",
    }
    return reasons.get(error["type"], f"can't be used: {error['msg']}")
