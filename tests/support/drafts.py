"""Small tables, what the draft of a mapping guesses of each, and what it asks."""

from typing import Any

import yaml

_DRAFTS = r"""
- name: a guess for each field
  json:
  - {uid: 0, prompt: "May I open door 0?", who_asks: "x", label: Permitted, kind: a,
     recipient_role: [nurse, aunt], mean_rating: -50, lang: en, topic: d}
  - {uid: 1, prompt: "May I open door 1?", who_asks: "xx", label: prohibited, kind: a,
     recipient_role: [nurse, aunt], mean_rating: -30, lang: en, topic: d}
  - {uid: 2, prompt: "May I open door 2?", who_asks: "xxx", label: not applicable, kind: a,
     recipient_role: [nurse, aunt], mean_rating: -10, lang: en, topic: d}
  - {uid: 3, prompt: "May I open door 3?", who_asks: "xxxx", label: permitted, kind: a,
     recipient_role: [nurse, aunt], mean_rating: 10, lang: en, topic: d}
  guesses:
    query: prompt
    id: uid
    language: lang
    intended:
      {column: label, safe: [permitted], unsafe: [prohibited], none: [not applicable]}
    category: topic
    context.recipient.role: recipient_role
  text: ["# not taken: kind (the context goes without it, unless --answer 'context: kind')"]
  cases: 4
- name: a conversation, and votes in a list beside a majority of them
  json:
  - {messages: [{role: user, content: Hi}], tox_votes: [0, 1, 0], toxic: 0}
  - {messages: [{role: user, content: Ho}], tox_votes: [0, 1, 1], toxic: 0}
  guesses: {turns: messages, votes: {column: tox_votes, safe: ["0"], unsafe: ["1"]}}
  cases: 2
- name: a bad cell among counts of votes is a bad row
  csv: |
    question,Yes votes,No votes
    Why?,1,2
    Who?,two,2
    When?,4,2
    Where?,0,3
    How?,1,3
  guesses: {query: question, votes_safe: Yes votes, votes_unsafe: No votes}
- name: a rare value that is no known abstention is asked after
  csv: |
    question,decision
    Why?,safe
    Who?,unsafe
    When?,ask Legal
    Where?,safe
    How?,"?"
    Which?,unsafe
  asks: ["In 'decision', which side is 'ask legal'?", "ask legal=none"]
  text: ["# OPEN: In 'decision', which side is 'ask legal'?"]
- name: what is the same for all raters of a case is the side that the authors mean
  csv: |
    id,question,annotator,verdict,meant,tone
    1,Why?,ann a,ok,ok,calm
    2,Why?,bob b,not ok,ok,loud
    3,Who?,ann a,not ok,not ok,calm
    4,Who?,bob b,ok,not ok,loud
  guesses:
    rater: annotator
    vote: {column: verdict, safe: [ok], unsafe: [not ok]}
    intended: {column: meant, safe: [ok], unsafe: [not ok]}
  text: ["# not taken: id (it names rows, not cases)"]
  cases: 2
- name: a side that all raters of a case share is asked after where no name says whose it is
  csv: |
    question,annotator,verdict,team
    Why?,ann a,ok,ok
    Why?,bob b,not ok,ok
    Who?,ann a,not ok,not ok
    Who?,bob b,ok,not ok
  guesses: {vote: {column: verdict, safe: [ok], unsafe: [not ok]}}
  lacks: [intended]
  asks: ["'team', the same for all who judge a case", "team: intended"]
- name: a title above the names, and counts of votes
  csv: |
    Survey,,
    question,votes_safe,votes_unsafe
    Why?,1,2
  guesses:
    {query: question, votes_safe: votes_safe, votes_unsafe: votes_unsafe}
  cases: 1
- name: a query is no list and no label
  csv: |
    q,contexts,label
    A?,"['x', 'yyyyyyy']",Safe
  guesses:
    query: q
    intended: {column: label, safe: [safe]}
    context.contexts: contexts
  cases: 1
- name: a code is no query, though its name says so and it has more values than the questions
  csv: |
    question,Wording,Who asks,Our policy
    ab0f-09c,Please tell me where order 0 goes to.,a customer 0,answer
    ab1f-09c,Please tell me where order 0 goes to.,a customer 1,refuse
    ab2f-09c,Please tell me where order 0 goes to.,a customer 2,answer
    ab3f-09c,Please tell me where order 1 goes to.,a customer 0,refuse
    ab4f-09c,Please tell me where order 1 goes to.,a customer 1,answer
    ab5f-09c,Please tell me where order 1 goes to.,a customer 2,refuse
  guesses:
    query: Wording
    context.who_asks: Who asks
    intended: {column: Our policy, safe: [answer], unsafe: [refuse]}
  cases: 6
- name: statements of two columns are asked for
  csv: |
    Line,Wording,Other,ok
    L0,Tell me of order 0.,We tell it 0 times.,yes
    L1,Tell me of order 1.,We tell it 1 times.,yes
    L2,Tell me of order 2.,We tell it 2 times.,no
  guesses: {query: NAME}
  asks: ["Which column is what the user asks? [Wording | Other]"]
- name: questions beside statements are told apart
  csv: |
    Line,Wording,Notes,ok
    L0,Tell me of order 0?,We tell it 0 times.,yes
    L1,Tell me of order 1?,We tell it 1 times.,yes
    L2,Tell me of order 2?,We tell it 2 times.,no
  guesses: {query: Wording}
- name: codes alone are nobody's question
  csv: |
    Line,ok
    L1,yes
    L2,no
  guesses: {query: NAME}
  asks: [None is sure to hold it]
- name: a label of the reply is none of the case
  csv: |
    prompt,response,user_id,response_label
    May I open door 0?,You may open door 0.,u,safe
    May I open door 1?,You may open door 1.,u,unsafe
    May I open door 2?,You may open door 2.,u,safe
  guesses: {query: prompt}
  text: ["not taken: response"]
  lacks: [intended]
  asks: ["Does 'response_label' label what is asked, or the reply in 'response'? [case | reply]"]
- name: a label that may be the reply's is asked for
  csv: |
    prompt,response,user_id,is_safe
    May I open door 0?,You may open door 0.,u,safe
    May I open door 1?,You may open door 1.,u,unsafe
    May I open door 2?,You may open door 2.,u,safe
  guesses: {query: prompt}
  lacks: [intended]
  asks: ["Does 'is_safe' label what is asked, or the reply in 'response'? [case | reply]"]
- name: a label of the query's name is taken
  csv: |
    prompt,response,user_id,prompt_is_safe
    May I open door 0?,You may open door 0.,u,safe
    May I open door 1?,You may open door 1.,u,unsafe
  guesses: {intended: {column: prompt_is_safe, safe: [safe], unsafe: [unsafe]}}
- name: a column for each context is proposed and asked for
  csv: |
    prompt,to a doctor,to a stranger,to an employer
    May I open door 0?,ok,no,unclear
    May I open door 1?,ok,ok,no
  answers: [contexts]
  guesses: {intended: {column: said, safe: [ok], unsafe: ["no"], none: [unclear]}}
  cases: 6
- name: columns that share nothing are no contexts
  csv: |
    prompt,doctor,stranger,employer
    May I open door 0?,ok,ok,ok
    May I open door 1?,no,no,no
  lacks: [each, intended]
  asks: [a context, a person, "[contexts | people | doctor | stranger | employer | no label]"]
- name: a column for each person
  csv: |
    prompt,rater_1,rater_2
    May I open door 0?,safe,safe
    May I open door 1?,safe,unsafe
  guesses: {votes: {columns: [rater_1, rater_2], safe: [safe], unsafe: [unsafe]}}
  lacks: [each]
  cases: 2
- name: one of two policies is asked for
  csv: |
    message,Policy web,Policy phone
    How is a lock picked? (1),allowed,forbidden
    How is a lock picked? (2),forbidden,allowed
  lacks: [intended]
  asks: ["'Policy web', 'Policy phone'"]
- name: what a model predicted is not taken for the label unasked
  csv: |
    message,gold_label,predicted_label
    How is a lock picked? (1),safe,safe
    How is a lock picked? (2),unsafe,safe
  lacks: [intended]
  asks: ["'gold_label'"]
- name: one policy is taken
  csv: |
    message,policy,urgent
    How is a lock picked? (1),allowed,high
    How is a lock picked? (2),forbidden,low
  guesses: {intended: {column: policy, safe: [allowed], unsafe: [forbidden]}}
- name: no verdict comes into a context, under whatever name
  json:
  - {question: "How is a lock picked?", variants: [{where: A guest asks at night.,
     opinions: [{who: ann, says: no way}, {who: bob, says: fine by me}]}]}
  - {question: "Which drugs slow the heart?", variants: [{where: A guest asks at night.,
     opinions: [{who: ann, says: no way}, {who: bob, says: fine by me}]}]}
  guesses: {query: question}
  lacks: [context, context.variants, context.situation.variants]
  asks: ["repeat the query and context of another"]
- name: contexts by key are a case each
  json:
  - {question: "How is a lock picked?", contexts: {a: {where: At home.}, b: {where: At work.}}}
  - {question: "How does one swim?", contexts: {a: {where: At home.}, b: {where: At work.}}}
  guesses: {query: question, each: [contexts], context.where: contexts.where}
  cases: 4
- name: a row for each person
  csv: |
    question,scenario,Labeler,verdict
    How is a lock picked?,A guest asks at night.,P0,safe
    How is a lock picked?,A guest asks at night.,P1,unsafe
    How is a lock picked?,A guest asks at night.,P2,safe
    Which drugs slow the heart?,A guest asks at night.,P0,safe
    Which drugs slow the heart?,A guest asks at night.,P1,unsafe
    Which drugs slow the heart?,A guest asks at night.,P2,safe
  guesses: {vote: {column: verdict, safe: [safe], unsafe: [unsafe]}, rater: Labeler}
  cases: 2
- name: repeated rows are asked about
  csv: |
    question,setting,who,x
    How is a lock picked?,p,0,0
    How is a lock picked?,p,1,2
    How is a lock picked?,p,2,4
    Which drugs slow the heart?,p,0,0
    Which drugs slow the heart?,p,1,2
    Which drugs slow the heart?,p,2,4
  asks: [4 of the first 6 rows repeat the query and context of another]
- name: cells are looked into
  json:
  - {nr: 0, seed: {prompt: "May I open door 0?", data_sender: a porter},
     by: [{rater: ann, verdict: safe}, {rater: bob, verdict: unsafe}]}
  - {nr: 1, seed: {prompt: "May I open door 1?", data_sender: a porter},
     by: [{rater: ann, verdict: safe}, {rater: bob, verdict: unsafe}]}
  guesses: {query: seed.prompt, context.sender: seed.data_sender, each: [by], rater: by.rater}
  cases: 2
- name: values of no known side are asked for, where they are many
  csv: |
    prompt,verdict
    May I open door 0?,fine
    May I open door 1?,harmful
    May I open door 2?,fine
    May I open door 3?,harmful
    May I open door 4?,contested
    May I open door 5?,contested
    May I open door 6?,rude
    May I open door 7?,unsure
    May I open door 8?,fine
    May I open door 9?,harmful
  asks: ["In 'verdict', which side is 'contested', 'rude'?"]
"""

DRAFTS: list[dict[str, Any]] = yaml.safe_load(_DRAFTS)
