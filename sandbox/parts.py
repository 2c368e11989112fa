"""The five processes of a control plane as data: what starts each, and what shows that it is ready."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from sandbox import files, kubeconfig, pki, places, probes
from sandbox.layout import Layout
from sandbox.ports import LOOPBACK

CLIENT_QPS = 2000
"""Requests a second of scheduler and controller manager. With the defaults nothing but the limit shows: ~10 pods/s."""

Ports = Mapping[str, int]


@dataclass(frozen=True)
class Part:
    """One process.

    binary: its name in the toolchain.
    ports: names of the ports it listens on; the first answers the probe.
    command: arguments after the binary; may write the configuration files they name.
    inputs: files whose content decides how it behaves, beside the command.
    probe: the path that answers 200 once it is ready.
    authority, identity: who signed its serving certificate, and what it wants to be shown.
    """

    name: str
    binary: str
    ports: tuple[str, ...]
    command: Callable[[Layout, Ports], list[str]]
    inputs: Callable[[Layout], list[Path]]
    probe: str
    authority: str = "ca"
    identity: str | None = None


def endpoint(part: Part, layout: Layout, ports: Ports) -> probes.Endpoint:
    """Where and how it is asked."""
    return probes.Endpoint(ports[part.ports[0]], layout.certificates, part.authority, part.identity)


def ready(part: Part, layout: Layout, ports: Ports, *, timeout: float = 2.0) -> bool:
    """Whether it says that it is ready within `timeout` seconds."""
    return probes.answers(endpoint(part, layout, ports), part.probe, timeout=timeout)


def fingerprint(part: Part, layout: Layout, command: list[str]) -> str:
    """Changes when the process would have to be started anew to be what is wanted."""
    digest = hashlib.sha256(json.dumps(command).encode())
    for path in part.inputs(layout):
        digest.update(b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def server(ports: Ports) -> str:
    """The URL of the API server."""
    return f"https://{LOOPBACK}:{ports['kube-apiserver']}"


def _certificate_files(layout: Layout, *names: str) -> list[Path]:
    return [pki.certificate_of(layout.certificates, name) for name in names]


def _serving(layout: Layout) -> list[str]:
    return [
        f"--tls-cert-file={pki.certificate_of(layout.certificates, 'serving')}",
        f"--tls-private-key-file={pki.key_of(layout.certificates, 'serving')}",
    ]


def _kubeconfig(layout: Layout, ports: Ports, identity: str) -> Path:
    path = layout.kubeconfig_of(identity)
    certificates = layout.certificates
    kubeconfig.write(path, server=server(ports), context=layout.context, certificates=certificates, identity=identity)
    return path


def _etcd(layout: Layout, ports: Ports) -> list[str]:
    certificates = layout.certificates
    client, peer = f"https://{LOOPBACK}:{ports['etcd']}", f"https://{LOOPBACK}:{ports['etcd-peer']}"
    trusted = pki.certificate_of(certificates, "etcd-ca")
    return [
        "--name=ringfence",
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=ringfence={peer}",
        "--client-cert-auth=true",
        f"--trusted-ca-file={trusted}",
        f"--cert-file={pki.certificate_of(certificates, 'etcd-server')}",
        f"--key-file={pki.key_of(certificates, 'etcd-server')}",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={trusted}",
        f"--peer-cert-file={pki.certificate_of(certificates, 'etcd-peer')}",
        f"--peer-key-file={pki.key_of(certificates, 'etcd-peer')}",
        "--quota-backend-bytes=536870912",
        # Only a crash of the machine could lose what the kernel has not written yet; a killed etcd loses nothing.
        "--unsafe-no-fsync=true",
        "--log-level=warn",
    ]


def _apiserver(layout: Layout, ports: Ports) -> list[str]:
    certificates = layout.certificates
    return [
        f"--bind-address={LOOPBACK}",
        # Or it looks for a default route, which an isolated machine does not have.
        f"--advertise-address={LOOPBACK}",
        # Loopback is not a valid endpoint; nothing in the sandbox needs the `kubernetes` Service to lead anywhere.
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports['kube-apiserver']}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--etcd-servers=https://{LOOPBACK}:{ports['etcd']}",
        f"--etcd-cafile={pki.certificate_of(certificates, 'etcd-ca')}",
        f"--etcd-certfile={pki.certificate_of(certificates, 'etcd-client')}",
        f"--etcd-keyfile={pki.key_of(certificates, 'etcd-client')}",
        f"--client-ca-file={pki.certificate_of(certificates, 'ca')}",
        f"--requestheader-client-ca-file={pki.certificate_of(certificates, 'front-proxy-ca')}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki.certificate_of(certificates, 'front-proxy-client')}",
        f"--proxy-client-key-file={pki.key_of(certificates, 'front-proxy-client')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki.public_key_of(certificates, pki.SERVICE_ACCOUNT)}",
        f"--service-account-signing-key-file={pki.key_of(certificates, pki.SERVICE_ACCOUNT)}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        # The DRA driver's pods want it; on a real cluster it is on too.
        "--allow-privileged=true",
        "--profiling=false",
        *_serving(layout),
    ]


def _controller_manager(layout: Layout, ports: Ports) -> list[str]:
    path = _kubeconfig(layout, ports, "controller-manager")
    certificates = layout.certificates
    return [
        f"--kubeconfig={path}",
        f"--authentication-kubeconfig={path}",
        f"--authorization-kubeconfig={path}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports['kube-controller-manager']}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={pki.key_of(certificates, pki.SERVICE_ACCOUNT)}",
        f"--root-ca-file={pki.certificate_of(certificates, 'ca')}",
        f"--kube-api-qps={CLIENT_QPS}",
        f"--kube-api-burst={2 * CLIENT_QPS}",
        # kwok says that a node lives every ten minutes; by the default of under one, its pods would stop being ready.
        "--node-monitor-grace-period=1h",
        "--profiling=false",
        *_serving(layout),
    ]


def _scheduler(layout: Layout, ports: Ports) -> list[str]:
    path = _kubeconfig(layout, ports, "scheduler")
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(path), "qps": CLIENT_QPS, "burst": 2 * CLIENT_QPS},
        "leaderElection": {"leaderElect": False},
        "profiles": yaml.safe_load(places.SCHEDULER_EXAMPLE.read_text(encoding="utf-8"))["profiles"],
    }
    files.write_changed(layout.scheduler_config, yaml.safe_dump(configuration, sort_keys=False))
    return [
        f"--config={layout.scheduler_config}",
        f"--authentication-kubeconfig={path}",
        f"--authorization-kubeconfig={path}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports['kube-scheduler']}",
        *_serving(layout),
    ]


def _kwok(layout: Layout, ports: Ports) -> list[str]:
    return [
        f"--kubeconfig={_kubeconfig(layout, ports, 'kwok')}",
        "--manage-all-nodes=true",
        # It keeps away from pods with this annotation: see sandbox.standin.kubelet.
        "--disregard-status-with-annotation-selector=kwok.x-k8s.io/status=custom",
        f"--server-address={LOOPBACK}:{ports['kwok']}",
        *_serving(layout),
    ]


ETCD = Part(
    name="etcd",
    binary="etcd",
    ports=("etcd", "etcd-peer"),
    command=_etcd,
    inputs=lambda layout: _certificate_files(layout, "etcd-ca", "etcd-server", "etcd-peer"),
    probe="/readyz",
    authority="etcd-ca",
    identity="etcd-client",
)

APISERVER = Part(
    name="kube-apiserver",
    binary="kube-apiserver",
    ports=("kube-apiserver",),
    command=_apiserver,
    inputs=lambda layout: [
        *_certificate_files(layout, *pki.AUTHORITIES, "serving", "etcd-client", "front-proxy-client"),
        pki.public_key_of(layout.certificates, pki.SERVICE_ACCOUNT),
    ],
    probe="/readyz",
    identity="admin",
)

CONTROLLER_MANAGER = Part(
    name="kube-controller-manager",
    binary="kube-controller-manager",
    ports=("kube-controller-manager",),
    command=_controller_manager,
    inputs=lambda layout: [*_certificate_files(layout, "serving"), layout.kubeconfig_of("controller-manager")],
    probe="/healthz",
)

SCHEDULER = Part(
    name="kube-scheduler",
    binary="kube-scheduler",
    ports=("kube-scheduler",),
    command=_scheduler,
    inputs=lambda layout: [
        *_certificate_files(layout, "serving"),
        layout.kubeconfig_of("scheduler"),
        layout.scheduler_config,
    ],
    probe="/readyz",
)

KWOK = Part(
    name="kwok",
    binary="kwok",
    ports=("kwok",),
    command=_kwok,
    inputs=lambda layout: [*_certificate_files(layout, "serving"), layout.kubeconfig_of("kwok")],
    probe="/healthz",
)

LAYERS = ((ETCD,), (APISERVER,), (CONTROLLER_MANAGER, SCHEDULER, KWOK))
"""In the order of starting; those of one layer start together."""

PARTS = tuple(part for layer in LAYERS for part in layer)
PORT_NAMES = tuple(port for part in PARTS for port in part.ports)
