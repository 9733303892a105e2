"""docs/reference/settings.md, from the settings themselves."""

from collections.abc import Iterator

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from onetake.config import ProviderSettings, Settings
from tools.page import publish

INTRODUCTION = """\
# Settings

<!-- written by tools/docs/settings.py -->

Settings come from the environment alone, and none has to be given. `REAPI` stands for the name of any provider. A value
that can't be used is refused at the start, in one sentence that names it.
"""


def rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """A table row for each environment variable that the model reads."""
    for name, field in model.model_fields.items():
        variable = prefix + name.upper()
        if field.annotation == dict[str, ProviderSettings]:
            yield from rows(ProviderSettings, f"{variable}__REAPI__")
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from rows(field.annotation, f"{variable}__")
        else:
            yield f"| `{variable}` | {default(field)} | {field.description} |"


def default(field: FieldInfo) -> str:
    """What holds when nothing is set."""
    value = field.get_default(call_default_factory=True)
    shown = value.get_secret_value() if isinstance(value, SecretStr) else "" if value is None else str(value)
    return f"`{shown}`" if shown else "none"


table = ["| variable | if not set | what it is |", "|---|---|---|", *rows(Settings, "ONETAKE_")]
publish("settings.md", INTRODUCTION + "\n" + "\n".join(table) + "\n")
