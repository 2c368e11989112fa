"""Devices that are given out in parts: counters of a pool, and capacity of a device that several may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from topology.allocator.capacity import fits
from topology.allocator.objects import Capacity, Device, DeviceId, Taken
from topology.allocator.pools import Pool
from topology.allocator.versions import Version

_Counters = dict[tuple[str, str], int]
_NOTHING: Mapping[str, int] = {}


class Shared:
    """What is used up, by allocated claims and by this attempt. Amounts in billionths."""

    def __init__(self, taken: Iterable[Taken], version: Version) -> None:
        self._version = version
        self._before: dict[DeviceId, dict[str, int]] = {}
        self._shares: set[DeviceId] = set()
        self._whole: set[DeviceId] = set()
        self._now: dict[DeviceId, dict[str, int]] = {}
        self._available: dict[str, _Counters] = {}
        self._consumed: dict[str, _Counters] = {}
        for one in taken:
            if not (one.shared and version.betas):
                self._whole.add(one.id)
                continue
            self._shares.add(one.id)
            if one.capacity is not None:
                _add(self._before.setdefault(one.id, {}), one.capacity)

    @property
    def whole(self) -> frozenset[DeviceId]:
        """Devices that a claim has to itself."""
        return frozenset(self._whole)

    def holds(self, id: DeviceId) -> bool:
        """Whether allocated claims are recorded to use capacity of it."""
        return id in self._before

    def fits(self, id: DeviceId, amounts: Mapping[str, int], offered: Mapping[str, Capacity]) -> bool:
        return fits(amounts, offered, self._before.get(id, _NOTHING), self._now.get(id, _NOTHING))

    def insert(self, id: DeviceId, amounts: Mapping[str, int]) -> bool:
        """Hand out a share. Whether there was one before, which `remove` wants to know."""
        existed = id in self._now
        _add(self._now.setdefault(id, {}), amounts)
        return existed

    def remove(self, id: DeviceId, amounts: Mapping[str, int], existed: bool) -> None:
        now = self._now[id]
        for name, amount in amounts.items():
            now[name] -= amount
        # An entry with nothing in it still says that the device's counters are paid for.
        if not any(now.values()):
            if existed:
                self._now[id] = {}
            else:
                del self._now[id]

    def must_count(self, id: DeviceId, device: Device) -> bool:
        """Whether giving it out costs counters: the first share of a device pays for all."""
        if not device.consumes:
            return False
        in_use = id in self._before or id in self._now or (self._version.bare_shares_count and id in self._shares)
        return not (device.shareable and in_use)

    def reserve(self, pool: Pool, device: Device) -> bool:
        """Take the device's counters out of the pool's, if none of them is then below nothing."""
        consumed = self._consumed.setdefault(pool.id, {})
        self._count(consumed, device, 1)
        for counter, available in self._of(pool).items():
            if available < consumed.get(counter, 0):
                self._count(consumed, device, -1)
                return False
        return True

    def release(self, pool: Pool, device: Device) -> None:
        self._count(self._consumed[pool.id], device, -1)

    def _of(self, pool: Pool) -> _Counters:
        if pool.id not in self._available:
            available = {
                (counter_set, name): value
                for counter_set, counters in (pool.counters or {}).items()
                for name, value in counters.items()
            }
            for slice in (*pool.slices, *pool.elsewhere):
                for device in slice.devices:
                    id = (slice.driver, slice.pool, device.name)
                    if id in self._whole or id in self._shares:
                        self._count(available, device, -1)
            self._available[pool.id] = available
        return self._available[pool.id]

    @staticmethod
    def _count(counters: _Counters, device: Device, sign: int) -> None:
        for counter_set, consumed in device.consumes:
            for name, value in consumed.items():
                key = (counter_set, name)
                counters[key] = counters.get(key, 0) + sign * value


def _add(to: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        to[name] = to.get(name, 0) + amount
