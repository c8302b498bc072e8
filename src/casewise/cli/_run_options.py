"""Options of the commands that ask models, each worded once, and how their values are read."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise import choices
from casewise.cli import _complete as complete
from casewise.cli import _help as shown
from casewise.cli._options import seed_option
from casewise.errors import UsageError


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


Engine = Annotated[
    choices.EngineName,
    typer.Option(
        help="This process; or in shards, on this machine or a cluster, with the same results "
        "(docs/how-to/scale.md).",
        rich_help_panel=shown.PLACE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="ray: the cluster's head. Default: one on this machine that ends with the run.",
        rich_help_panel=shown.PLACE,
    ),
]
Size = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="ray: most judgements of a shard. Default: 50 to 1000, by the run.",
        rich_help_panel=shown.PLACE,
    ),
]
Cpus = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        help="ray: CPUs of a shard. Default: 1; a node's, for a model that a node loads.",
        rich_help_panel=shown.PLACE,
    ),
]
Gpus = Annotated[
    float | None,
    typer.Option(min=0, help="ray: GPUs of a shard. Default: 0.", rich_help_panel=shown.PLACE),
]

Sweep = Annotated[
    Path | None,
    typer.Argument(
        metavar="SWEEP",
        help="A file of models, protocols, deliveries... to run as one job "
        "(docs/how-to/sweeps.md).",
    ),
]
Model = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="PROVIDER/NAME",
        autocompletion=complete.models,
        help="A model as Inspect names it (openai/gpt-4o, vllm/NAME, "
        "openai-api/SERVICE/NAME, casewise-hf/FOLDER...). Repeat for several.",
        rich_help_panel=shown.MODEL,
    ),
]
Targets = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="FILE",
        help="A bot of your own: a file that says its address and form, or MODULE:FUNCTION "
        "(docs/start/your-bot.md). Instead of --model, or beside it. Repeat for several.",
        rich_help_panel=shown.MODEL,
    ),
]
Cases = Annotated[
    str,
    typer.Option(
        metavar="starter|casebench|FILE",
        autocompletion=complete.cases,
        help="The bundled cases, CASE-Bench (casewise cases fetch), or a file of your own.",
        rich_help_panel=shown.CASES,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        metavar=shown.several_of(choices.Protocol),
        autocompletion=complete.protocol_list,
        help="binary, score or probability (the model judges), guard (a moderation model "
        "does), respond (it is the chatbot, and its reply is graded); several joined by commas.",
        rich_help_panel=shown.PROTOCOL,
    ),
]
Delivery = Annotated[
    str | None,
    typer.Option(
        metavar=shown.several_of(choices.Delivery),
        autocompletion=complete.delivery_list,
        help="Where the context stands. Judging: judge (in the prompt; the default) or none. "
        "respond and guard: system (the deployer's description; the default), claimed (by the "
        "user), none; respond also history (over earlier turns). Several joined by commas.",
        rich_help_panel=shown.PROTOCOL,
    ),
]
Deployment = Annotated[
    str | None,
    typer.Option(
        metavar="CARD",
        autocompletion=complete.cards,
        help="respond: a deployment card instead of cases: customer-support, "
        "creative-writing, therapy-support, security-training, or a file, which may hold your "
        "bot's own system message, tools and retrieved texts (docs/how-to/acting.md).",
        rich_help_panel=shown.CONVERSATIONS,
    ),
]
Vary = Annotated[
    list[str],
    typer.Option(
        metavar="CHANGE,...",
        autocompletion=complete.changes,
        help="respond: also with every conversation changed, for example urgency, persona, "
        "twin-claim, filler-4k, revocation (docs/how-to/acting.md). Several joined by commas.",
        rich_help_panel=shown.CONVERSATIONS,
    ),
]
Seed = Annotated[int, seed_option("Of the changed conversations.", shown.CONVERSATIONS)]
Grader = Annotated[
    str | None,
    typer.Option(
        metavar="rules|PROVIDER/NAME",
        autocompletion=complete.graders,
        help="respond: a model that grades the replies. Default: by rules, offline.",
        rich_help_panel=shown.CONVERSATIONS,
    ),
]
Ablate = Annotated[
    list[str],
    typer.Option(
        metavar="PART,...",
        autocompletion=complete.parts,
        help="Groups or parameters to remove from every context (recipient,urgency); none "
        "leaves contexts whole, to compare with. Repeat for several ablations.",
        rich_help_panel=shown.CASES,
    ),
]
Swap = Annotated[
    list[str],
    typer.Option(
        metavar="PART,...|each",
        autocompletion=complete.parts,
        help="Also with a parameter or group of every context taken from the twin's: which "
        "change flips the model? Several joined by commas; each: every single one.",
        rich_help_panel=shown.CASES,
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        metavar="upstream|casewise:LANGUAGE|FILE",
        autocompletion=complete.prompts,
        help="The data's own prompts, ours in one language (casewise:en, de, es, fr, zh), or a "
        "template file with {query} and {context}. Default: ours, in each case's language.",
        rich_help_panel=shown.PROTOCOL,
    ),
]
VerdictWords = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A table of words by which answers in other languages are read "
        "(docs/how-to/cases.md).",
        rich_help_panel=shown.PROTOCOL,
    ),
]
Sampling = Annotated[
    str,
    typer.Option(
        metavar=shown.one_of(choices.Sampling),
        autocompletion=complete.one_of(lambda: choices.Sampling),
        help="Temperature 0, or as the published runs sampled (docs/reference/scores.md).",
        rich_help_panel=shown.SAMPLING,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        help="Answers that the protocol score averages. Default: 3.", rich_help_panel=shown.SAMPLING
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(help="Only the first N cases of the file.", rich_help_panel=shown.CASES),
]
LogDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder for the logs, or an address such as s3://bucket/folder; the same folder "
        "again resumes a stopped run.",
        rich_help_panel=shown.PLACE,
    ),
]
MaxConnections = Annotated[
    int | None,
    typer.Option(
        help="Requests at once for each provider, over all shards. Default: Inspect's, for "
        "each process.",
        rich_help_panel=shown.PLACE,
    ),
]
AttemptTimeout = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS",
        envvar="CASEWISE_ATTEMPT_TIMEOUT",
        show_envvar=False,
        help="When a request is given up and sent again. Default: 300.",
        rich_help_panel=shown.PLACE,
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Longest answer, in tokens.", rich_help_panel=shown.SAMPLING)
]
Epochs = Annotated[
    int, typer.Option(help="How often each case is asked.", rich_help_panel=shown.SAMPLING)
]
ModelBaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Address of the model's API.", rich_help_panel=shown.MODEL),
]
ModelArg = Annotated[
    list[str],
    typer.Option(
        "--model-arg",
        "-M",
        metavar="KEY=VALUE",
        help="An argument of the model's provider. Repeat for several.",
        rich_help_panel=shown.MODEL,
    ),
]
Generate = Annotated[
    list[str],
    typer.Option(
        metavar="KEY=VALUE",
        help="A setting of the model's generation, as Inspect names it: reasoning_effort, "
        "top_p, stop_seqs, extra_body... (docs/how-to/sweeps.md). Repeat for several.",
        rich_help_panel=shown.SAMPLING,
    ),
]
Client = Annotated[
    str,
    typer.Option(
        metavar=shown.one_of(choices.Client),
        autocompletion=complete.one_of(lambda: choices.Client),
        help="What sends the requests of openai-api models: a lean client where the options "
        "allow it, or Inspect's own (docs/method/speed.md).",
        rich_help_panel=shown.PLACE,
    ),
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Send through the provider's batch interface: half the price, answers within a "
        "day (docs/how-to/batches.md). For openai, anthropic, google, grok and together.",
        rich_help_panel=shown.COST,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print requests, tokens and cost; send nothing.",
        rich_help_panel=shown.COST,
    ),
]
PriceIn = Annotated[
    float | None,
    typer.Option(help="Dollars for a million input tokens.", rich_help_panel=shown.COST),
]
PriceOut = Annotated[
    float | None,
    typer.Option(help="Dollars for a million output tokens.", rich_help_panel=shown.COST),
]
GraderPriceIn = Annotated[
    float | None,
    typer.Option(
        help="respond: the same of the grader's input tokens.", rich_help_panel=shown.COST
    ),
]
GraderPriceOut = Annotated[
    float | None,
    typer.Option(
        help="respond: the same of the grader's output tokens.", rich_help_panel=shown.COST
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        metavar="DOLLARS",
        help="Stop when so much is spent (earlier starts in the folder too); nothing is lost.",
        rich_help_panel=shown.COST,
    ),
]
Status = Annotated[
    bool,
    typer.Option(
        "--status", help="Of a sweep: what is done; asks nothing.", rich_help_panel=shown.OUTPUT
    ),
]
