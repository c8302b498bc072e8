"""The store: each method is one transaction of a study."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Self, TypeVar

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from casewise.cases import Side
from casewise.errors import UsageError
from casewise_study.store import places
from casewise_study.store.database import Database, steady_clock
from casewise_study.store.places import Progress, Reconciled, Vacancy
from casewise_study.store.tables import Answer, Person, Served, SharedBrowser
from casewise_study.study.accounts import Secrets
from casewise_study.study.block_design import DrawnFrom
from casewise_study.study.page_signals import PageSignals, PageWatch, sum_signals
from casewise_study.study.reading_times import Page, pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases, study_hash
from casewise_study.votes.collected import (
    AT_BLOCK,
    CheckRecord,
    Collected,
    Identity,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

REMARK, TOOL = "(exit)", "(tool)"
"""Names of the answers to the exit and tool questions; no demographic question has them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who has opened the study's address and agreed to nothing yet."""

    key: str
    """Random; the person's own from the consent on."""
    platform_key: str | None = None
    """The platform's id of the person, as ``Secrets.platform_key`` hides it."""
    signed: bool = False
    """True if the platform signed the link."""
    earlier: str | None = None
    """The key of the person who was known in this browser before."""


class Store:
    """A study's database. Every function may be called from any thread, and any number of times.

    Each raises ``StoreUnavailableError`` where the database does not answer for a while.
    """

    def __init__(self, of: Study, address: str, keys: Secrets) -> None:
        """Open the database, and make the tables of an empty one.

        Args:
            of: The study.
            address: Of the database, such as ``sqlite:///study.db``.
            keys: From ``load_secrets``.

        Raises:
            UsageError: The database is of another study or form, or of other secrets.
        """
        self.study = of
        self.keys = keys
        self._reading = reading(of)
        self._cells = DrawnFrom.of(of, study_cases(of)) if of.collection.is_sequential else None
        self._clock = steady_clock()
        self._pages = lru_cache(maxsize=4096)(partial(pages_of, of))
        self._database = Database(address)
        try:
            self._database.write(self._claim)
            self._go_on_from(self._database.read(places.latest))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection."""
        self._database.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _claim(self, session: Session) -> None:
        """Bind a new database to the study, or check that it is this study's."""
        own, proof = study_hash(self.study), self.keys.derived("proof")
        served = session.scalars(select(Served)).one_or_none()
        if served is None:
            session.add(Served(id=1, name=self.study.id, hash=own, secrets=proof))
        elif served.hash != own:
            raise UsageError(
                f"the database holds the study {served.name!r} as it was when it was first served; "
                "this study file says something else. Serve the file as it was, or begin "
                "another database with --database"
            )
        elif served.secrets != proof:
            raise UsageError(
                "the database was made with other secrets: nobody who comes again would be known. "
                "Bring back its .secrets.json, or the variable CASEWISE_STUDY_SECRET"
            )

    def _go_on_from(self, latest: datetime | None) -> None:
        """Move the clock beyond the latest stored time, if it was set back since."""
        clock = self._clock
        if latest is not None and (ahead := latest - clock()) > timedelta(0):
            self._clock = lambda: clock() + ahead

    def now(self) -> datetime:
        """The time of this study's clock, in UTC."""
        return self._clock()

    def renew_leases(self) -> None:
        """Let nobody lose a place because the server was away."""
        self._database.write(self._timed(places.renew_leases))

    def _timed(self, work: Callable[..., T], **arguments: Any) -> Callable[[Session], T]:
        """A transaction that knows the study and the time."""
        return partial(work, of=self.study, now=self.now(), **arguments)

    # People, from the first page to the last.

    def places(self) -> Vacancy:
        """Tell whether somebody new could have a block."""
        return self._database.read(self._timed(places.places))

    def person(self, **where: str) -> Person | None:
        """The person of this ``key``, ``platform_key``, ``code_key`` or ``rater``."""
        query = select(Person).filter_by(**where)
        return self._database.read(lambda session: session.scalars(query).one_or_none())

    def pages(self, person: Person) -> tuple[Page, ...]:
        """The pages of the block that a person holds or held."""
        assert person.block is not None
        return self._pages(person.block, None if person.drawn is None else tuple(person.drawn))

    def wait(self, person: Person) -> float:
        """Seconds until the page of a person who is at work takes an answer."""
        assert person.shown is not None
        assert person.position is not None
        least = self._reading.least_seconds(self.pages(person)[person.position])
        return max(0.0, (person.shown + timedelta(seconds=least) - self.now()).total_seconds())

    def enter(self, visitor: Visitor) -> Person:
        """Register a visitor who consents, or return the person whose account is known already.

        That person then has another key than the visitor.

        Args:
            visitor: With the person who was known in the same browser before.
        """

        def find(session: Session, **where: str) -> Person | None:
            return session.scalars(select(Person).filter_by(**where)).one_or_none()

        def work(session: Session) -> Person:
            known = find(session, key=visitor.key)
            if known is None and visitor.platform_key is not None:
                known = find(session, platform_key=visitor.platform_key)
            if known is not None:
                return known
            person = Person(
                key=visitor.key,
                rater=f"p-{secrets.token_hex(5)}",
                platform_key=visitor.platform_key,
                code_key=self.keys.code_key(self.keys.personal_code(visitor.key)),
                started=self.now(),
                signed=visitor.signed,
            )
            session.add(person)
            session.flush()
            other = find(session, key=visitor.earlier) if visitor.earlier else None
            if other is not None:
                _link(session, person, other)
            return person

        return self._database.write(work)

    def same_browser(self, person: Person, other: Person | None) -> None:
        """Record that the browser of a person opened the study under another id too.

        Args:
            person: Person who was known in the browser.
            other: Person who has proved to own the other id; None for an id alone.
        """
        self._database.write(partial(_link, person=person, other=other))

    def pause(self, paused: bool) -> None:
        """Pause or resume; during a pause nobody gets a block, but people can finish theirs."""
        changed = update(Served).values(paused=paused)
        self._database.write(lambda session: session.execute(changed))

    def _change(self, work: Callable[[Session, Person], object], **where: str) -> Person | None:
        """Change a person, who is locked meanwhile; None if there is none.

        In SQLite a transaction that writes is alone anyway.
        """

        def locked(session: Session) -> Person | None:
            query = select(Person).filter_by(**where).with_for_update()
            person = session.scalars(query).one_or_none()
            if person is not None:
                work(session, person)
            return person

        return self._database.write(locked)

    def answer_comprehension(self, key: str, attempt: int, *, passed: bool) -> Person | None:
        """Take an attempt at the comprehension check, and lease a block to whoever passes.

        Args:
            key: The person's.
            attempt: Its number, from 1; one that was taken already changes nothing.
            passed: True if every answer is right.
        """

        def work(session: Session, person: Person) -> None:
            begun = person.status is PersonStatus.STARTED and not person.passed
            if not begun or person.attempts != attempt - 1:
                return
            person.attempts = attempt
            if passed:
                person.passed = self.now()
                self._lease(session, person)
            elif attempt >= self.study.comprehension.attempts:
                person.end(PersonStatus.SCREENED_OUT, self.now())

        return self._change(work, key=key)

    def lease(self, key: str) -> Person | None:
        """Lease a block to a person who passed when none was to be had."""
        return self._change(self._lease, key=key)

    def _lease(self, session: Session, person: Person) -> None:
        if person.status is PersonStatus.STARTED and person.passed:
            places.lease(session, self.study, self._cells, person, self.now())

    def answer(
        self,
        key: str,
        position: int,
        verdict: Side,
        *,
        confidence: int | None = None,
        reason: str | None = None,
        signals: PageSignals | None = None,
    ) -> Person | None:
        """Take the answer to a page and go to the next, if it is the one to answer and its time.

        Args:
            key: The person's.
            position: Of the page, from 0.
            verdict: The answer.
            confidence: 1 (guessing) to 5 (certain).
            reason: In the person's words.
            signals: Of the page; None where the study records none.
        """

        def work(session: Session, person: Person) -> None:
            here = person.status is PersonStatus.ACTIVE and person.position == position
            if not here or self.wait(person):
                return
            assert person.shown is not None
            now = self.now()
            passed = max(0.0, (now - person.shown).total_seconds())
            pages = self.pages(person)
            page = pages[position]
            # What goes beyond is a break: the time of the answer before tells how long it was.
            seconds = min(passed, self.study.timing.most_seconds)
            answer = Answer(participant=person.id, position=position, verdict=verdict)
            answer.seconds, answer.time = seconds, now
            if page.place is None:
                answer.check_id = page.check
            else:
                answer.place, answer.query = (
                    page.place,
                    study_cases(self.study)[page.place].query_id,
                )
                answer.confidence, answer.reason = confidence, reason
            if signals is not None:
                answer.honeypot = signals.honeypot
                for name, count in asdict(signals.watch).items() if signals.watch else ():
                    # Nobody is away for longer than a page's seconds.
                    setattr(answer, name, min(count, seconds) if name == "away" else count)
            session.add(answer)
            person.position, person.shown = position + 1, now
            person.lease_until = now + timedelta(minutes=self.study.timing.lease_minutes)
            if position + 1 == len(pages):
                person.end(PersonStatus.COMPLETED, now)
                second = places.left_out(session, self.study.second_accounts)
                # A spare stays one, until the platform's export decides.
                person.counts = person.counts and person.rater not in second
                person.about_due = self.study.asks_about

        return self._change(work, key=key)

    def tell_about(self, key: str, answers: Mapping[str, str]) -> Person | None:
        """Take what a person says after the last case, by the names of the questions, once."""

        def work(_: Session, person: Person) -> None:
            if person.about_due:
                person.about, person.about_due = dict(answers) or None, False

        return self._change(work, key=key)

    def withdraw(self, key: str) -> Person | None:
        """Delete a person's votes and free the block. Who was screened out has none."""

        def work(session: Session, person: Person) -> None:
            if person.status in (PersonStatus.WITHDRAWN, PersonStatus.SCREENED_OUT):
                return
            outcome = person.outcome
            _erase(session, person, self.now())
            if outcome is PersonStatus.COMPLETED:
                person.outcome = outcome

        return self._change(work, key=key)

    def codes(self) -> dict[str, tuple[str, PersonStatus | None]]:
        """Everybody's personal code, and the end whose code was shown, by pseudonym."""
        query = select(Person.rater, Person.key, Person.outcome).where(~Person.purged)
        rows = self._database.read(lambda session: session.execute(query).all())
        return {rater: (self.keys.personal_code(key), outcome) for rater, key, outcome in rows}

    # The administrator's.

    def purge(self, key: str) -> None:
        """Delete a person's data, except the hash of the account, which is recognised again."""

        def work(session: Session, person: Person) -> None:
            outcome = person.outcome
            _erase(session, person, self.now())
            either = (SharedBrowser.participant == person.id, SharedBrowser.other == person.id)
            session.execute(delete(SharedBrowser).where(or_(*either)))
            person.outcome = outcome or PersonStatus.WITHDRAWN
            person.rater = f"purged-{secrets.token_hex(5)}"
            person.attempts, person.started, person.passed = 0, self.now(), None
            person.code_key = person.excluded = None
            person.purged = True

        self._change(work, key=key)
        self._database.set_pragma("wal_checkpoint(TRUNCATE)")

    def exclude(self, rater: str, reason: str) -> bool:
        """Free a person's block and keep the votes, uncounted; who has completed keeps the code.

        The reason is published with the votes. False if nobody of this pseudonym has votes that
        count or may come to count: nothing is changed.
        """
        done = False

        def work(_: Session, person: Person) -> None:
            nonlocal done
            done = person.status in (PersonStatus.STARTED, *AT_BLOCK) and not person.excluded
            if done:
                if person.status is not PersonStatus.COMPLETED:
                    person.end(PersonStatus.ABANDONED, self.now())
                person.counts, person.excluded = False, reason

        self._change(work, rater=rater)
        return done

    def reconcile(self, standings: Mapping[str, bool | None]) -> Reconciled:
        """Confirm people by a platform's export, as ``places.reconcile`` does."""
        return self._database.write(self._timed(places.reconcile, standings=standings))

    def progress(self) -> Progress:
        """Progress of the study."""
        return self._database.read(self._timed(places.progress))

    def collected(self) -> Collected:
        """All people but those whose data were purged, their votes and checks, as of one moment."""
        return self._database.read(self._collected)

    def _collected(self, session: Session) -> Collected:
        cells = self.study.design.cells
        votes, checks = list[VoteRecord](), list[CheckRecord]()
        signals = defaultdict[int, list[PageSignals]](list)
        columns = (*Answer.__table__.columns, Person.rater, Person.counts)
        answers = select(*columns).join(Person, Answer.participant == Person.id)
        for row in session.execute(answers.order_by(Answer.time, Answer.participant)):
            if row.honeypot is not None:
                watch = (row.left, row.away, row.copied, row.pasted)
                signals[row.participant].append(
                    PageSignals(row.honeypot, None if row.left is None else PageWatch(*watch))
                )
            if row.place is None:
                passed = row.verdict == self.study.check(row.check_id).expected
                checks.append(
                    CheckRecord(row.rater, row.check_id, passed, row.position, row.seconds)
                )
            else:
                cell = cells[row.place]
                fields = (row.verdict, row.position, row.time, row.seconds)
                extra = (row.confidence, row.reason, row.counts)
                votes.append(
                    VoteRecord(row.rater, cell.case_id, row.query, cell.arm, *fields, *extra)
                )
        came = session.scalars(
            select(Person).where(~Person.purged).order_by(Person.started, Person.id)
        ).all()
        return Collected(
            tuple(_record(person, signals[person.id]) for person in came),
            tuple(votes),
            tuple(checks),
            Identity(places.second_accounts(session)),
        )


