"""A log without texts: built anew from what is known to be safe, so that nothing else can pass.

What a log of a later version of Inspect, or of another person's solver, holds besides is dropped:
this is a list of what is kept, not of what is removed.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score

from casewise.cases import CASEBENCH, STARTER
from casewise.errors import InputError
from casewise.exports._export_form import (
    Rules,
    hashed,
    show_grader,
    show_id,
    show_model,
    show_options,
    show_prompt,
    show_value,
    show_words,
    shown_by_column,
)
from casewise.files import address_of
from casewise.judgements import OF_CASE, TEXTS, TWIN, length_of, stand_in
from casewise.logs import (
    ANSWERED_BY,
    CANCELLED,
    CUT,
    CUT_TURNS,
    GRADER,
    OF_RUN,
    ORDER,
    REDACTED,
    SCORERS,
    SHARD,
    TURN_DOUBTS,
    TURNS_BY,
    LogHeader,
    message_text,
    read_samples,
)

_TASKS = ("casewise/judge", "casewise/respond")
_SOLVERS = ("casewise/ask", "casewise/converse")
_METRICS = ("coverage", "says_safe", "as_intended", "graded", "refuses")
_SCORE_COLUMNS = {
    "status": "status",
    "verdict": "verdict",
    "response_class": "response_class",
    "graded_by": "graded_by",
    "doubt": "doubt",
    "mentions": "mentions",
    "parameters": "parameters",
    "turns": "turn_classes",
}
"""Keys of a score, and the table's column that the rule is taken from."""

_TASK_WORDS = ("protocol", "delivery", "sampling")
_TASK_OPTIONS = ("ablate", "swap", "vary")
_TASK_NUMBERS = ("seed", "samples", "limit", "max_tokens")
_RUN_VERSIONS = ("variation_version",)
_RUN_NUMBERS = ("samples", "dataset_size", ORDER)
_SETTINGS = (
    *("temperature", "top_p", "top_k", "seed", "max_tokens", "num_choices"),
    *("logprobs", "top_logprobs", "max_retries", "attempt_timeout", "max_connections"),
)
_LIMITS = (
    *("limit", "epochs", "fail_on_error", "continue_on_fail", "retry_on_error"),
    *("score_on_error", "max_samples", "max_tasks", "log_samples", "log_buffer"),
)
_PACKAGES = ("inspect_ai", "casewise")
_VERSION = re.compile(r"[\w.+-]{1,40}")
_DOUBT = re.compile(r"\d(\.\d{1,4})?(e-\d\d)?")
_TIME = re.compile(r"[0-9T:.+Z-]{10,40}")
_MESSAGES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "assistant": ChatMessageAssistant,
    "tool": ChatMessageTool,
}


def write_redacted(header: LogHeader, known: frozenset[str], path: Path) -> int:
    """Write a log without texts in Inspect's own form (.eval); the number of its samples.

    Args:
        header: The log.
        known: Names of parameters that may be shown.
        path: The file to write.

    Raises:
        InputError: It can't be read whole.
    """
    try:
        log = _redacted(header, known)
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise InputError(f"can't be read whole: {type(error).__name__}", file=header.path) from None
    write_eval_log(log, str(path), format="eval")
    return len(log.samples or ())


def _redacted(header: LogHeader, known: frozenset[str]) -> EvalLog:
    """A log that scores like the one it is made from, and holds none of its texts.

    Kept are ids, categories, votes, verdicts, numbers, usage, times, who spoke and how long each
    text is. Messages, replies, explanations, errors, tokens, events, attachments, stores, tags,
    model arguments, addresses, paths and revisions are not.
    """
    rules = shown_by_column(known)
    log = header.read_log()
    return EvalLog(
        version=log.version,
        status=log.status,
        eval=_spec(header, log.eval, rules),
        plan=EvalPlan(
            steps=[
                EvalPlanStep(solver=step.solver)
                for step in log.plan.steps
                if step.solver in _SOLVERS
            ],
            config=_settings(log.plan.config),
        ),
        results=_results(log.results),
        stats=EvalStats(
            started_at=_time(log.stats.started_at),
            completed_at=_time(log.stats.completed_at),
            model_usage=_usage(log.stats.model_usage),
            role_usage=_role_usage(log.stats.role_usage),
        ),
        error=_error(log.error),
        samples=[_sample(one, rules) for one in read_samples(address_of(header.path), log)],
    )


