"""Cases, contexts and votes: load, validate, pin, convert; the label rules.

>>> from casewise.cases import open_cases
>>> len(open_cases("starter").cases) >= 48
True
"""

from casewise.cases._case import (
    GROUPS,
    SEQUENTIAL_VOTES,
    Case,
    Context,
    Role,
    Side,
    ToolDefinition,
    Turn,
    Vote,
    VoteCounts,
    dataset_hash,
    digest,
    find_turn_fault,
    find_twins,
    name_calls,
    read_turns,
    sequential_tags,
    to_fields,
    to_line,
    turn_text,
    without_sequential_tags,
)
from casewise.cases._deployment_card import CARDS, card_cases, load_card, system_text, wanted_reply
from casewise.cases._diff import CaseChange, FieldChange, SetDiff, diff_sets
from casewise.cases._draft import draft_mapping
from casewise.cases._fetch import (
    OPEN_SETS,
    TERMS,
    casebench_data,
    casebench_templates,
    check_cache_writable,
    check_sha256,
    fetch_casebench,
    fetch_open_set,
)
from casewise.cases._grids import WORKBOOKS, delimiter_of, printed
from casewise.cases._import import Imported, import_cases
from casewise.cases._labels import (
    LabelFields,
    Labels,
    default_rule,
    flags_query,
    label_notes,
    make_labels,
    read_label_rule,
)
from casewise.cases._load import (
    CASEBENCH,
    STARTER,
    CaseSet,
    Form,
    Release,
    SharedCases,
    add_release,
    find_problems,
    is_output,
    load_cases,
    load_output,
    load_releases,
    open_cases,
    releases_path,
)
from casewise.cases._mapping import EXAMPLE, MAPPINGS, example_mapping, load_mapping
from casewise.cases._merge import merge_sets
from casewise.cases._personal_patterns import find_pieces
from casewise.cases._query_list import ListedQuery, load_queries
from casewise.cases._rows import read_table
from casewise.cases._sets import SetPart, sample_cases, split_cases, whole_queries
from casewise.cases._upstream import UpstreamOutput
from casewise.cases._write_cases import write_cases
from casewise.cases._yaml_files import fault, read_model, read_plain_yaml
from casewise.choices import MAX_SEED, LabelRule, Ties

__all__ = [
    "MAX_SEED",
    "CARDS",
    "CASEBENCH",
    "Case",
    "CaseChange",
    "CaseSet",
    "Context",
    "EXAMPLE",
    "FieldChange",
    "Form",
    "GROUPS",
    "Imported",
    "LabelFields",
    "LabelRule",
    "read_label_rule",
    "Labels",
    "ListedQuery",
    "MAPPINGS",
    "OPEN_SETS",
    "Release",
    "Role",
    "STARTER",
    "SEQUENTIAL_VOTES",
    "SetDiff",
    "SetPart",
    "SharedCases",
    "Side",
    "TERMS",
    "Ties",
    "ToolDefinition",
    "Turn",
    "UpstreamOutput",
    "Vote",
    "VoteCounts",
    "WORKBOOKS",
    "add_release",
    "card_cases",
    "casebench_data",
    "casebench_templates",
    "check_cache_writable",
    "check_sha256",
    "dataset_hash",
    "default_rule",
    "delimiter_of",
    "diff_sets",
    "digest",
    "draft_mapping",
    "example_mapping",
    "fault",
    "fetch_casebench",
    "fetch_open_set",
    "find_pieces",
    "find_problems",
    "find_turn_fault",
    "find_twins",
    "flags_query",
    "import_cases",
    "is_output",
    "load_card",
    "load_cases",
    "load_mapping",
    "load_output",
    "load_queries",
    "load_releases",
    "label_notes",
    "make_labels",
    "merge_sets",
    "name_calls",
    "open_cases",
    "printed",
    "read_model",
    "read_plain_yaml",
    "read_table",
    "read_turns",
    "releases_path",
    "sample_cases",
    "sequential_tags",
    "split_cases",
    "system_text",
    "to_fields",
    "to_line",
    "turn_text",
    "wanted_reply",
    "whole_queries",
    "without_sequential_tags",
    "write_cases",
]
