"""A provider for each cluster that a stack names. Default providers are off: whatever names no cluster fails."""

from __future__ import annotations

import pulumi_kubernetes as kubernetes

from settings.cluster import Cluster


def provider(name: str, cluster: Cluster) -> kubernetes.Provider:
    """The provider of a cluster, by its context, pinned by its identifier. name: in Pulumi; it is part of URNs."""
    return kubernetes.Provider(
        name,
        context=cluster.context,
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.identifier,
        enable_server_side_apply=True,
        # A Secret that guests ask for keeps its name, which is part of its address; without this a changed one would be
        # deleted and made anew.
        enable_secret_mutable=True,
    )
