"""The store: each method is one transaction of a study."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, case, insert, literal, select, update

from casewise.cases import Side
from casewise_study.store import blocks, people
from casewise_study.store.database import PATIENCE, Clock, Database, make_tables, steady_clock
from casewise_study.store.standing import (
    AnswerStep,
    Person,
    Progress,
    Reconciled,
    Taken,
    Vacancy,
    Visitor,
)
from casewise_study.store.tables import COUNTS, STATUS, participant, study
from casewise_study.study.accounts import Secrets
from casewise_study.study.block_design import DrawnFrom
from casewise_study.study.page_signals import PageSignals
from casewise_study.study.reading_times import pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import Collected, Kind, PersonStatus

T = TypeVar("T")


class Store:
    """A study's database. Every function may be called from any thread, and any number of times.

    Each raises ``StoreUnavailableError`` where the database does not answer for a while.
    """

    def __init__(
        self,
        of: Study,
        address: str,
        keys: Secrets,
        *,
        clock: Clock | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Open the database, and make the tables of an empty one.

        Args:
            of: The study.
            address: Of the database, such as ``sqlite:///study.db``.
            keys: From ``load_secrets``.
            clock: Tells the time, in UTC; None is this computer's, running evenly.
            patience: Seconds for which a transaction is tried again.

        Raises:
            UsageError: The database is of another study or form, or of other secrets.
        """
        self.study = of
        self.keys = keys
        self._reading = reading(of)
        drawn_from = DrawnFrom.of(of, study_cases(of)) if of.collection.is_sequential else None
        self._lease = partial(blocks.lease, of=of, cells=drawn_from)
        self._clock = clock or steady_clock()
        self._until = timedelta(minutes=of.timing.lease_minutes)
        self.pages = lru_cache(maxsize=4096)(partial(pages_of, of))
        self._database = Database(address, patience=patience)
        try:
            make_tables(self._database)
            self._write(people.claim, of=of, keys=keys)
            self._go_on_from(self._database.read(people.latest))
        except BaseException:
            self.close()
            raise

    @property
    def trouble(self) -> str | None:
        """Failure of the latest transaction, while it is tried again; None once one succeeds."""
        return self._database.trouble

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _go_on_from(self, latest: datetime | None) -> None:
        """Move the clock beyond the latest stored time, if it was set back since."""
        clock = self._clock
        if latest is not None and (ahead := latest - clock()) > timedelta(0):
            self._clock = lambda: clock() + ahead

    def _write(self, work: Callable[..., T], **given: Any) -> T:
        """Run a transaction that is told the time."""
        return self._database.write(partial(work, now=self._clock(), **given))

    def renew_leases(self) -> None:
        """Let nobody lose a place because the server was away."""
        self._write(blocks.renew_leases, until=self._until)

    def now(self) -> datetime:
        """The time of this study's clock, in UTC."""
        return self._clock()

    # People, from the first page to the last.

    def places(self) -> Vacancy:
        """Tell whether somebody new could have a block."""
        return self._database.read(partial(blocks.places, of=self.study, now=self._clock()))

    def person(self, key: str) -> Person | None:
        """The person of this key."""
        return self._find(participant.c.key == key)

    def person_of_platform(self, platform_key: str) -> Person | None:
        """The person of this account."""
        return self._find(participant.c.platform_key == platform_key)

    def person_of_code(self, code: str) -> Person | None:
        """The person of this personal code, as typed."""
        code_key = self.keys.code_key(code)
        return None if code_key is None else self._find(participant.c.code_key == code_key)

    def _find(self, where: ColumnElement[bool]) -> Person | None:
        return self._database.read(partial(people.find, where=where))

    def wait(self, person: Person) -> float:
        """Seconds until the person's page takes an answer."""
        if person.shown is None or person.block is None or person.position is None:
            return 0.0
        pages = self.pages(person.block, person.drawn)
        if person.position >= len(pages):
            return 0.0
        least = timedelta(seconds=self._reading.least_seconds(pages[person.position]))
        return max(0.0, (person.shown + least - self._clock()).total_seconds())

    def enter(self, visitor: Visitor, near: str | None = None) -> Person:
        """Register a visitor who consents, or return the person whose account is known already.

        That person then has another key than the visitor.

        Args:
            visitor: With the person who was known in the same browser before.
            near: The key of the person who began last from the same address range, within the
                minutes of the study's rule.
        """
        rater = f"p-{secrets.token_hex(5)}"

        def work(connection: Connection) -> Person:
            own = participant.c.key == visitor.key
            known = people.find(connection, own)
            if known is None and visitor.platform_key is not None:
                same = participant.c.platform_key == visitor.platform_key
                known = people.find(connection, same)
            if known is not None:
                return known
            now = self._clock()
            made = insert(participant).values(
                key=visitor.key,
                rater=rater,
                platform_key=visitor.platform_key,
                panel=visitor.panel,
                status=PersonStatus.STARTED,
                attempts=0,
                started=now,
                purged=False,
                code_key=self.keys.code_key(self.keys.personal_code(visitor.key)),
                signed=visitor.signed,
            )
            connection.execute(made)
            person = people.find(connection, own)
            assert person is not None
            people.log(connection, now, "consented", person.id)
            others: dict[Kind, str | None] = {"browser": visitor.earlier, "address": near}
            for kind, key in others.items():
                other = people.find(connection, participant.c.key == key) if key else None
                if other is not None:
                    people.link(connection, now, kind, person, other)
            return person

        return self._database.write(work)

    def same_browser(self, person: Person, other: Person | None) -> None:
        """Record that the browser of a person opened the study under another id too.

        Args:
            person: Person who was known in the browser.
            other: Person who has proved to own the other id; None for an id alone.
        """
        self._write(people.link, kind="browser", person=person, other=other)

    def decline(self) -> None:
        """Log that a visitor did not consent."""
        self._write(people.log, kind="declined")

    def _change(self, key: str, work: Callable[[Connection, Person], T]) -> T | None:
        """Run a transaction on a person, who is locked until it ends; None if there is none."""

        def locked(connection: Connection) -> T | None:
            person = people.find_locked(connection, participant.c.key == key)
            return None if person is None else work(connection, person)

        return self._database.write(locked)

    def answer_comprehension(self, key: str, attempt: int, *, passed: bool) -> Person | None:
        """Take an attempt at the comprehension check, and lease a block to whoever passes.

        Args:
            key: The person's.
            attempt: Its number, from 1; one that was taken already changes nothing.
            passed: True if every answer is right.
        """

        def work(connection: Connection, person: Person) -> Person | None:
            begun = person.status is PersonStatus.STARTED and not person.passed
            if not begun or person.attempts != attempt - 1:
                return person
            now = self._clock()
            people.change(connection, person.id, attempts=attempt)
            if passed:
                people.change(connection, person.id, passed=now)
                people.log(connection, now, "passed", person.id)
                self._lease(connection, person=person, now=now)
            elif attempt >= self.study.comprehension.attempts:
                people.end(connection, person.id, PersonStatus.SCREENED_OUT, now)
            else:
                people.log(connection, now, "missed", person.id)
            return people.find(connection, participant.c.id == person.id)

        return self._change(key, work)

    def lease(self, key: str) -> Person | None:
        """Lease a block to a person who passed when none was to be had."""

        def work(connection: Connection, person: Person) -> Person | None:
            if person.status is PersonStatus.STARTED and person.passed:
                self._lease(connection, person=person, now=self._clock())
            return people.find(connection, participant.c.id == person.id)

        return self._change(key, work)

    def answer(
        self,
        key: str,
        position: int,
        verdict: Side,
        *,
        confidence: int | None = None,
        reason: str | None = None,
        signals: PageSignals | None = None,
    ) -> AnswerStep | None:
        """Take the answer to a page, if it is the one to answer, and go to the next.

        Args:
            key: The person's.
            position: Of the page, from 0.
            verdict: The answer.
            confidence: 1 (guessing) to 5 (certain).
            reason: In the person's words.
            signals: Of the page; None where the study records none.
        """

        def work(connection: Connection, person: Person) -> AnswerStep:
            if person.status is not PersonStatus.ACTIVE or person.position != position:
                return AnswerStep(person, Taken.BEFORE)
            assert person.block is not None
            assert person.shown is not None
            now = self._clock()
            if self.wait(person):
                return AnswerStep(person, Taken.TOO_SOON)
            passed = max(0.0, (now - person.shown).total_seconds())
            pages = self.pages(person.block, person.drawn)
            # What goes beyond is a break: the time of the answer before tells how long it was.
            seconds = min(passed, self.study.timing.most_seconds)
            given: dict[str, Any] = {"verdict": verdict, "confidence": confidence, "reason": reason}
            given |= {"seconds": seconds, "time": now}
            people.write_answer(connection, self.study, person, pages[position], given, signals)
            moved: dict[str, Any] = {"position": position + 1, "shown": now}
            held = moved | {"lease_until": now + self._until}
            after = replace(person, **moved)
            if position + 1 == len(pages):
                completed, uncounted = PersonStatus.COMPLETED, PersonStatus.ABANDONED
                people.end(connection, person.id, completed, now)
                second = people.left_out(connection, self.study.second_accounts)
                counts = uncounted if person.rater in second else completed
                # A spare stays one, until the platform's export decides.
                held["status"] = case((COUNTS, literal(counts, STATUS)), else_=uncounted)
                due = self.study.asks_about
                people.change(connection, person.id, about_due=due)
                after = replace(after, status=completed, outcome=completed, about_due=due)
            people.change_block(connection, person.id, **held)
            return AnswerStep(after, Taken.YES)

        return self._change(key, work)

    def tell_about(self, key: str, answers: Mapping[str, str]) -> Person | None:
        """Take what a person says after the last case, by the names of the questions, once."""

        def work(connection: Connection, person: Person) -> Person:
            if person.about_due:
                people.write_about(connection, person.id, answers)
            return replace(person, about_due=False)

        return self._change(key, work)

    def withdraw(self, key: str) -> Person | None:
        """Delete a person's votes and free the block. Who was screened out has none."""

        def work(connection: Connection, person: Person) -> Person | None:
            if person.status in (PersonStatus.WITHDRAWN, PersonStatus.SCREENED_OUT):
                return person
            people.erase(connection, person.id)
            people.end(connection, person.id, PersonStatus.WITHDRAWN, self._clock())
            if person.outcome is PersonStatus.COMPLETED:
                people.change(connection, person.id, outcome=person.outcome)
            return people.find(connection, participant.c.id == person.id)

        return self._change(key, work)

    def personal_codes(self) -> dict[str, str]:
        """Everybody's personal code, by pseudonym."""
        query = select(participant.c.rater, participant.c.key).where(~participant.c.purged)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {rater: self.keys.personal_code(key) for rater, key in rows}

    # The administrator's.

    def purge(
        self, *, rater: str | None = None, account: str | None = None, code: str | None = None
    ) -> str | None:
        """Delete a person's data, except the hash of the account, which is recognised again.

        Args:
            rater: The person's pseudonym.
            account: In its place, the platform's id of the person.
            code: In their place, the personal code.

        Returns:
            The pseudonym that the person had; None where there is no such person.
        """
        if rater is not None:
            where = participant.c.rater == rater
        elif account is not None:
            platform_key = self.keys.platform_key(self.study.recruitment.platform, account)
            where = participant.c.platform_key == platform_key
        else:
            where = participant.c.code_key == (self.keys.code_key(code or "") or "")

        def work(connection: Connection) -> str | None:
            person = people.find_locked(connection, where & ~participant.c.purged)
            if person is not None:
                people.purge(connection, person, self._clock())
            return person.rater if person else None

        purged = self._database.write(work)
        if purged:
            self._database.forget()
        return purged

    def exclude(self, rater: str, reason: str) -> PersonStatus | None:
        """Exclude a person, as ``people.exclude`` does; the reason is published with the votes."""
        return self._write(people.exclude, rater=rater, reason=reason)

    def reconcile(self, said: Mapping[str, bool | None]) -> Reconciled:
        """Confirm people by a platform's export, as ``blocks.reconcile`` does."""
        return self._write(blocks.reconcile, said=said, of=self.study)

    def pause(self, paused: bool) -> None:
        """Pause or resume; during a pause nobody gets a block, but people can finish theirs."""

        def work(connection: Connection) -> None:
            connection.execute(update(study).values(paused=paused))
            people.log(connection, self._clock(), "paused" if paused else "resumed")

        self._database.write(work)

    def progress(self) -> Progress:
        """Progress of the study."""
        return self._database.read(partial(blocks.progress, of=self.study, now=self._clock()))

    def collected(self) -> Collected:
        """Read people, votes and checks as of one moment."""
        cells = self.study.design.cells
        return self._database.read(partial(people.collected, cells=cells))
