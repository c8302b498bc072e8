"""The tables of a study's database, and their rows as objects."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    Index,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from casewise.cases import Side
from casewise_study.votes.collected import PersonStatus


class Utc(TypeDecorator[datetime]):
    """A moment in UTC; SQLite keeps no zones, so none is written."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into the database."""
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Out of the database."""
        return value and value.replace(tzinfo=UTC)


STATUS = Enum(
    PersonStatus,
    native_enum=False,
    values_callable=lambda statuses: [status.value for status in statuses],
)


class Base(DeclarativeBase):
    """Tables of a study."""

    type_annotation_map: ClassVar = {
        str: Text,
        datetime: Utc,
        PersonStatus: STATUS,
        dict[str, str]: JSON(none_as_null=True),
        list[int]: JSON(none_as_null=True),
    }


class Served(Base):
    """The study whose votes these are: one row, which is locked while a block is leased."""

    __tablename__ = "study"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    hash: Mapped[str]
    """Of the study file."""
    secrets: Mapped[str]
    """Hash of the key to the ids."""
    paused: Mapped[bool] = mapped_column(default=False)


_COUNTS = text("counts")


class Person(Base):
    """A participant: account, status, block and page."""

    __tablename__ = "participant"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    rater: Mapped[str] = mapped_column(unique=True)
    """The pseudonym."""
    platform_key: Mapped[str | None] = mapped_column(unique=True)
    """The platform's id of the person, as ``Secrets.platform_key`` hides it."""
    code_key: Mapped[str | None] = mapped_column(unique=True)
    """The personal code, as ``Secrets.code_key`` hides it."""
    status: Mapped[PersonStatus] = mapped_column(default=PersonStatus.STARTED)
    outcome: Mapped[PersonStatus | None]
    """Code that the person was shown, once it has ended; stays when the votes are deleted."""
    attempts: Mapped[int] = mapped_column(default=0)
    """At the comprehension check."""
    started: Mapped[datetime]
    passed: Mapped[datetime | None]
    """Time at which the check was passed."""
    ended: Mapped[datetime | None]
    purged: Mapped[bool] = mapped_column(default=False)
    signed: Mapped[bool] = mapped_column(default=False)
    """True if the platform signed the link."""
    confirmed: Mapped[bool | None]
    """Word of the platform's export on the person's work; None until one was read."""
    excluded: Mapped[str | None]
    """Reason of whoever runs the study; the votes stay, uncounted."""
    about_due: Mapped[bool] = mapped_column(default=False)
    """True if the questions after the last case are still to be asked."""
    about: Mapped[dict[str, str] | None]
    """Answers to them."""
    block: Mapped[int | None]
    drawn: Mapped[list[int] | None]
    """The cells of a block that was drawn as the person came, by their places in the design; None
    of a planned one."""
    counts: Mapped[bool] = mapped_column(default=False)
    """True for the one person of a block whose votes count; others at it are spares, until an
    export decides."""
    position: Mapped[int | None]
    """The first page without an answer, from 0."""
    shown: Mapped[datetime | None]
    """Time at which that page was first shown."""
    lease_until: Mapped[datetime | None]

    __table_args__ = (
        Index("one_counts", "block", unique=True, sqlite_where=_COUNTS, postgresql_where=_COUNTS),
    )

    def end(self, status: PersonStatus, now: datetime) -> None:
        """End the participation with the code of a status."""
        self.status = self.outcome = status
        self.ended = now


def _of_person(**options: Any) -> Mapped[int]:
    return mapped_column(ForeignKey("participant.id"), **options)


class Answer(Base):
    """The answer to a page: a vote on a case, or to an attention check; and the page's signals."""

    __tablename__ = "answer"

    participant: Mapped[int] = _of_person(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int | None]
    """In the cells of the design; None of an attention check."""
    query: Mapped[str | None]
    """The id of the case's query: nobody judges one twice."""
    check_id: Mapped[str | None]
    verdict: Mapped[Side]
    seconds: Mapped[float]
    confidence: Mapped[int | None]
    reason: Mapped[str | None]
    time: Mapped[datetime]
    honeypot: Mapped[bool | None]
    """True if the page's hidden text was followed; None where the study has none."""
    left: Mapped[int | None]
    """As ``PageWatch``, with what follows; None where scripts are off."""
    away: Mapped[float | None]
    copied: Mapped[int | None]
    pasted: Mapped[int | None]

    __table_args__ = (UniqueConstraint("participant", "query"),)


class SharedBrowser(Base):
    """A sign that two people are one: one browser was used by both."""

    __tablename__ = "second_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    participant: Mapped[int] = _of_person()
    other: Mapped[int | None] = _of_person()
    """Person who began before; None where the person's browser opened the study under an id that
    did not begin there."""
