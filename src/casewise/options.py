"""Options of a run, each declared once: its type, its default, and an ``Input`` with its help.

Commands, ``cw.plan``, sweeps, Inspect's tasks and the keys of runs are made from the classes here;
a new option is a field. An *axis* takes one value or several, whose product is run; it tells runs
apart, and is a part of their key unless it is None. Any other option takes one value, and tells no
runs apart. An option may need only what stands above it (``runs.plan.NEEDS``).
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial, wraps
from itertools import product
from os import PathLike, fspath
from pathlib import Path
from types import GenericAlias
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from casewise.choices import (
    CARDS,
    MAX_SEED,
    PROTOCOL,
    RULES,
    SMOLLM2,
    Delivery,
    EngineName,
    Input,
    Sampling,
    grading_model,
    protocol_names,
)
from casewise.errors import UsageError, choose_from, shorten

Kind = TypeVar("Kind")
Result = TypeVar("Result")

ARGUMENT = "Arguments"
MODEL = "Model"
CASES = "Cases"
PROTOCOLS = "Protocol"
CONVERSATIONS = "Conversations"
SAMPLING = "Sampling"
PLACE = "Where it runs"
COST = "Cost"

PANELS = (
    *(ARGUMENT, MODEL, CASES, PROTOCOLS, CONVERSATIONS),
    *(SAMPLING, PLACE, COST),
)
"""Panels of the help of ``casewise run``, in its order."""

NONE = "none"
"""Word for no value of an axis, where it is none of its choices."""

PAIRS = "KEY=VALUE"
"""Form of a mapping on the command line."""

OUR_PROMPTS = tuple(f"casewise:{language}" for language in ("en", "de", "es", "fr", "zh"))


@dataclass(frozen=True, kw_only=True)
class ConditionOptions:
    """What is asked: options of ``casewise run``, ``cw.plan``, sweeps, and Inspect's tasks."""

    cases: Annotated[
        str,
        Input(
            "The bundled cases, CASE-Bench (casewise cases fetch), or a file of your own.",
            CASES,
            "starter|casebench|FILE",
            axis=True,
            choices=lambda: ("starter", "casebench"),
            file=True,
        ),
    ] = "starter"
    protocol: Annotated[
        str,
        Input(
            "binary, score or probability (the model judges), guard (a moderation model does), "
            "respond (it is the chatbot, and its reply is graded).",
            PROTOCOLS,
            axis=True,
            commas=True,
            choices=protocol_names,
        ),
    ] = PROTOCOL
    evidence: Annotated[
        str | None,
        Input(
            "Every rung of an evidence ladder instead of --delivery: the query alone, a claim, ... "
            "a tool that says true, or false; judges read it as a context "
            "(docs/how-to/evidence-ladder.md).",
            CONVERSATIONS,
            axis=True,
            choices=lambda: ("ladder",),
        ),
    ] = None
    rung: Annotated[
        str | None,
        Input("Only one rung of the ladder.", CONVERSATIONS, "RUNG", axis=True),
    ] = None
    delivery: Annotated[
        str | None,
        Input(
            "Where the context stands. Judging: judge (in the prompt; the default) or none. "
            "respond and guard: system (the deployer's description; the default), claimed (by the "
            "user), none; respond also history (over earlier turns).",
            PROTOCOLS,
            axis=True,
            commas=True,
            choices=lambda: Delivery,
        ),
    ] = None
    ablate: Annotated[
        str | None,
        Input(
            "Groups or parameters to remove from every context (recipient,urgency); none leaves "
            "contexts whole, to compare with.",
            CASES,
            "PART,...",
            axis=True,
            complete="parts",
        ),
    ] = None
    deployment: Annotated[
        str | None,
        Input(
            "respond: a deployment card instead of cases: customer-support, creative-writing, "
            "therapy-support, security-training, or a file, which may hold your bot's own system "
            "message, tools and retrieved texts (docs/how-to/acting.md).",
            CONVERSATIONS,
            "CARD",
            axis=True,
            choices=lambda: CARDS,
            file=True,
        ),
    ] = None
    vary: Annotated[
        str | None,
        Input(
            "respond: also ask with every conversation changed, for example urgency, persona, "
            "twin-claim, filler-4k, revocation (docs/how-to/acting.md).",
            CONVERSATIONS,
            "CHANGE,...",
            axis=True,
            commas=True,
            complete="changes",
        ),
    ] = None
    swap: Annotated[
        str | None,
        Input(
            "Also ask with this parameter or group of each context taken from its twin's; each: "
            "every one in turn.",
            CASES,
            "PART,...|each",
            axis=True,
            commas=True,
            complete="parts",
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Input(
            "The data's own prompts, ours in one language (casewise:en, de, es, fr, zh), or a "
            "template file with {query} and {context}. Default: ours, in each case's language.",
            PROTOCOLS,
            "upstream|casewise:LANGUAGE|FILE",
            axis=True,
            choices=lambda: ("upstream", *OUR_PROMPTS),
            file=True,
        ),
    ] = None
    only: Annotated[
        str | None,
        Input(
            "Only cases whose id, query id, category or a tag matches (* is any text), as a run of "
            "its own.",
            CASES,
            "PATTERN",
            axis=True,
        ),
    ] = None
    limit: Annotated[int | None, Input("Only the first N cases.", CASES, least=1)] = None
    pairs: Annotated[
        int | None,
        Input(
            "rank: most pairs of a query. Default: all.",
            CASES,
            "N",
            axis=True,
            least=1,
        ),
    ] = None
    grader: Annotated[
        str | None,
        Input(
            "respond: a model that grades the replies, or rules,PROVIDER/NAME: only those that the "
            "rules doubt. Default: rules, offline.",
            CONVERSATIONS,
            "rules|PROVIDER/NAME",
            axis=True,
            choices=lambda: (RULES,),
        ),
    ] = None
    sampling: Annotated[
        str,
        Input(
            "Temperature 0, or as the published runs sampled (docs/reference/scores.md).",
            SAMPLING,
            axis=True,
            choices=lambda: Sampling,
        ),
    ] = str(Sampling.GREEDY)
    seed: Annotated[
        int | None,
        Input(
            "Seed of changed conversations, and of answers that are sampled.",
            SAMPLING,
            "N",
            axis=True,
            least=0,
            most=MAX_SEED,
        ),
    ] = None
    samples: Annotated[
        int | None,
        Input(
            "Answers that the protocol score averages. Default: 3.",
            SAMPLING,
            "N",
            axis=True,
            least=1,
        ),
    ] = None
    max_tokens: Annotated[
        int | None, Input("Longest answer, in tokens.", SAMPLING, "N", axis=True, least=1)
    ] = None

    @property
    def grading_model(self) -> str | None:
        """Model that grades replies, all or some; None where none does."""
        return grading_model(self.grader)


@dataclass(frozen=True, kw_only=True)
class RunOptions(ConditionOptions):
    """Which model is asked, and how: options of ``casewise run``, ``cw.plan`` and sweeps."""

    model: Annotated[
        str,
        Input(
            "A model as Inspect names it (openai/gpt-4o, vllm/NAME, openai-api/SERVICE/NAME, "
            "casewise-hf/FOLDER...), or a bot of your own: its file, or MODULE:FUNCTION "
            "(docs/how-to/bots.md).",
            MODEL,
            "PROVIDER/NAME|FILE",
            "--model -m",
            axis=True,
            choices=lambda: (SMOLLM2,),
        ),
    ] = SMOLLM2
    model_base_url: Annotated[str | None, Input("Address of the model's API.", MODEL, "URL")] = None
    model_arg: Annotated[
        Mapping[str, Any],
        Input(
            "An argument of the model's provider.",
            MODEL,
            PAIRS,
            "--model-arg -M",
            axis=True,
        ),
    ] = field(default_factory=dict)
    generate: Annotated[
        Mapping[str, Any],
        Input(
            "A setting of the model's generation, as Inspect names it: reasoning_effort, top_p, "
            "stop_seqs, extra_body... (docs/how-to/sweeps.md).",
            SAMPLING,
            PAIRS,
            axis=True,
        ),
    ] = field(default_factory=dict)
    epochs: Annotated[int, Input("How often each case is asked.", SAMPLING, least=1)] = 1
    max_connections: Annotated[
        int | None,
        Input(
            "Requests at once for each model, in each shard. Default: 50.",
            PLACE,
            least=1,
        ),
    ] = None
    attempt_timeout: Annotated[
        int | None,
        Input(
            "Seconds after which a request is sent again. Default: 300.",
            PLACE,
            "SECONDS",
            least=1,
        ),
    ] = None
    batch: Annotated[
        bool,
        Input(
            "Send through the provider's batch interface: half the price, answers within a day. "
            "For openai, anthropic, google, grok and together. A batch that can't be created, "
            "expires or is cancelled, or whose run is stopped or killed, may be paid again.",
            COST,
        ),
    ] = False
    price_in: Annotated[
        float | None, Input("Dollars for a million input tokens.", COST, least=0)
    ] = None
    price_out: Annotated[
        float | None, Input("Dollars for a million output tokens.", COST, least=0)
    ] = None
    grader_price_in: Annotated[
        float | None,
        Input("respond: dollars for a million input tokens of the grader.", COST, least=0),
    ] = None
    grader_price_out: Annotated[
        float | None,
        Input("respond: dollars for a million output tokens of the grader.", COST, least=0),
    ] = None
    withhold: bool = False
    """True if logs hold no text of cases and answers; a new start asks again what no log holds."""


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """What one start of a run is, where it works, and how far it goes: of ``casewise run``."""

    sweep: Annotated[
        Path | None,
        Input(
            "A file of models, protocols, deliveries... to run as one job (docs/how-to/sweeps.md).",
            ARGUMENT,
            "SWEEP",
        ),
    ] = None
    dry_run: Annotated[
        bool, Input("Print requests, tokens and cost, and what is judged already.", COST)
    ] = False
    log_dir: Annotated[
        Path | None,
        Input(
            "Folder for the logs, or an address such as s3://bucket/folder; the same folder again "
            "resumes a stopped run.",
            PLACE,
            "FOLDER",
        ),
    ] = None
    same_server: Annotated[
        bool,
        Input(
            "Go on in a folder although the address of the same model changed.",
            MODEL,
        ),
    ] = False
    engine: Annotated[
        EngineName,
        Input(
            "This process; or in shards, on this machine or a cluster, with the same results "
            "(docs/how-to/scale.md).",
            PLACE,
        ),
    ] = EngineName.PROCESS
    address: Annotated[
        str | None,
        Input(
            "ray: the cluster's head. Default: one on this machine that ends with the run.",
            PLACE,
            "HOST:PORT",
        ),
    ] = None
    shard_cpus: Annotated[
        float | None,
        Input(
            "ray: CPUs of a shard. Default: 1; a node's, for a model that a node loads.",
            PLACE,
            least=0.01,
        ),
    ] = None
    shard_gpus: Annotated[
        float | None, Input("ray: GPUs of a shard. Default: 0.", PLACE, least=0)
    ] = None
    max_cost: Annotated[
        float | None,
        Input(
            "Stop at this cost, earlier starts in the folder included; judgements are kept.",
            COST,
            "DOLLARS",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MakingOptions:
    """Options of ``casewise contexts generate`` beside its files and costs."""

    model: Annotated[
        str,
        Input(
            "The model that writes, as Inspect names it.",
            MODEL,
            "PROVIDER/NAME",
            option="--model -m",
            complete="models",
        ),
    ]
    critic: Annotated[
        str | None,
        Input(
            "The model that reviews what the rules let pass; none: rules alone. "
            "Default: the model that writes.",
            MODEL,
            "PROVIDER/NAME|none",
            complete="models",
        ),
    ] = None
    seed: Annotated[int, Input("Seed of every request.", SAMPLING, least=0)] = 0
    temperature: Annotated[
        float, Input("Temperature of the model that writes.", SAMPLING, least=0)
    ] = 0.8
    max_tokens: Annotated[int, Input("Longest answer, in tokens.", SAMPLING, least=1)] = 4096
    language: Annotated[
        str | None, Input("Language of queries that name none (en, de, pt-BR).", CASES)
    ] = None
    source: Annotated[str | None, Input("Source of queries that name none.", CASES)] = None
    licence: Annotated[str | None, Input("Licence of queries that name none.", CASES)] = None
    max_connections: Annotated[int, Input("Queries at once.", PLACE, least=1)] = 20


class Option(NamedTuple):
    """An option, as its field declares it."""

    name: str
    kind: Any
    """Type of a value that isn't None."""
    default: Any
    about: Input

    @property
    def spelling(self) -> str:
        """Spelling on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """Names that it knows."""
        return tuple(map(str, self.about.choices() if self.about.choices is not None else ()))

    def in_full(self, value: Any) -> Any:
        """A value with the whole path of its file, if it is one."""
        return str(_path(Path.cwd(), self, value)) if self.about.file else value

    @property
    def is_mapping(self) -> bool:
        """Tell whether a value is a mapping."""
        return get_origin(self.kind) is not None


@cache
def options_of(kind: Any) -> Mapping[str, Option]:
    """Options of a class by name, in its order."""
    hints = get_type_hints(kind, include_extras=True)
    options = {}
    for declared in fields(kind):
        value, *abouts = get_args(hints[declared.name]) or [None]
        about = next((about for about in abouts if isinstance(about, Input)), None)
        if about is not None:
            value = get_args(value)[0] if type(None) in get_args(value) else value
            default = None if declared.default is MISSING else declared.default
            options[declared.name] = Option(declared.name, value, default, about)
    return options


@cache
def schema(kind: Any) -> Any:
    """Pydantic's model of a class of options as they are given: a line of a sweep."""
    from pydantic import BeforeValidator, ConfigDict, Field, create_model

    def field_of(option: Option) -> Any:
        about = option.about
        # A name may be a number, as a rung's.
        limits: dict[str, Any] = (
            {"coerce_numbers_to_str": True} if option.kind is str else {"strict": True}
        )
        if option.kind in (int, float):
            limits |= {"ge": about.least, "le": about.most}
        if option.kind is float:
            limits["allow_inf_nan"] = False
        closed = about.choices is not None and not (about.file or about.metavar)
        value: Any = Literal[option.choices] if closed else Annotated[option.kind, Field(**limits)]
        value = value | None if option.default is None else value
        if about.axis:
            several = BeforeValidator(
                partial(_listed, option), json_schema_input_type=value | list[value]
            )
            value = Annotated[list[value], several, Field(min_length=1)]
        return value, Field(option.default, description=about.help)

    every = {name: field_of(option) for name, option in options_of(kind).items()}
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **every)


def _listed(option: Option, argument: Any) -> list[Any]:
    """Values of an axis, each once; the word ``none`` is None."""
    values = argument if isinstance(argument, list) else [argument]
    if option.about.commas:
        values = [part for value in values for part in _parts(value)]
    if option.default is None and NONE not in option.choices:
        empty: Any = {} if option.is_mapping else None
        values = [empty if value in (NONE, None) else value for value in values]
    return [value for place, value in enumerate(values) if value not in values[:place]]


def _parts(value: Any) -> list[Any]:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else [value]


def read(kind: Any, options: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Options as given by name, checked: of an axis a list of its values.

    Args:
        kind: Class of the options.
        options: Value or values of each that is given.
        folder: Folder that paths are relative to.

    Raises:
        UsageError: There is no such option or value.
    """
    from pydantic import ValidationError

    known = options_of(kind)
    plain = {name: _plain(value) for name, value in options.items()}
    try:
        checked = schema(kind).model_validate(plain)
    except ValidationError as error:
        raise _usage_error(known, error.errors()[0]) from None
    values = {name: getattr(checked, name) for name in options}
    if folder is not None:
        for option in (known[name] for name in values if known[name].about.file):
            values[option.name] = [_path(folder, option, value) for value in values[option.name]]
    return values


def _plain(value: Any) -> Any:
    """A value as YAML would give it: paths and members of enumerations as text."""
    if isinstance(value, str | PathLike):
        return str(fspath(value))
    return list(map(_plain, value)) if isinstance(value, Sequence | Set) else value


def _usage_error(known: Mapping[str, Option], error: Any) -> UsageError:
    name, value = str(error["loc"][0]), error["input"]
    if error["type"] == "extra_forbidden":
        return UsageError(f"unknown option {name!r}: {choose_from(name, known)}")
    if error["type"] == "literal_error" and isinstance(value, str):
        return UsageError(f"unknown {name} {value!r}: {choose_from(value, known[name].choices)}")
    # What stands in a mapping's place may be a key.
    shown = "" if known[name].is_mapping else f"found {shorten(value)}, "
    expected = error["msg"].removeprefix("Input should be ")
    return UsageError(f"{known[name].spelling}: {shown}expected {expected}")


def _path(folder: Path, option: Option, value: str | None) -> str | None:
    """Path of a file in a folder; a name that is known, or MODULE:FUNCTION, as it is."""
    if value is None or value in option.choices:
        return value
    path = (folder / value).resolve()
    return str(path) if path.exists() or ":" not in value else value


def products(kind: Callable[..., Kind], options: Mapping[str, Any]) -> Iterator[Kind]:
    """Every product of the axes, from options as ``read`` gives them."""
    known = options_of(kind)
    axes = {name: options[name] for name in known if name in options and known[name].about.axis}
    for chosen in product(*axes.values()):
        yield kind(**{**options, **dict(zip(axes, chosen, strict=True))})


def key(options: Any) -> dict[str, Any]:
    """What tells a run from others: its axes, but for those that are empty."""
    kind: Any = type(options)
    axes = (name for name, option in options_of(kind).items() if option.about.axis)
    values = {name: getattr(options, name) for name in axes}
    return {name: value for name, value in values.items() if value not in (None, {})}


def takes(
    kind: Any, *places: str, **defaults: Any
) -> Callable[[Callable[[dict[str, Any]], Result]], Callable[..., Result]]:
    """Give a function of options, as they are given, these options as its parameters.

    Args:
        kind: Class of the options.
        places: Options that may be given by their place, in this order.
        defaults: Defaults that differ from the class's.
    """
    by_name, by_place = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    every = options_of(kind)
    order = [*places, *(name for name in every if name not in places)]

    def parameter(option: Option) -> inspect.Parameter:
        kind: Any = option.kind
        value = kind | GenericAlias(Sequence, (kind,)) if option.about.axis else kind
        default = defaults.get(option.name, option.default)
        return inspect.Parameter(
            option.name,
            by_place if option.name in places else by_name,
            default=default,
            annotation=value | None if default is None else value,
        )

    own = inspect.Signature([parameter(every[name]) for name in order])

    def decorate(function: Callable[[dict[str, Any]], Result]) -> Callable[..., Result]:
        @wraps(function)
        def call(*args: Any, **named: Any) -> Result:
            arguments = own.bind(*args, **named).arguments
            return function({**defaults, **arguments})

        call.__dict__["__signature__"] = own
        helps = (f"    {name}: {every[name].about.help}" for name in order)
        call.__doc__ = "\n".join([f"{inspect.getdoc(function)}\n", "Args:", *helps])
        return call

    return decorate