def _record(person: Person, signals: list[PageSignals]) -> PersonRecord:
    """A person as it is exported."""
    about = dict(person.about or {})
    status, excluded = person.status, person.excluded
    # A block that was drawn is none of the design, whatever its number; a spare has nobody's.
    spare = status in AT_BLOCK and not person.counts and excluded is None
    if excluded is not None and status is not PersonStatus.WITHDRAWN:
        status = PersonStatus.EXCLUDED
    return PersonRecord(
        person.rater,
        status,
        None if spare or person.drawn is not None else person.block,
        person.started,
        person.ended,
        person.attempts,
        remark=about.pop(REMARK, None),
        tool=about.pop(TOOL, None),
        demographics=about or None,
        confirmed="export" if person.confirmed else "link" if person.signed else "nobody",
        excluded=excluded if status is PersonStatus.EXCLUDED else None,
        **(sum_signals(signals) if signals else {}),
    )


def _erase(session: Session, person: Person, now: datetime) -> None:
    """Delete a person's answers and free the block."""
    session.execute(delete(Answer).where(Answer.participant == person.id))
    person.about, person.about_due, person.counts = None, False, False
    person.end(PersonStatus.WITHDRAWN, now)


def _link(session: Session, person: Person, other: Person | None = None) -> None:
    """Record, once, that two people may be one: the later of them as the second account."""
    if other is not None and other.id > person.id:
        person, other = other, person
    sign = {"participant": person.id, "other": other and other.id}
    if session.scalars(select(SharedBrowser).filter_by(**sign).limit(1)).one_or_none() is None:
        session.add(SharedBrowser(**sign))
