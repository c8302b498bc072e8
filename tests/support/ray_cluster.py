"""A Ray cluster of several nodes on this machine, in a process of its own.

    python ray_cluster.py 2        # a head without room for shards, and two nodes with one CPU each

Prints its address, then does what the lines of its standard input say: ``kill`` ends a node as a
power cut would, ``add`` brings another, ``behead`` ends the head's server, without which a cluster
is none; each is answered with the number of nodes that are left.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class RayCluster:
    """The cluster, seen from a test."""

    process: "subprocess.Popen[str]"
    address: str

    def tell(self, what: str) -> int:
        """Send a line; gives the number of nodes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline()))


@contextmanager
def ray_cluster(nodes: int, env: dict[str, str]) -> Iterator[RayCluster]:
    """A cluster that lasts as long as the block; its nodes see the environment."""
    command = [sys.executable, __file__, str(nodes)]
    quiet = env | {"RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        command,
        env=quiet,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the cluster did not start"
        try:
            yield RayCluster(process, address)
        finally:
            # The end of its input ends it.
            process.communicate(timeout=60)


def main() -> None:
    """Serve commands until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    # Ray prints as it likes.
    os.dup2(2, 1)
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(
        initialize_head=True, head_node_args=options | {"num_cpus": 0, "include_dashboard": False}
    )
    nodes = [cluster.add_node(**options) for _ in range(int(sys.argv[1]))]
    print(cluster.address, file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
        elif line.strip() == "behead":
            head = cluster.head_node
            assert head is not None
            head.kill_gcs_server()
        else:
            nodes.append(cluster.add_node(**options))
        print(len(nodes), file=out, flush=True)
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
