"""Servers that keep the beginnings of prompts: requests of a case come near each other."""

from pathlib import Path

from conftest import Cli
from support.fake_openai import FakeServer

LIMIT = 40
SWEEP = f"""
- model: vllm/fake
  max_connections: 4
  protocol: probability
  ablate: [none, recipient, transmission_principle]
  limit: {LIMIT}
"""


def test_conditions_side_by_side(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP, "utf-8")
    with FakeServer(lambda request: {"safe": -0.1, "unsafe": -2.4}) as server:
        env = {"VLLM_BASE_URL": server.url, "VLLM_API_KEY": "none"}
        done = cli("run", "sweep.yaml", "--log-dir", "l", env=env)
    assert done.returncode == 0, done.stderr
    places: dict[str, list[int]] = {}
    for place, prompt in enumerate(server.prompts):
        places.setdefault(prompt.partition("\nSituation:")[0], []).append(place)
    assert len(server.prompts) == 3 * LIMIT
    # A query's cases under three conditions. One condition after the other, they would come again
    # after all the others.
    apart = sorted(max(found) - min(found) for found in places.values())
    assert apart[len(apart) // 2] < LIMIT
