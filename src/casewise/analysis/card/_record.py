"""What a log says of how a run was made."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as its log has it, without keys, paths and addresses. None is not recorded."""

    run_id: str
    model: str
    """As it may be shown: of a path, the last part."""
    status: str
    """``success``, or how the run ended."""
    model_args: tuple[str, ...] = ()
    """``KEY=VALUE`` as the command line takes them, sorted."""
    hidden_args: tuple[str, ...] = ()
    """Names of arguments whose values might be keys, paths or addresses."""
    generate: tuple[str, ...] = ()
    """Settings of the model's generation as ``--generate`` takes them, sorted."""
    hidden_generate: tuple[str, ...] = ()
    """Names of settings whose values might be keys, paths or addresses."""
    redacted: bool = False
    """Whether the log was made fit to publish, and lacks arguments and files."""
    own_address: bool = False
    """Whether the model was reached at an address that the run was given."""
    casewise: str | None = None
    inspect: str | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)
    """Of a model in this process: ``dtype``, ``device``, ``torch``, ``transformers``."""
    task: str | None = None
    """Name and version of the task."""
    data: str | None = None
    data_hash: str | None = None
    data_size: int | None = None
    """Cases in the whole data set."""
    variation_version: str | None = None
    grader: str | None = None
    """``rules`` or a model; None where nothing is graded, or nothing says so."""
    grader_version: str | None = None
    asked: Mapping[str, str | int] = field(default_factory=dict)
    """The task's arguments that were given or have a default; of paths, the last part."""
    settings: Mapping[str, int | float] = field(default_factory=dict)
    """``temperature``, ``top_p``, ``top_k``, ``max_tokens``, ``seed``: those that were set."""
    samples: int | None = None
    """Requests a case whose answers are put together."""
    epochs: int | None = None
    """How often each case was asked anew."""
    cut: bool = False
    """Whether Inspect's own option left cases out."""
    started: str | None = None
    completed: str | None = None
    done: int | None = None
    """Samples that were completed."""
    total: int | None = None
    """Samples that were meant."""
