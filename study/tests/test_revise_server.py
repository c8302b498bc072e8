"""The page's server over real HTTP: who is let in, who was first, and what kill -9 leaves."""

import http.client
import json
import signal
import threading
from pathlib import Path
from typing import Any

from conftest import Cli
from support.pairs import HOSTILE, a_case, a_pair, every_kind, write
from support.revising import Revising

from casewise.cases import load_cases
from casewise_study.revision.journal import journal_path, read_journal
from casewise_study.revision.revised_cases import replay
from casewise_study.revision.revised_file import read_history


def test_only_the_page_itself_is_let_in(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [*a_pair("a query that stays unsaid"), *every_kind()])
    with Revising(path) as server:
        key = server.pairs()[0]["key"]
        pair = server.pair(key)
        body = {"author": "Eve", "reason": "why", "cases": []}
        at = f"/api/pairs/{key}"
        for status, method, where, headers in (
            (421, "GET", "/", {"host": "evil.example"}),
            (421, "GET", "/static/pair.js", {"host": f"evil.example:{server.host[-5:]}"}),
            (403, "GET", "/", {"cookie": None}),
            (403, "GET", "/?token=guess", {"cookie": None}),
            (403, "GET", at, {"cookie": server.cookie[:-2] + "xx"}),
            (403, "PUT", at, {"cookie": None}),
            (403, "PUT", at, {"origin": None}),
            (403, "PUT", at, {"origin": "http://evil.example"}),
            (403, "PUT", at, {"origin": "null"}),
            (403, "PUT", at, {"sec_fetch_site": "cross-site"}),
            (403, "PUT", at, {"x_casewise_token": None}),
            (403, "PUT", at, {"x_casewise_token": "\u00e9"}),
            (415, "PUT", at, {"content_type": "text/plain"}),
            (400, "PUT", at, {"if_match": None}),
            (409, "PUT", at, {}),
            (404, "PUT", "/api/pairs/nothing", {}),
            (404, "GET", "/api/pairs/nothing", {}),
            (404, "GET", "/static/..%2frevision_app.py", {}),
            (405, "DELETE", at, {}),
            (404, "GET", "/docs", {}),
            (404, "GET", "/openapi.json", {}),
        ):
            sent = body if method in ("PUT", "DELETE") else None
            answer = server.ask(method, where, sent, **headers)
            assert answer[0] == status, (method, where, headers, answer)
            shown = answer[1]
            assert "script-src 'self'" in shown["content-security-policy"]
            assert shown["x-content-type-options"] == "nosniff"
            assert shown["referrer-policy"] == "no-referrer"
            assert server.token not in answer[2].decode() or where == "/"
        assert server.ask("PUT", at, if_match="x")[0] == 411
        status, headers, _ = server.ask("GET", server.url.removeprefix(server.origin), cookie=None)
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
        refused: list[Any] = [[], {"cases": 1}, body | {"cases": [{"id": "x", "votes": None}]}]
        for broken in refused:
            status, _, data = server.ask("PUT", at, broken, if_match=pair["version"])
            assert status == 400
            assert b"not as expected" in data
        assert not journal_path(path).exists()
        assert "unsaid" not in server.log


