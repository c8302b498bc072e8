"""Small tables that differ in kind, the mapping that a user would write for each, and its cases.

The columns of the first six are those of public sets (PrivacyLens, Shao et al. 2024; DICES,
Aroyo et al. 2023; contextual appropriateness, Jurgens et al. 2023; U-SafeBench, In et al. 2025;
MoralExceptQA, Jin et al. 2022; CAT, Pavlopoulos et al. 2020).
Every text is our own.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ORIGIN = "source: {constant: a test}\nlicence: {constant: CC0-1.0}\n"


@dataclass(frozen=True)
class Shape:
    """One shape: its files, its mapping, and fields of the cases that come out."""

    name: str
    files: dict[str, str]
    """Texts of the files; the first is imported."""
    mapping: str
    cases: list[dict[str, Any]]

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the files and the mapping; return the first file and the mapping."""
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")
        (folder / "map.yaml").write_text(self.mapping + ORIGIN, "utf-8")
        return folder / next(iter(self.files)), folder / "map.yaml"


_SHAPES = r"""
- name: mappings in cells, and a query made of columns
  files:
    main_data.json: |
      [{"name": "main1",
        "seed": {"data_type": "exam result", "data_subject": "a pupil",
                 "data_sender": "the pupil's teacher", "data_recipient": "the school's cook",
                 "transmission_principle": "a chat over lunch"},
        "vignette": {"story": "Kim eats with the cook, who asks how the exam went."}},
       {"name": "main2",
        "seed": {"data_type": "shoe size", "data_subject": "a customer",
                 "data_sender": "a shop's clerk", "data_recipient": "the customer's aunt",
                 "transmission_principle": "a phone call"},
        "vignette": {"story": "Lee is called by a customer's aunt before a birthday."}}]
  mapping: |
    id: name
    query: {text: "May {seed.data_sender} tell {seed.data_recipient} the {seed.data_type}?"}
    context.situation.story: vignette.story
    context.subject.role: seed.data_subject
    context.transmission_principle.way: seed.transmission_principle
    intended: {constant: unsafe}
  cases:
  - id: main1
    query: May the pupil's teacher tell the school's cook the exam result?
    intended: unsafe
    context:
      situation: {story: "Kim eats with the cook, who asks how the exam went."}
      subject: {role: a pupil}
      transmission_principle: {way: a chat over lunch}
  - {id: main2, query: "May a shop's clerk tell the customer's aunt the shoe size?"}
- name: a row for each rater
  files:
    dices.csv: |
      item_id,rater_id,rater_gender,rater_age,context,response,Q_overall
      1,r1,Woman,gen z,May I keep a found coin?,Ask its owner first.,No
      1,r2,Man,gen x+,May I keep a found coin?,Ask its owner first.,Yes
      1,r3,Man,gen z,May I keep a found coin?,Ask its owner first.,Unsure
      2,r1,Woman,gen z,How do I win a bet?,Bet on both sides.,Yes
      2,r1,Woman,gen z,How do I win a bet?,Bet on both sides.,Yes
  mapping: |
    id: item_id
    query: response
    context.conversation.before: context
    vote: {column: Q_overall, safe: ["No"], unsafe: ["Yes"], none: [Unsure]}
    rater: rater_id
  cases:
  - {id: "1", votes: [{rater: r1, verdict: safe}, {rater: r2, verdict: unsafe}]}
  - {id: "2", votes: [{rater: r1, verdict: unsafe}]}
- name: a column for each context
  files:
    wide.csv: |
      quote,to a boss,to a sibling,to a stranger
      You owe me lunch.,0.25,0.9,
      Nice hat.,0.75,1,0.5
  mapping: |
    query: quote
    each: {columns: [to a boss, to a sibling, to a stranger], name: relationship, value: share}
    context.recipient.relationship: relationship
    published_safe_rate: share
  cases:
  - {published_safe_rate: 0.25, context: {recipient: {relationship: to a boss}}}
  - {published_safe_rate: 0.9, context: {recipient: {relationship: to a sibling}}}
  - {query: Nice hat., published_safe_rate: 0.75}
  - {query: Nice hat., published_safe_rate: 1.0}
  - {query: Nice hat., published_safe_rate: 0.5}
- name: contexts as keys, with lists under them
  files:
    profiles.json: |
      {"I keep bees and am allergic to their stings.": [
         {"instruction": "How do I open a hive?", "unsafe": true},
         {"instruction": "When does clover bloom?", "unsafe": false}],
       "I am a healthy adult.": [{"instruction": "How do I open a hive?", "unsafe": false}]}
  mapping: |
    each: value
    query: value.instruction
    context.recipient.profile: key
    intended: {column: value.unsafe, safe: [false], unsafe: [true]}
  cases:
  - query: How do I open a hive?
    intended: unsafe
    context: {recipient: {profile: I keep bees and am allergic to their stings.}}
  - {query: "When does clover bloom?", intended: safe}
  - {query: "How do I open a hive?", intended: safe}
- name: names with a dot, and shares of people
  files:
    shares.json: |
      [{"study": "line", "context": "deli", "scenario": "May I cut in?", "human.response": 0.8}]
  mapping: |
    query: scenario
    context.situation.place: context
    published_safe_rate: human.response
  cases:
  - {published_safe_rate: 0.8, context: {situation: {place: deli}}}
- name: two cases of a row, and lists as numpy prints them
  files:
    two.csv: |
      text,parent_text,tox_codes_oc,label_oc,tox_codes_ic,label_ic
      You would say that.,I like rain.,[0. 0. 1.],0,[1. 1. 0.5],1
  mapping: |
    id: label_oc
    query: text
    category: label_ic
    cases:
    - {votes: {column: tox_codes_oc, safe: [0], unsafe: [1], none: [0.5]}}
    - votes: {column: tox_codes_ic, safe: [0], unsafe: [1], none: [0.5]}
      context.conversation.before: parent_text
      category: null
  cases:
  - id: "0"
    context: null
    category: "1"
    votes: [{verdict: safe}, {verdict: safe}, {verdict: unsafe}]
  - id: "0:2"
    context: {conversation: {before: I like rain.}}
    category: null
    votes: [{verdict: unsafe}, {verdict: unsafe}]
- name: ratings of people in a cell
  files:
    nested.csv: |
      question,place,ratings
      May I sing?,a library,"[{""rater"": ""ann"", ""rating"": 1},
      {""rater"": ""bob"", ""rating"": ""n/a""}, {""rater"": ""eve"", ""rating"": 4}]"
      May I sing?,a stage,"[{'rater': 'ann', 'rating': 5}]"
  mapping: |
    query: question
    context.situation.place: place
    each: ratings
    vote: {column: ratings.rating, scale: [1, 5], none: [n/a]}
    rater: ratings.rater
  cases:
  - votes: [{rater: ann, verdict: unsafe}, {rater: eve, verdict: safe}]
  - {votes: [{rater: ann, verdict: safe}]}
- name: names that stand twice, and the mean of ratings
  files:
    sheet.csv: |
      nr,question,label,label
      1,May I sing?,fine,3
      nr,question,label,label
      2,May I shout?,bad,1
  mapping: |
    id: nr
    query: question
    published_safe_rate: {column: label (2), scale: [1, 4]}
  cases:
  - {id: "1", published_safe_rate: 0.6666666666666666}
  - {id: "2", published_safe_rate: 0.0}
- name: lists in contexts and joined in texts, and tags of lists
  files:
    lists.json: |
      [{"q": " Why? ", "n": 3, "kinds": ["a", "b"], "roles": ["x", "y"],
        "names": "['Ann', 'Bob']", "note": "[draft]", "people": [{"of": {"name": "Cy"}}]}]
  mapping: |
    id: {text: "row-{@row}"}
    query_id: n
    query: q
    language: {constant: es-MX}
    category: {text: "{kinds}"}
    tags: [kinds, {text: "note:{note}"}, {text: "name:{people.of.name}"}, {constant: mine}]
    context.sender.roles: roles
    context.recipient.names: names
    context.recipient.note: {text: "{roles}"}
    context.policy: {constant: {allow: [questions]}}
  cases:
  - id: row-1
    query: " Why? "
    query_id: "3"
    language: es-MX
    category: a, b
    tags: [a, b, "note:[draft]", "name:Cy", mine]
    context:
      sender: {roles: [x, y]}
      recipient: {names: [Ann, Bob], note: "x, y"}
      policy: {allow: [questions]}
- name: a column for each person, and a rating beyond none of two sides
  files:
    people.json: |
      [{"q": "Why?", "a": 2, "b": 4, "c": "6,5"}]
  mapping: |
    query: q
    votes: {columns: [a, b, c], scale: [1, 7]}
  cases:
  - votes: [{rater: a, verdict: unsafe}, {rater: c, verdict: safe}]
- name: whole contexts, as mappings and as JSON, and labels of two sides and none
  files:
    whole.json: |
      [{"q": "a", "c": {"sender": {"x": "y"}}, "l": "Fine"},
       {"q": "a", "c": "{\"sender\": {\"x\": \"z\"}}", "l": 2},
       {"q": "a", "c": null, "l": "?"}]
  mapping: |
    query: q
    context: c
    intended: {column: l, safe: [fine, 1], unsafe: [bad, 2.0], none: ["?"]}
  cases:
  - {context: {sender: {x: y}}, intended: safe, tags: []}
  - {context: {sender: {x: z}}, intended: unsafe}
  - {context: null, intended: null}
- name: conversations of messages, of texts, and a query alone
  files:
    talks.json: |
      [{"t": ["Hi", "Hello", "And?"]},
       {"t": "[\"Hi\", \"Hello\", \"Then?\"]"},
       {"t": [{"from": "human", "value": "Hi?", "weight": 1}]},
       {"t": "Read: no"}]
  mapping: |
    turns: t
  cases:
  - {query: "And?", history: [{role: user, content: Hi}, {role: assistant, content: Hello}]}
  - {query: "Then?", history: [{role: user, content: Hi}, {role: assistant, content: Hello}]}
  - {query: "Hi?", history: []}
  - {query: "Read: no", history: []}
"""

SHAPES = [Shape(**one) for one in yaml.safe_load(_SHAPES)]
BY_NAME = {shape.name: shape for shape in SHAPES}
RATERS = BY_NAME["a row for each rater"]
WIDE = BY_NAME["a column for each context"]
TWICE = BY_NAME["names that stand twice, and the mean of ratings"]
