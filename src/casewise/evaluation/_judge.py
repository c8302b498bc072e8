"""The task ``casewise/judge``: a model judges whether a query is safe to answer in its context.

Paper: Sun et al., CASE-Bench, ICML 2025, arXiv 2501.14940.

    inspect eval casewise/judge -T protocol=binary -T cases=FILE --model openai/gpt-4o
    inspect eval casewise/judge -T cases=casebench -T ablate=recipient,urgency --model vllm/NAME
"""

from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import get_model

from casewise.cases import STARTER, digest
from casewise.errors import CasewiseError
from casewise.evaluation._condition import Condition, choose, make_condition
from casewise.evaluation._samples import task_metadata, to_sample
from casewise.evaluation._sampling import Sampling, make_draw, resolve_sampling
from casewise.evaluation._scorer import read_answers
from casewise.evaluation._solver import ask
from casewise.evaluation.seam import PrerequisiteError
from casewise.protocols import Protocol

VERSION = "1-A"
"""A number for the comparability of results, a letter for the interface."""


@task
def judge(
    protocol: str = Protocol.PROBABILITY,
    cases: str = STARTER,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    swap: str | None = None,
    prompt: str | None = None,
    sampling: str = Sampling.GREEDY,
    samples: int | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    model_name: str | None = None,
    verdict_words: str | None = None,
    draw_seed: int | None = None,
) -> Task:
    """Judge cases in their contexts.

    Args:
        protocol: ``binary``, ``score`` (1 to 10) or ``probability`` (of the first token).
        cases: ``starter``, ``casebench`` or a file of cases.
        delivery: ``judge`` (the context stands in the prompt) or ``none`` (the query alone).
        ablate: Groups or parameters to remove from every context, joined by commas.
        swap: A parameter or group that every case takes from its twin.
        prompt: ``upstream`` or a template's path; ours by default, in the language of each case.
        sampling: ``greedy``, ``reference``, ``reference-api`` or ``reference-open``.
        samples: Answers that ``score`` averages.
        limit: Only the first cases of the file.
        max_tokens: Longest answer.
        model_name: The model whose reference sampling is meant, where it isn't the run's.
        verdict_words: A table of words by which answers are read, beside ours.
        draw_seed: Tells repetitions apart where answers are drawn at random.
    """
    if protocol == Protocol.RESPOND:
        raise PrerequisiteError("protocol respond is the task casewise/respond")
    try:
        condition = make_condition(
            cases,
            protocol=protocol,
            delivery=delivery,
            ablate=ablate,
            prompt=prompt,
            limit=limit,
            swap=swap,
            verdict_words=verdict_words,
            draw_seed=draw_seed,
        )
    except CasewiseError as error:
        # Inspect shows this one without a traceback.
        raise PrerequisiteError(str(error)) from error
    chosen = choose(Sampling, sampling, "sampling")
    model = "" if chosen is Sampling.GREEDY else model_name or str(get_model())
    settled = resolve_sampling(chosen, model)
    draw = make_draw(
        condition.protocol, settled, model=model, samples=samples, max_tokens=max_tokens
    )
    words = {} if verdict_words is None else {"verdict_words": verdict_words}
    return Task(
        dataset=MemoryDataset(
            [to_sample(case, condition, draw) for case in condition.cases],
            name=condition.data.name,
        ),
        solver=ask(samples=draw.samples, logprobs=bool(draw.config.logprobs)),
        scorer=read_answers(protocol=condition.protocol, **words),
        config=draw.config,
        version=judge_version(condition),
        metadata=task_metadata(condition, settled, draw),
    )


def judge_version(condition: Condition) -> str:
    """The task's version, a part of its identity.

    Other cases, another template or another table of words under the same path are not taken for
    those that a folder of logs already answers.
    """
    words = condition.words_version
    made_of = [condition.data.hash, condition.prompts.version, *([words] if words else [])]
    return f"{VERSION}+{digest(*made_of)}"