def _spec(header: LogHeader, spec: EvalSpec, rules: Rules) -> EvalSpec:
    metadata = spec.metadata or {}
    sample_ids = [show_id(str(sample_id)) for sample_id in spec.dataset.sample_ids or []]
    return EvalSpec(
        eval_set_id=show_id(spec.eval_set_id) if spec.eval_set_id else None,
        eval_id=show_id(spec.eval_id),
        run_id=show_id(spec.run_id),
        created=_time(spec.created),
        task=spec.task if spec.task in _TASKS else hashed(spec.task, "task"),
        task_id=show_id(spec.task_id),
        task_version=show_id(str(spec.task_version)),
        task_args=_task_arguments(spec.task_args),
        dataset=EvalDataset(
            name=_dataset(metadata), samples=spec.dataset.samples, sample_ids=sample_ids
        ),
        model=show_model(spec.model),
        model_generate_config=_settings(spec.model_generate_config),
        config=EvalConfig(**_numbers(vars(spec.config), _LIMITS)),
        packages={
            name: version
            for name, version in spec.packages.items()
            if name in _PACKAGES and _VERSION.fullmatch(version)
        },
        metadata={
            "casewise": show_id(str(metadata["casewise"])),
            "dataset": _dataset(metadata),
            REDACTED: True,
            **{name: show_value(name, metadata.get(name), rules) for name in OF_RUN},
            **_shown(metadata, _RUN_VERSIONS, show_prompt),
            **_shown(metadata, ("grader", "grader_version"), show_grader),
            **_numbers(metadata, _RUN_NUMBERS),
            **_part(header),
        },
    )


def _part(header: LogHeader) -> dict[str, Any]:
    """Part of the run that a shard's log is; nothing of a whole log."""
    if (part := header.part) is None:
        return {}
    places = [int(place) for place in part.places]
    return {SHARD: {"run": show_id(part.run), "epoch": part.epoch, "places": places, "of": part.of}}


def _dataset(metadata: Mapping[str, Any]) -> str:
    """The name of a data set that ships or is published; of a file, its hash."""
    name = metadata.get("dataset")
    known = name in (STARTER, CASEBENCH)
    return str(name) if known else f"cases-{show_id(str(metadata.get('dataset_hash')))}"


