"""A Ray cluster of two nodes on this machine, of one core each, for the tests of `--engine ray`."""

import atexit
import contextlib
import functools
import os

import pytest

WITHOUT = "Ray is not installed: pip install 'ablate[ray]'"


@contextlib.contextmanager
def cluster(*cores):
    """A cluster with a node for each number of cores; RAY_ADDRESS leads to it."""
    pytest.importorskip("ray", reason=WITHOUT)
    import ray
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0"}
    head, *others = cores
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": head, "include_dashboard": False})
    try:
        for number in others:
            made.add_node(num_cpus=number)
        made.wait_for_nodes()
        os.environ["RAY_ADDRESS"] = made.address
        yield made
    finally:
        os.environ.pop("RAY_ADDRESS", None)
        ray.shutdown()
        made.shutdown()


def two_nodes():
    """One for all tests of a process."""
    os.environ["RAY_ADDRESS"] = _two_nodes()


@functools.cache
def _two_nodes():
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(cluster(1, 1)).address
