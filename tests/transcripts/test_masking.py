"""What masks put in the place of names, addresses, numbers and keys, and what they leave."""

from pathlib import Path
from typing import Any

from conftest import Cli
from support.fake_openai import FakeServer
from support.replayed import NEW, write_talks


def masked(cli: Cli, folder: Path, talks: list[list[str]]) -> list[list[str]]:
    """What is sent of conversations: the texts of each request, the user's and their replies."""
    lines: list[dict[str, Any] | str] = []
    for texts in talks:
        both = (({"role": "user", "content": text}, REPLY) for text in texts)
        lines.append({"messages": [message for pair in both for message in pair]})
    write_talks(folder / "talks.jsonl", lines)
    with FakeServer(lambda request: "Certainly. It is on the second shelf.") as server:
        env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        command = ("replay", "talks.jsonl", "-m", NEW, "--log-dir", "logs", "--mask")
        done = cli(*command, "--same-server", env=env)
    assert done.returncode == 0, done.stderr
    return [
        [message["content"] for message in request["messages"] if message["role"] == "user"]
        for request in server.requests
    ]


REPLY = {"role": "assistant", "content": "Certainly. It is on the first shelf of the hall."}

MASKED = [
    ("I met Anna Schmidt today.", "I met <PERSON_1> today."),
    ("Ask Dr. Baker about it.", "Ask Dr. <PERSON_1> about it."),
    ("Thomas van der Berg called.", "<PERSON_1> called."),
    ("Write to jo@example.org, please.", "Write to <EMAIL_1>, please."),
    ("It is 10.0.0.7 now.", "It is <IP_1> now."),
    ("At 12 Cedar Grove Lane, NY 10001.", "At <ADDRESS_1>, <ADDRESS_2>."),
    ("Call (555) 123-4567.", "Call <PHONE_1>."),
    ("Card 4111 1111 1111 1111 is it.", "Card <CARD_1> is it."),
    ("IBAN DE89 3704 0044 0532 0130 00.", "IBAN <ACCOUNT_1>."),
    ("Customer 12345678.", "Customer <NUMBER_1>."),
    ("My password is tulip7!", "My password is <KEY_1>"),
    ("api_key=abcd1234efgh", "api_key=<KEY_1>"),
    ("Authorization: Bearer abc.def-123456", "Authorization: Bearer <KEY_1>"),
    ("Use sk-live-abcdefghijkl0123.", "Use <KEY_1>."),
    ("postgres://me:hunter22@db/x", "postgres://me:<KEY_1>@db/x"),
    ("It is c29tZXRoaW5nc2VjcmV0MTIz here.", "It is <KEY_1> here."),
    (
        "Files mrn_00482913, AB123456 and 123456X.",
        "Files <NUMBER_1>, <NUMBER_2> and <NUMBER_3>.",
    ),
    ("Kundennummer: KD-4829, case no. 7731.", "Kundennummer: <NUMBER_1>, case no. <NUMBER_2>."),
    ("My passport number is C01X00T47.", "My passport number is <NUMBER_1>."),
    ("Insured as AB 12 34 56 C.", "Insured as <ID_1>."),
    ("Phone 030 12345678, +44 20 7946 0958", "Phone <NUMBER_1>, <PHONE_1>"),
    ("At 2001:4860:4860::8888 now", "At <IP_1> now"),
    ("Grüne Straße 5, 10115 Berlin", "<ADDRESS_1> Berlin"),
    ("GRÜNE STRASSE 5 or Grüne Str. 5b", "<ADDRESS_1> or <ADDRESS_2>"),
    ("Karl-Marx-Allee 34, Breiter Weg 7a", "<ADDRESS_1>, <ADDRESS_2>"),
    ("12 St. James's Square; 742 Évora Terrace", "<ADDRESS_1>; <ADDRESS_2>"),
    ("İzmir: Anna Schmidt, MRN-00482913", "İzmir: <PERSON_1>, <NUMBER_1>"),
    ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "<KEY_1>"),
]
"""What is written, and what is sent of it."""

LEFT = [
    "Will you help me in May? Can I see the Rose Garden?",
    "From 1914-1918, and 12 to 20 people; 3.1415926 and 1,000,000.",
    "The secret is that a password must be long: a token of respect.",
    "How do I climb over garden fence 12345 without noise?",
    "Call me at noon. My name is not important.",
    "Paris in the Summer; Florence, too.",
    "Explain CVE-2021-44228, COVID-19 and C12H22O11; is GPT-4 an AK-47?",
    "Auf Platz 3, er war 5 Stunden weg. Die Straße ist 1000 km lang.",
    "How many people are on the road? The number 42, no. 7, ID 12.",
]
"""What is no person, address, number or key."""


def test_what_is_masked_and_what_is_left(cli: Cli, tmp_path: Path) -> None:
    sent = masked(cli, tmp_path, [[text] for text, _ in MASKED] + [[text] for text in LEFT])
    wanted = [text for _, text in MASKED] + LEFT
    assert sorted(text for (text,) in sent) == sorted(wanted)


def test_a_piece_has_one_mask_throughout(cli: Cli, tmp_path: Path) -> None:
    first = "I am Anna Schmidt, anna@schmidt.org."
    sent = masked(cli, tmp_path, [[first, "Hello, ANNA!", "Schmidt said: anna@schmidt.org."]])
    assert max(sent, key=len) == [
        "I am <PERSON_1>, <EMAIL_1>.",
        "Hello, <PERSON_1>!",
        "<PERSON_1> said: <EMAIL_1>.",
    ]
    assert masked(cli, tmp_path, [["Bernd Meyer", "Anna Schmidt"]]) == [
        ["<PERSON_1>", "<PERSON_2>"]
    ]