def _task_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that name a condition; those that name files are left out."""
    # Inspect's command line turns a,b into a list.
    plain = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in given.items()
    }
    return {
        **_numbers(plain, _TASK_NUMBERS),
        **_shown(plain, _TASK_WORDS, show_words),
        **_shown(plain, _TASK_OPTIONS, show_options),
        **_shown(plain, ("grader",), show_grader),
        **({"cases": plain["cases"]} if plain.get("cases") in (STARTER, CASEBENCH) else {}),
    }


def _shown(
    given: Mapping[str, Any], names: Iterable[str], show: Callable[[str], str]
) -> dict[str, str]:
    return {name: show(given[name]) for name in names if isinstance(given.get(name), str)}


def _sample(sample: EvalSample, rules: Rules) -> EvalSample:
    target = sample.target if sample.target in ("safe", "unsafe") else ""
    input_ = sample.input
    return EvalSample(
        id=show_id(str(sample.id)),
        epoch=sample.epoch,
        input=stand_in(input_)
        if isinstance(input_, str)
        else [_message(message) for message in input_],
        target=target,
        messages=[_message(message) for message in sample.messages],
        output=_output(sample.output),
        scores={
            name: _score(score, rules)
            for name, score in (sample.scores or {}).items()
            if name in SCORERS
        }
        or None,
        metadata=_of_case(sample.metadata, rules),
        model_usage=_usage(sample.model_usage),
        role_usage=_role_usage(sample.role_usage),
        started_at=_time(sample.started_at) or None,
        completed_at=_time(sample.completed_at) or None,
        total_time=sample.total_time,
        working_time=sample.working_time,
        error=_error(sample.error),
        turn_count=sample.turn_count,
    )


def _message(message: ChatMessage) -> ChatMessage:
    return _MESSAGES.get(message.role, ChatMessageUser)(content=stand_in(message_text(message)))


def _output(output: ModelOutput) -> ModelOutput:
    return ModelOutput(
        model=show_model(output.model),
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(content=stand_in(message_text(choice.message))),
                stop_reason=choice.stop_reason,
            )
            for choice in output.choices
        ],
        usage=_one_usage(output.usage) if output.usage is not None else None,
        time=output.time,
    )


def _score(score: Score, rules: Rules) -> Score:
    value = score.value if isinstance(score.value, Mapping) else {}
    said = score.metadata or {}
    cut = _digits(said.get(CUT_TURNS))
    return Score(
        # Names of numbers are a protocol's own, and no texts.
        value=_numbers(value, filter(str.isidentifier, value)),
        answer=None if score.answer is None else stand_in(score.answer),
        explanation=None if score.explanation is None else stand_in(score.explanation),
        metadata={
            name: show_value(column, said[name], rules)
            for name, column in _SCORE_COLUMNS.items()
            if name in said
        }
        # Whose answer it is decides whether it counts; the name is a server's text.
        | ({ANSWERED_BY: "another"} if said.get(ANSWERED_BY) else {})
        | ({CUT: bool(said[CUT])} if CUT in said else {})
        | ({CUT_TURNS: " ".join(cut)} if cut else {})
        | _by_turn(said),
    )


def _by_turn(said: Mapping[str, Any]) -> dict[str, Any]:
    """Graders of the replies of a conversation, and their doubts."""
    by, doubts = said.get(TURNS_BY), said.get(TURN_DOUBTS)
    shown: dict[str, Any] = {}
    if isinstance(by, Mapping):
        numbered = ((show_model(name), _digits(numbers)) for name, numbers in by.items())
        shown[TURNS_BY] = {name: " ".join(numbers) for name, numbers in numbered}
    if isinstance(doubts, str):
        shown[TURN_DOUBTS] = " ".join(
            one if _DOUBT.fullmatch(one) else "-" for one in doubts.split()
        )
    return shown


def _digits(text: object) -> list[str]:
    return [one for one in str(text or "").split() if one.isdecimal()]


def _of_case(metadata: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """Fields that the judgement table is made from, and lengths of the texts, in characters."""
    kept = {name: show_value(name, metadata.get(name), rules) for name in OF_CASE}
    if isinstance(twin := metadata.get("twin"), Mapping):
        columns = {name: name.removeprefix("twin_") for name in TWIN}
        shown = {name: show_value(columns[name], twin.get(name), rules) for name in TWIN}
        kept["twin"] = shown | {"twin_id": show_value("case_id", twin.get("twin_id"), rules)}
    if isinstance(wanted := metadata.get("expectations"), str):
        kept["expectations"] = show_words(wanted)
    if metadata.get("grade_all") is True:
        kept["grade_all"] = True
    for name in TEXTS:
        if (text := metadata.get(name)) is not None:
            written = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            kept[f"{name}_length"] = length_of(written)
    return kept


def _results(results: EvalResults | None) -> EvalResults | None:
    if results is None:
        return None
    scores = [
        EvalScore(
            name=score.name,
            scorer=score.scorer,
            scored_samples=score.scored_samples,
            unscored_samples=score.unscored_samples,
            metrics={
                name: EvalMetric(name=name, value=result.value)
                for name, result in score.metrics.items()
                if name in _METRICS
            },
        )
        for score in results.scores
        if score.name in SCORERS and score.scorer in SCORERS
    ]
    return EvalResults(
        total_samples=results.total_samples,
        completed_samples=results.completed_samples,
        scores=scores,
    )


def _error(error: EvalError | None) -> EvalError | None:
    if error is None:
        return None
    kind = f"{CANCELLED} " if error.message.startswith(CANCELLED) else ""
    return EvalError(message=f"{kind}{stand_in(error.message)}", traceback="", traceback_ansi="")


def _settings(config: GenerateConfig) -> GenerateConfig:
    return GenerateConfig(**_numbers(vars(config), _SETTINGS))


def _numbers(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if isinstance(given.get(name), bool | int | float)}


def _usage(usage: Mapping[str, ModelUsage]) -> dict[str, ModelUsage]:
    return {show_model(model): _one_usage(used) for model, used in usage.items()}


def _role_usage(usage: Mapping[str, ModelUsage]) -> dict[str, ModelUsage]:
    return {GRADER: _one_usage(usage[GRADER])} if GRADER in usage else {}


def _one_usage(usage: ModelUsage) -> ModelUsage:
    return ModelUsage(**_numbers(vars(usage), ModelUsage.model_fields))


def _time(text: object) -> str:
    return str(text) if _TIME.fullmatch(str(text)) else ""
