"""Servers that keep the beginnings of prompt: which request comes near which."""

from pathlib import Path

from conftest import Cli
from support.fake_openai import FakeServer

from casewise.cases import STARTER
from casewise.evaluation.plan._condition import make_condition

LIMIT = 40
CONNECTIONS = 4
ABLATIONS = (None, "recipient", "transmission_principle")

SWEEP = """
model: {{model: vllm/fake, max_connections: 4}}
protocol: probability
ablate: [none, recipient, transmission_principle]
limit: {limit}
"""


def test_conditions_side_by_side_in_text_order(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.format(limit=LIMIT), "utf-8")
    with FakeServer(lambda request: {"safe": -0.1, "unsafe": -2.4}) as server:
        env = {"VLLM_BASE_URL": server.url, "VLLM_API_KEY": "none"}
        done = cli("run", "sweep.yaml", "--log-dir", "l", env=env)
    assert done.returncode == 0, done.stderr
    arrived = {prompt: place for place, prompt in enumerate(server.prompts)}
    assert len(arrived) == len(ABLATIONS) * LIMIT
    places = []
    for ablation in ABLATIONS:
        condition = make_condition(STARTER, protocol="probability", ablate=ablation, limit=LIMIT)
        rendered = [condition.prompts.render(case) for (case,) in condition.units]
        assert rendered == sorted(rendered)
        own = [arrived[prompt] for prompt in rendered]
        # As sent, but for those that are under way at once.
        ranks = {place: rank for rank, place in enumerate(sorted(own))}
        assert max(abs(ranks[place] - rank) for rank, place in enumerate(own)) <= 2 * CONNECTIONS
        ids = [case.id for (case,) in condition.units]
        places.append(dict(zip(ids, own, strict=True)))
    # One condition after the other, a case would come again after all the other cases.
    apart = [
        max(one[case] for one in places) - min(one[case] for one in places) for case in places[0]
    ]
    assert sorted(apart)[len(apart) // 2] < LIMIT
