"""The declared divergences as data with predicates (SPEC 6)."""

from emqlab.parity.declared.register import DECLARED, UNSEEN, Divergence, Predicate, shown_case, visible

__all__ = ["DECLARED", "UNSEEN", "Divergence", "Predicate", "shown_case", "visible"]
