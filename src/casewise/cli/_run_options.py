"""Options of the commands that ask models, each in one place, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from casewise import choices
from casewise.cli import _complete as complete
from casewise.cli._console import Format
from casewise.cli._help import (
    CASES,
    CONVERSATIONS,
    COST,
    MODEL,
    OUTPUT,
    PLACE,
    PROTOCOL,
    SAMPLING,
    one_of,
    several_of,
)
from casewise.cli._options import argument, card_option, cases_option, flag, option, seed_option
from casewise.errors import UsageError

if TYPE_CHECKING:
    from casewise.evaluation import ClusterOptions, Prices


def parse_model_args(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` of ``--model-arg``; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, or a secret, which everybody on the
            machine could read in the list of processes.
    """
    # Late: it imports Inspect, which takes seconds.
    from casewise.evaluation import refuse_secret

    arguments: dict[str, Any] = {}
    for name, value in _pairs("--model-arg", pairs):
        refuse_secret("--model-arg", name)
        arguments[name] = value
    return arguments


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` of ``--generate``, checked; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, a key given twice, or what
            ``check_settings`` refuses.
    """
    if not pairs:
        return {}
    from casewise.evaluation import check_settings

    settings: dict[str, Any] = {}
    for name, value in _pairs("--generate", pairs):
        if name in settings:
            raise UsageError(f"--generate {name}: given twice")
        settings[name] = value
    return check_settings("--generate", settings)


def _pairs(option: str, pairs: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # What stands there may be a key.
            raise UsageError(f"{option}: write KEY=VALUE")
        try:
            yield name, json.loads(value)
        except (ValueError, RecursionError):
            yield name, value


def new_log_dir() -> Path:
    """Folder of a run's logs where none is named: by its start."""
    return Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S")


MaxConnections = Annotated[
    int | None,
    option(
        "Requests at once for each provider, over all shards. Default: Inspect's, for each "
        "process.",
        PLACE,
    ),
]

MaxTokens = Annotated[int | None, option("Longest answer, in tokens.", SAMPLING)]

ModelBaseUrl = Annotated[str | None, option("Address of the model's API.", MODEL, "URL")]

SameServer = Annotated[
    bool,
    flag(
        "--same-server",
        "Go on in the folder although a model's address is another: it is the same model.",
        MODEL,
    ),
]

ModelArg = Annotated[
    tuple[str, ...],
    option(
        "An argument of the model's provider. Repeat for several.",
        MODEL,
        "KEY=VALUE",
        None,
        "--model-arg",
        "-M",
    ),
]

Generate = Annotated[
    tuple[str, ...],
    option(
        "A setting of the model's generation, as Inspect names it: reasoning_effort, "
        "top_p, stop_seqs, extra_body... (docs/how-to/sweeps.md). Repeat for several.",
        SAMPLING,
        "KEY=VALUE",
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Options of ``casewise run``, by panel."""

    sweep: Annotated[
        Path | None,
        argument(
            "SWEEP",
            "A file of models, protocols, deliveries... to run as one job (docs/how-to/sweeps.md).",
        ),
    ] = None
    model: Annotated[
        tuple[str, ...],
        option(
            "A model as Inspect names it (openai/gpt-4o, vllm/NAME, "
            "openai-api/SERVICE/NAME, casewise-hf/FOLDER...). Repeat for several.",
            MODEL,
            "PROVIDER/NAME",
            complete.models,
            "--model",
            "-m",
        ),
    ] = ("casewise/smollm2",)
    target: Annotated[
        tuple[str, ...],
        option(
            "A bot of your own: a file that says its address and form, or MODULE:FUNCTION "
            "(docs/how-to/bots.md). Instead of --model, or beside it. Repeat for several.",
            MODEL,
            "FILE",
        ),
    ] = ()
    model_base_url: ModelBaseUrl = None
    same_server: SameServer = False
    model_arg: ModelArg = ()
    cases: Annotated[
        str,
        cases_option(
            "The bundled cases, CASE-Bench (casewise cases fetch), or a file of your own.", CASES
        ),
    ] = "starter"
    ablate: Annotated[
        tuple[str, ...],
        option(
            "Groups or parameters to remove from every context (recipient,urgency); none "
            "leaves contexts whole, to compare with. Repeat for several ablations.",
            CASES,
            "PART,...",
            complete.parts,
        ),
    ] = ()
    swap: Annotated[
        tuple[str, ...],
        option(
            "Also with a parameter or group of every context taken from the twin's: which "
            "change flips the model? Several joined by commas; each: every single one.",
            CASES,
            "PART,...|each",
            complete.parts,
        ),
    ] = ()
    limit: Annotated[int | None, option("Only the first N cases of the file.", CASES)] = None
    pairs: Annotated[
        int | None,
        option("Most pairs of one query, where the protocol asks of pairs. Default: all.", CASES),
    ] = None
    protocol: Annotated[
        str,
        option(
            "binary, score or probability (the model judges), guard (a moderation model does), "
            "respond (it is the chatbot, and its reply is graded); several joined by commas.",
            PROTOCOL,
            several_of(choices.protocol_names()),
            complete.protocol_list,
        ),
    ] = choices.PROTOCOL
    delivery: Annotated[
        str | None,
        option(
            "Where the context stands. Judging: judge (in the prompt; the default) or none. "
            "respond and guard: system (the deployer's description; the default), claimed (by the "
            "user), none; respond also history (over earlier turns). Several joined by commas.",
            PROTOCOL,
            several_of(choices.Delivery),
            complete.delivery_list,
        ),
    ] = None
    prompt: Annotated[
        str | None,
        option(
            "The data's own prompts, ours in one language (casewise:en, de, es, fr, zh), or a "
            "template file with {query} and {context}. Default: ours, in each case's language.",
            PROTOCOL,
            "upstream|casewise:LANGUAGE|FILE",
            complete.prompts,
        ),
    ] = None
    deployment: Annotated[
        str | None,
        card_option(
            "respond: a deployment card instead of cases: customer-support, "
            "creative-writing, therapy-support, security-training, or a file, which may hold your "
            "bot's own system message, tools and retrieved texts (docs/how-to/acting.md).",
            CONVERSATIONS,
        ),
    ] = None
    vary: Annotated[
        tuple[str, ...],
        option(
            "respond: also with every conversation changed, for example urgency, persona, "
            "twin-claim, filler-4k, revocation (docs/how-to/acting.md). Several joined by commas.",
            CONVERSATIONS,
            "CHANGE,...",
            complete.changes,
        ),
    ] = ()
    evidence: Annotated[
        str | None,
        option(
            "Every rung of an evidence ladder instead of --delivery: the query alone, a claim, ... "
            "a tool that says true, or false; judges read it as a context. ladder, or a file "
            "(docs/how-to/evidence-ladder.md).",
            CONVERSATIONS,
            "ladder|FILE",
            complete.ladders,
        ),
    ] = None
    seed: Annotated[int, seed_option("Of the changed conversations.", CONVERSATIONS)] = 0
    grader: Annotated[
        str | None,
        option(
            "respond: a model that grades the replies, or rules,PROVIDER/NAME: only those that the "
            "rules doubt. Default: by rules, offline.",
            CONVERSATIONS,
            "rules|PROVIDER/NAME",
            complete.graders,
        ),
    ] = None
    sampling: Annotated[
        str,
        option(
            "Temperature 0, or as the published runs sampled (docs/reference/scores.md).",
            SAMPLING,
            one_of(choices.Sampling),
            complete.one_of(lambda: choices.Sampling),
        ),
    ] = "greedy"
    samples: Annotated[
        int | None, option("Answers that the protocol score averages. Default: 3.", SAMPLING)
    ] = None
    max_tokens: MaxTokens = None
    epochs: Annotated[int, option("How often each case is asked.", SAMPLING)] = 1
    generate: Generate = ()
    log_dir: Annotated[
        Path | None,
        option(
            "Folder for the logs, or an address such as s3://bucket/folder; the same folder "
            "again resumes a stopped run.",
            PLACE,
            "FOLDER",
        ),
    ] = None
    max_connections: MaxConnections = None
    attempt_timeout: Annotated[
        int | None,
        option(
            "When a request is given up and sent again. Default: 300.",
            PLACE,
            "SECONDS",
            envvar="CASEWISE_ATTEMPT_TIMEOUT",
            show_envvar=False,
        ),
    ] = None
    client: Annotated[
        str,
        option(
            "What sends the requests of openai-api models: a lean client where the options "
            "allow it, or Inspect's own (docs/method/speed.md).",
            PLACE,
            one_of(choices.Client),
            complete.one_of(lambda: choices.Client),
        ),
    ] = "auto"
    batch: Annotated[
        bool,
        flag(
            "--batch",
            "Send through the provider's batch interface: half the price, answers within a "
            "day. For openai, anthropic, google, grok and together. A batch that can't be created, "
            "expires or is cancelled, or whose run is stopped or killed, may be paid again.",
            COST,
        ),
    ] = False
    status: Annotated[bool, flag("--status", "Of a sweep: what is done; asks nothing.", OUTPUT)] = (
        False
    )
    format: Annotated[Format, option("Of a sweep: how its matrix is printed.", OUTPUT)] = (
        Format.TABLE
    )


@dataclass(frozen=True)
class Cost:
    """Count of what would be asked, and its prices."""

    dry_run: Annotated[
        bool, flag("--dry-run", "Print requests, tokens and cost; send nothing.", COST)
    ] = False
    price_in: Annotated[float | None, option("Dollars for a million input tokens.", COST)] = None
    price_out: Annotated[float | None, option("Dollars for a million output tokens.", COST)] = None

    @property
    def prices(self) -> Prices:
        """Prices of the model."""
        from casewise.evaluation import Prices

        return Prices(self.price_in, self.price_out)


@dataclass(frozen=True)
class RunCost(Cost):
    """The same with the grader's prices, and a limit."""

    grader_price_in: Annotated[
        float | None, option("respond: the same of the grader's input tokens.", COST)
    ] = None
    grader_price_out: Annotated[
        float | None, option("respond: the same of the grader's output tokens.", COST)
    ] = None
    max_cost: Annotated[
        float | None,
        option(
            "Stop when so much is spent (earlier starts in the folder too); nothing is lost.",
            COST,
            "DOLLARS",
        ),
    ] = None

    @property
    def grader_prices(self) -> Prices:
        """Prices of the model that grades replies."""
        from casewise.evaluation import Prices

        return Prices(self.grader_price_in, self.grader_price_out)


@dataclass(frozen=True)
class EngineChoice:
    """Engine that runs models."""

    engine: Annotated[
        choices.EngineName,
        option(
            "This process; or in shards, on this machine or a cluster, with the same results "
            "(docs/how-to/scale.md).",
            PLACE,
        ),
    ] = choices.EngineName.PROCESS
    address: Annotated[
        str | None,
        option(
            "ray: the cluster's head. Default: one on this machine that ends with the run.",
            PLACE,
            "HOST:PORT",
        ),
    ] = None
    shard_size: Annotated[
        int | None,
        option("ray: most judgements of a shard. Default: 50 to 1000, by the run.", PLACE, min=1),
    ] = None
    shard_cpus: Annotated[
        float | None,
        option(
            "ray: CPUs of a shard. Default: 1; a node's, for a model that a node loads.",
            PLACE,
            min=0.01,
        ),
    ] = None
    shard_gpus: Annotated[
        float | None, option("ray: GPUs of a shard. Default: 0.", PLACE, min=0)
    ] = None

    def cluster(self) -> ClusterOptions | None:
        """The cluster; None is this process.

        Raises:
            UsageError: An option of Ray's without it.
        """
        _, *for_ray = ((field.name, getattr(self, field.name)) for field in fields(self))
        if self.engine is choices.EngineName.PROCESS:
            if stray := next((name for name, value in for_ray if value is not None), None):
                raise UsageError(f"--{stray.replace('_', '-')} is for --engine ray")
            return None
        from casewise.evaluation import ClusterOptions

        return ClusterOptions(
            self.address, self.shard_size, self.shard_cpus, self.shard_gpus or 0.0
        )
