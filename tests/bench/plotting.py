# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Matplotlib for the benches, where there is one."""


def pyplot():
    """matplotlib.pyplot without a display; None, and a line that says so, if it is not installed."""
    try:
        import matplotlib                       # pylint: disable=import-outside-toplevel
        matplotlib.use("Agg")
        from matplotlib import pyplot as found  # pylint: disable=import-outside-toplevel
        return found
    except ImportError:
        print("no plot: python3-matplotlib is not installed")
        return None
