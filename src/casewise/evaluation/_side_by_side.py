"""Conditions of one model side by side, where an engine keeps what it computed.

Their prompts of one case share most of their beginnings, and so what has to be computed.
"""

from collections.abc import Iterable
from pathlib import Path

from inspect_ai.model import Model

from casewise.cases import address_of
from casewise.errors import UsageError
from casewise.evaluation.local import InProcess, is_in_process
from casewise.logs import LogFolder

SIDE_BY_SIDE = 32
"""Conditions of one model that run together."""

SERVERS = frozenset({"sglang", "vllm"})
"""Providers whose servers keep the beginnings of prompts, for as long as there is room: the next
condition's prompts of a case must not come after all the others of this one's."""

MADE_WITH = "made_with"
"""Where a log's metadata keeps what a model's numbers depend on: see ``InProcess.made_with``."""


def shares_beginnings(model: str) -> bool:
    """Whether a model, by its name, is the faster the nearer its similar prompts come."""
    return is_in_process(model) or model.partition("/")[0] in SERVERS


def check_same_numbers(models: Iterable[Model], log_dir: Path | LogFolder) -> None:
    """Refuse to go on with what a model judged in numbers of another width.

    Where nobody says, the width follows the machine, and a folder may be taken from one to
    another; what is done there would then be completed in other numbers without a word.

    Raises:
        UsageError: A log of the folder is of the same model and options, and of another width.
    """
    own = {
        str(model): dict(model.api.made_with)["dtype"]
        for model in models
        if isinstance(model.api, InProcess)
        and "dtype" not in model.model_args
        and model.api.made_with
    }
    folder = LogFolder.at(log_dir)
    for header in folder.headers() if own else ():
        made_with = header.metadata.get(MADE_WITH) or {}
        dtype, now = made_with.get("dtype"), own.get(header.model)
        if dtype and now and dtype != now and "dtype" not in header.log.eval.model_args:
            raise UsageError(
                f"{address_of(folder.path)}: {header.model} judged here in {dtype} on "
                f"{made_with.get('device')}; on this machine it would go on in {now}. Go on "
                "where it ran, or begin anew in another --log-dir"
            )
