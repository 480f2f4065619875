"""Queueing delay in the wild: what a server's per-connection TCP statistics say of its users' buffers.

The study of Hohlfeld, Pujol, Ciucu, Feldmann and Barford ("A QoE perspective on sizing network buffers", IMC
2014, §4), over a table of any size: a connection's queueing delay is estimated as its largest minus its
smallest smoothed round-trip time.

>>> from sojourn.capture.tcp_stats import open_table, survey                            # doctest: +SKIP
>>> survey(open_table(["connections.parquet"])).shares("all")              # doctest: +SKIP
"""

from sojourn.capture.tcp_stats.survey import Survey, survey
from sojourn.capture.tcp_stats.table import COLUMNS, open_table

__all__ = ["COLUMNS", "Survey", "open_table", "survey"]
