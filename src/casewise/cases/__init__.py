"""Cases, contexts and votes: load, validate, pin, convert; the label rules.

>>> from casewise.cases import open_cases
>>> len(open_cases("starter").cases) >= 48
True
"""

from casewise.cases.cards import card_cases, load_card, system_text, wanted_reply
from casewise.cases.cells import opened
from casewise.cases.draft import Question, draft_mapping
from casewise.cases.fetch import (
    TERMS,
    casebench_data,
    casebench_templates,
    check_cache_writable,
    check_sha256,
    fetch_casebench,
)
from casewise.cases.files import (
    CASEBENCH,
    STARTER,
    CaseSet,
    SharedCases,
    find_problems,
    is_case_file,
    is_output,
    load_cases,
    load_output,
    open_cases,
    write_cases,
)
from casewise.cases.importing import NO_QUERY, Imported, cases_of, import_cases
from casewise.cases.labels import (
    LabelFields,
    Labels,
    Shape,
    default_rule,
    find_shape,
    label_notes,
    least_share,
    make_labels,
    read_label_rule,
    shape_of,
)
from casewise.cases.mapping import EXAMPLE, MAPPINGS, example_mapping, load_mapping
from casewise.cases.model import (
    GROUPS,
    SEQUENTIAL_VOTES,
    Case,
    Context,
    Side,
    Strict,
    ToolCall,
    ToolDefinition,
    Turn,
    Vote,
    VoteCounts,
    case_id,
    dataset_hash,
    digest,
    find_turn_fault,
    find_twins,
    message_fields,
    name_calls,
    read_turns,
    to_fields,
    to_line,
    turn_text,
)
from casewise.cases.personal import find_personal_data
from casewise.cases.sets import (
    CaseChange,
    SetDiff,
    diff_sets,
    merge_sets,
    sample_cases,
    split_cases,
    whole_queries,
)
from casewise.choices import MAX_SEED, LabelRule, Ties
