"""What a rehearsal left in the study's database."""

from collections.abc import Iterable

from casewise.annotation.rehearsal._log import VisitLog
from casewise.annotation.store import Store
from casewise.annotation.votes import Collected


def read_back(store: Store, logs: Iterable[VisitLog]) -> tuple[Collected, dict[str, str]]:
    """All that was collected, and the pseudonym of each visitor's account that is known."""
    platform = store.study.recruitment.platform
    raters = {}
    for log in logs:
        key = store.keys.platform_key(platform, log.platform_id)
        person = store.person_of_platform(key)
        if person is not None:
            raters[log.platform_id] = person.rater
    return store.collected(), raters
