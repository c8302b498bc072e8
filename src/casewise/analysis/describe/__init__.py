"""The human side of a data set: what its votes show, and what in it to beware of."""

from casewise.analysis.describe._context_checks import (
    RepeatedContexts,
    SimilarQueries,
    broken_pairs,
    repeated_contexts,
    similar_queries,
)
from casewise.analysis.describe._context_effect import CategoryTests, ContextEffect
from casewise.analysis.describe._description import DRAWS, Ceiling, Description, describe_cases
from casewise.analysis.describe._findings import Finding, FindingLevel, plural
from casewise.analysis.describe._provenance import Provenance
from casewise.analysis.describe._record import as_description_record

__all__ = [
    "CategoryTests",
    "Ceiling",
    "ContextEffect",
    "DRAWS",
    "Description",
    "Finding",
    "FindingLevel",
    "Provenance",
    "RepeatedContexts",
    "SimilarQueries",
    "as_description_record",
    "broken_pairs",
    "describe_cases",
    "plural",
    "repeated_contexts",
    "similar_queries",
]
