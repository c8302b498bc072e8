"""Shards of a run on the nodes of a Ray cluster; Ray is imported when one is used."""

from casewise.evaluation.cluster._cluster import Cluster

__all__ = ["Cluster"]
