"""One symmetry of a world: how states, actions and observations move."""

from collections.abc import Iterable
from dataclasses import dataclass

from nearsym.audits.moves import Move
from nearsym.physics.signed import SignedPermutation

Key = tuple[int, ...]


@dataclass(frozen=True)
class Element:
    """A move of states and actions, and the signed permutation of observations that shows it."""

    move: Move
    observation: SignedPermutation

    @property
    def key(self) -> Key:
        """Equal for elements that move states and actions alike."""
        return self.move.key

    def after(self, first: "Element") -> "Element":
        """First the one given, then this one."""
        return Element(self.move.after(first.move), self.observation.after(first.observation))


def generated(elements: Iterable[Element], within: set[Key]) -> dict[Key, Element] | None:
    """The group that elements generate; None if it reaches outside `within`."""
    found = {element.key: element for element in elements}
    fresh = list(found.values())
    while fresh:
        products = [x.after(y) for x in found.values() for y in fresh]
        products += [y.after(x) for x in found.values() for y in fresh]
        fresh = []
        for product in products:
            if product.key not in within:
                return None
            if product.key not in found:
                found[product.key] = product
                fresh.append(product)
    return found


def largest_group(elements: list[Element]) -> list[Element]:
    """A largest group among elements, which are tried in their order; the identity is the first."""
    known = {element.key: element for element in elements}
    group = {elements[0].key: elements[0]}
    for element in elements[1:]:
        if element.key in group:
            continue
        larger = generated([*group.values(), element], set(known))
        if larger is not None:
            group = larger
    # What was fitted for an element is kept rather than a product: it has been seen.
    return [known[key] for key in known if key in group]
