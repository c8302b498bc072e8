"""The one loop that asks models: shards of conditions, each a log, by as many workers as pay."""

from casewise.evaluation.executor._context import Observer, RunContext
from casewise.evaluation.executor._loop import StopObserver, ask_all
from casewise.evaluation.executor._shard import Outcome, ShardRun
from casewise.evaluation.executor._work import Clients, Work, cell_name, make_work, open_clients

__all__ = [
    "Clients",
    "Observer",
    "Outcome",
    "RunContext",
    "ShardRun",
    "StopObserver",
    "Work",
    "ask_all",
    "cell_name",
    "make_work",
    "open_clients",
]
