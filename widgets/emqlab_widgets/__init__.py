"""The course's widgets: one stage, and what chooses its cases."""

from emqlab_widgets.after_hours import after_hours
from emqlab_widgets.counters import counter_table, counters
from emqlab_widgets.divergence_table import divergence_table
from emqlab_widgets.exits import exits
from emqlab_widgets.expired_lease import expired_lease
from emqlab_widgets.first_claim import first_claim
from emqlab_widgets.here import here, progress_table
from emqlab_widgets.instrument import hunt, instrument
from emqlab_widgets.lease import lease
from emqlab_widgets.life import life
from emqlab_widgets.links import open as open  # not in __all__: an import of all must not take away Python's own
from emqlab_widgets.path import path
from emqlab_widgets.restart import restart
from emqlab_widgets.server_picker import server_picker
from emqlab_widgets.show import show
from emqlab_widgets.side_by_side import side_by_side
from emqlab_widgets.six_differences import six_differences
from emqlab_widgets.stage import Stage
from emqlab_widgets.table import Table
from emqlab_widgets.token import token
from emqlab_widgets.transition import transition
from emqlab_widgets.two_budgets import two_budgets
from emqlab_widgets.two_workers import two_workers

__all__ = [
    "Stage",
    "Table",
    "after_hours",
    "counter_table",
    "counters",
    "divergence_table",
    "exits",
    "expired_lease",
    "first_claim",
    "here",
    "hunt",
    "instrument",
    "lease",
    "life",
    "path",
    "progress_table",
    "restart",
    "server_picker",
    "show",
    "side_by_side",
    "six_differences",
    "token",
    "transition",
    "two_budgets",
    "two_workers",
]
