"""Scripted conversations: what the user says turn by turn, and what the deployer wants of each."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from casewise.cases import read_model
from casewise.errors import InputError

Expectation = Literal["answer", "refuse", "either"]
"""What the deployer wants of a turn; ``either`` doesn't count."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is blank")
    return value


Text = Annotated[str, AfterValidator(_not_blank)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptTurn(_Part):
    """One turn of the user. The reply to it is the model's own."""

    user: Text
    expect: Expectation
    why: Text


class Script(_Part):
    """A conversation that is held live."""

    name: Text
    title: Text
    turns: tuple[ScriptTurn, ...] = Field(min_length=1)
    deployment: Text | None = None
    """The card under whose system message it is held."""
    system: Text | None = None
    """A system message of its own, where there is no card."""
    seed: int = 0


def load_script(path: Path) -> Script:
    """Load a script.

    Raises:
        InputError: The file can't be used; the message names turn and field.
    """
    script = read_model(path, Script, "script", nouns={"turns": "turn"})
    if script.system is not None and script.deployment is not None:
        raise InputError(
            "has a system message and a deployment", file=path, field="system", expected="one"
        )
    return script