def test_every_value_comes_back_as_it_was_sent(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", every_kind())
    before = load_cases(path).cases
    with Revising(path) as server:
        pair = server.pair(server.pairs()[0]["key"])
        tree = pair["cases"][0]["context"]
        status, pair = server.save(pair, context=tree)
        assert (status, pair["message"]) == (422, "nothing was changed")
        tree[0]["children"][2]["text"] = "4.0"
        pair = server.pair(server.pairs()[0]["key"])
        assert server.save(pair, context=tree)[0] == 200
        tree[0]["children"][2]["text"] = "four"
        status, answer = server.save(server.pair(pair["key"]), context=tree)
        assert (status, answer["message"]) == (422, "years: not a number, such as 3 or 0.5")
    after = load_cases(path).cases
    assert after[0].context is not None
    assert before[0].context is not None
    expected = before[0].context.root
    expected["sender"]["years"] = 4.0  # type: ignore[index, call-overload]
    assert repr(after[0].context.root) == repr(expected)


def test_who_comes_second_is_told_and_shown_both(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [*a_pair("one"), a_case("two", votes=(1, 2))])
    with Revising(path) as server:
        key = server.pairs()[0]["key"]
        mine, theirs = server.pair(key), server.pair(key)
        assert server.save(theirs, category="theirs")[0] == 200
        status, answer = server.save(mine, category="mine")
        assert status == 409
        assert answer["cases"][0]["category"] == "theirs"
        assert answer["revisions"][0]["cases"][0]["changes"][0]["name"] == "category"
        # The query's hash is the pair's name: the old name still finds it.
        both = [{"id": case["id"], "query": "one, anew"} for case in answer["cases"]]
        body = {"author": "Bo", "reason": "why", "cases": both}
        headers = {"if_match": answer["version"]}
        assert server.ask("PUT", f"/api/pairs/{key}", body, **headers)[0] == 200
        moved = server.pair(key)
        assert moved["key"] != key
        assert moved["cases"][1]["query"] == "one, anew"
        voted = server.pair(server.pairs()[1]["key"])
        status, answer = server.save(voted, category="x")
        assert (status, answer["message"].split(";")[0]) == (423, "people voted on this text")
        # Thirty saves from one copy: exactly one is taken.
        start, taken = server.pair(key), list[int]()

        def save(number: int) -> None:
            taken.append(server.save(start, category=f"c{number}")[0])

        threads = [threading.Thread(target=save, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(taken) == [200] + [409] * 11


def test_kill_nine_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [a_case(f"query {number}") for number in range(6)])
    confirmed: dict[str, str] = {}
    under_way = ""
    for wait in (0.06, 0.17, None):
        with Revising(path) as server:
            kept = {row["key"]: row["category"] for row in server.pairs()}
            # Only the one that was under way may be newer than what was confirmed.
            newer = [key for key, text in confirmed.items() if kept[key] != text]
            assert [kept[key] for key in newer] in ([], [under_way])
            if wait is None:
                break
            timer = threading.Timer(wait, server.process.send_signal, [signal.SIGKILL])
            try:
                for number in range(10_000):
                    if number == 1:  # one is confirmed, however slow the machine
                        timer.start()
                    pair = server.pair(list(kept)[number % 6])
                    under_way = f"{wait} {number}"
                    status, answer = server.save(pair, category=under_way)
                    assert status == 200
                    confirmed[pair["key"]] = answer["cases"][0]["category"]
            except (OSError, ValueError, http.client.HTTPException):
                pass
            timer.join()
        assert confirmed
        entries = read_journal(journal_path(path)).entries
        edits = [case.category for entry in entries[1:] for case in entry.after]
        assert len(edits) == len(set(edits)) >= len(confirmed)
    assert replay(read_journal(journal_path(path)).entries).cases == load_cases(path).cases


def test_a_second_server_is_refused_and_ctrl_c_ends_cleanly(
    tmp_path: Path, cli_inside: Cli
) -> None:
    path = write(tmp_path / "cases.jsonl", [a_case(HOSTILE), a_case("two")])
    with Revising(path) as server:
        second = cli_inside("contexts", "revise", path, "--no-browser")
        assert second.returncode == 2
        assert "already being revised (process" in second.stderr
        pair = server.pair(server.pairs()[0]["key"])
        assert server.save(pair, category="other")[0] == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) == 0
        log = server.log
    assert "Traceback" not in log
    assert "stopped: 0 of 2 pairs decided; the history is in" in log
    assert "script" not in log
    assert not (tmp_path / ".cases.jsonl.lock").exists()
    table = cli_inside("contexts", "revise", path, "--history")
    assert (table.returncode, table.stdout.count("Ada"), "because" in table.stdout) == (0, 2, True)
    listed = json.loads(
        cli_inside("contexts", "revise", path, "--history", "--format", "json").stdout
    )
    assert [one["action"] for one in listed] == ["begin", "edit"]
    assert listed[1]["changed"] == ["category"]


def test_wrong_inputs_say_what_to_do(tmp_path: Path, cli_inside: Cli) -> None:
    path = write(tmp_path / "cases.jsonl", a_pair("one"))
    for options, message in (
        (["none.jsonl"], "no such file"),
        (["cases.yaml"], "casewise cases convert cases.yaml cases.jsonl"),
        (["cases.jsonl", "--history"], "no revisions yet"),
        (["cases.jsonl", "--export", "out.jsonl"], "no pair is accepted yet"),
        (["cases.jsonl", "--export", "cases.jsonl"], "would overwrite"),
        (["cases.jsonl", "--history", "--export", "x.jsonl"], "one at a time"),
        (["cases.jsonl", "--author", " "], "--author: a name, please"),
    ):
        done = cli_inside("contexts", "revise", *options)
        assert done.returncode == 2, options
        assert message in " ".join(done.stderr.split()), done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cases.jsonl"]
    with Revising(path) as server:
        port = server.host.split(":")[1]
        other = write(tmp_path / "other.jsonl", a_pair("one"))
        done = cli_inside("contexts", "revise", other, "--port", port, "--no-browser")
        assert done.returncode == 2
        assert f"--port {port}" in done.stderr


def test_the_accepted_pairs_are_written(tmp_path: Path, cli_inside: Cli) -> None:
    target = "accepted.yaml"
    path = write(tmp_path / "cases.jsonl", [*a_pair("one"), *a_pair("two"), *a_pair("three")])
    with Revising(path) as server:
        rows = server.pairs()
        for row, action in ((rows[1], "accept"), (rows[2], "reject")):
            pair = server.pair(row["key"])
            body = {"author": "Ada", "reason": "because", "action": action}
            at = f"/api/pairs/{row['key']}/decision"
            assert server.ask("POST", at, body, if_match=pair["version"])[0] == 200
        # Also while it is being revised.
        done = cli_inside("contexts", "revise", path, "--export", target)
    assert done.returncode == 0, done.stderr
    assert "left out: 1 rejected, 1 undecided" in " ".join(done.stderr.split())
    assert [case.query for case in load_cases(tmp_path / target).cases] == ["two", "two"]
    assert [one.action for one in read_history(path)] == ["begin", "accept", "reject"]
