"""Votes, ties, and what must be known of where cases come from."""

from casewise.analysis.audit._finding import AuditFinding, counted
from casewise.analysis.audit._material import Material
from casewise.analysis.describe import plural


def provenance(material: Material) -> list[AuditFinding]:
    """Findings about votes, sources and licences."""
    cases = material.cases
    voted = [case for case in cases if (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    bare = [case.id for case in cases if not (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    ties = [case.id for case in voted if case.votes_safe == case.votes_unsafe]
    sources = [case.id for case in cases if case.source is None]
    licences = [case.id for case in cases if case.licence is None]
    return [
        *counted(
            "tied-votes",
            f"{plural(len(ties), 'case')} with votes that are exactly even. A label by majority "
            "has to settle them: count ties half or drop them (--ties), and ask one more person.",
            ties,
            len(voted),
        ),
        *counted(
            "missing-votes",
            f"{plural(len(bare), 'case')} without a vote of a person: what people think of them "
            "is not known.",
            bare,
            len(cases),
        ),
        *counted(
            "missing-source",
            f"{plural(len(sources), 'case')} without a source.",
            sources,
            len(cases),
        ),
        *counted(
            "missing-licence",
            f"{plural(len(licences), 'case')} without a licence: nobody may know what they may do "
            "with it.",
            licences,
            len(cases),
        ),
    ]
