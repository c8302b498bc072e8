"""Reach a Ray cluster, or begin one on this machine, and say soon what is wrong."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from casewise.errors import UsageError
from casewise.evaluation.cluster._cluster import Cluster

REACH_S = 5.0
"""How long a cluster's head may take to answer."""

LONG_NAME = 30
"""Characters of a folder's name that leave none for those of the sockets in it."""

STORE_BYTES = 256 * 2**20
"""Of a cluster on this machine: cases and results pass through it, and are small."""


@contextmanager
def connected(ray: Any, cluster: Cluster) -> Iterator[None]:
    """Connect while the block runs; without an address, to a cluster of this machine's own.

    Args:
        ray: The library.
        cluster: Which cluster.

    Raises:
        UsageError: It can't be reached or begun.
    """
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    # Ray's own logs; its last processes may still write to them.
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if cluster.address is None:
            options |= {
                "address": "local",
                "num_cpus": os.cpu_count(),
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
            }
            # It holds sockets, whose names may not be long.
            options |= {"_temp_dir": folder} if len(folder) < LONG_NAME else {}
        else:
            _check_reachable(ray, cluster.address)
            options["address"] = cluster.address
        try:
            ray.init(**options)
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            where = cluster.address or "this machine"
            raise UsageError(f"no Ray cluster could be used at {where}: {reason}") from None
        try:
            yield
        finally:
            ray.shutdown()


def _check_reachable(ray: Any, address: str) -> None:
    """Find out at once what Ray would try for minutes.

    Raises:
        UsageError: Nobody listens there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise UsageError(f"--address {address}: write HOST:PORT, ray://HOST:PORT or auto")
    if host in ("localhost", "127.0.0.1") and not address.startswith("ray://"):
        # What Ray makes of it; a head that listens on the loopback alone it never finds.
        host = ray.util.get_node_ip_address()
    try:
        with socket.create_connection((host, int(port)), timeout=REACH_S) as found:
            found.sendall(_HELLO)
            if found.recv(4)[3:] != _SETTINGS:
                raise OSError("something else answers there")
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--address {address}: no Ray cluster can be reached at {host} ({error}); start one "
            "with ray start --head, or leave out --address for one on this machine"
        ) from None


_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a conversation of gRPC begins, which Ray speaks: HTTP/2's preface, and no settings."""

_SETTINGS = b"\x04"
"""The kind of the frame that it is answered with."""
