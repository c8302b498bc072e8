"""Fields of a log's header that casewise reads, under Inspect's names.

Inspect takes seconds of processor to import, and a score needs a dozen of its fields. Names,
defaults and the place of a header are those of Inspect's ``EvalLog``.
"""

from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field


class TokenUsage(Protocol):
    """Tokens of a model: ``Usage``, or Inspect's ``ModelUsage``."""

    @property
    def input_tokens(self) -> int:
        """Tokens sent, those in the provider's cache left out."""

    @property
    def output_tokens(self) -> int:
        """Tokens answered."""

    @property
    def input_tokens_cache_read(self) -> int | None:
        """Tokens sent that the provider's cache held."""

    @property
    def input_tokens_cache_write(self) -> int | None:
        """Tokens sent that the provider's cache holds from now on."""

    @property
    def total_cost(self) -> float | None:
        """Dollars; None where the price is unknown."""


class _Part(BaseModel):
    model_config = ConfigDict(from_attributes=True, protected_namespaces=(), frozen=True)


class Usage(_Part):
    """Tokens of a model, as a log keeps them."""

    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None
    total_cost: float | None = None


class DataSet(_Part):
    """Samples of a run."""

    samples: int | None = None
    sample_ids: list[str | int] | None = None


class RunLimits(_Part):
    """Epochs of a run, and the part of its samples that it takes."""

    epochs: int | None = None
    limit: int | tuple[int, int] | None = None
    sample_id: str | int | list[str | int] | None = None


class Spec(_Part):
    """Task, model and data set of a run."""

    eval_id: str = ""
    created: str
    task: str
    task_id: str = ""
    task_version: int | str = 0
    task_args: dict[str, Any] = Field(default_factory=dict)
    task_args_passed: dict[str, Any] = Field(default_factory=dict)
    dataset: DataSet
    model: str
    model_base_url: str | None = None
    model_args: dict[str, Any] = Field(default_factory=dict)
    config: RunLimits
    packages: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None


class Settings(_Part):
    """Settings of a run's generation."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int | None = None


class Steps(_Part):
    """Plan of a run."""

    config: Settings = Field(default_factory=Settings)


class Counts(_Part):
    """Samples of a run that ended."""

    total_samples: int = 0
    completed_samples: int = 0


class Times(_Part):
    """Times of a run, and its tokens by model."""

    started_at: str = ""
    completed_at: str = ""
    model_usage: dict[str, Usage] = Field(default_factory=dict)


class Fault(_Part):
    """Error that ended a run."""

    message: str


class Header(_Part):
    """Header of a log."""

    status: str = "started"
    eval: Spec
    plan: Steps = Field(default_factory=Steps)
    results: Counts | None = None
    stats: Times = Field(default_factory=Times)
    error: Fault | None = None
