# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Figures of storage and keyed transmission: build/results/storage.json."""

from figures import Figures

STORAGE = Figures("storage")


def record(case, driver, qdisc, verified, **figures):
    """One row: the case, its driver and qdisc, figures such as MB_s, IOPS, p50_us, p99_us."""
    STORAGE.add(case=case, driver=driver, qdisc=qdisc or "none", verified=verified, **figures)
