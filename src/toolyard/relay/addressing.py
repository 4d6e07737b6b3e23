"""Under which addresses a view offers the resources of its servers.

A server's own address is used where the server had it first. Everything else goes by its wrapped
address, and so do all resources of an app's variants, which have the same ones by nature.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from toolyard.core.addresses import address, address_of_template, is_ours, refers, wrap
from toolyard.core.model import Entry, Offer, ServerId
from toolyard.core.names import SEPARATORS
from toolyard.core.owners import Owners, region
from toolyard.relay.references import in_meta
from toolyard.wire import jsonrpc

MATCHED: Final = 200
"""Templates of one server that URIs are compared with; the others go by wrapped addresses."""


@dataclass(frozen=True, slots=True)
class Addressing:
    """The owners of addresses, as one view shows them."""

    owners: Owners
    alone: bool
    """True for a view of one server alone, which then goes by its own addresses."""
    separator: str

    def resources(self, entry: Entry, uris: Iterable[str]) -> dict[str, str]:
        """The addresses that stand for a server's resources; none for what only the hub gives."""
        return {uri: self.resource(entry, uri) for uri in uris if not is_ours(uri)}

    def resource(self, entry: Entry, uri: str) -> str:
        """The address that stands for one."""
        return uri if self._is_own(entry, address(uri)) else wrap(entry.alias, uri)

    def templates(self, entry: Entry, texts: Iterable[str]) -> dict[str, str]:
        """The texts that stand for a server's templates; none for what only the hub gives."""
        shown = {}
        plain = 0
        for text in texts:
            if is_ours(text):
                continue
            own = plain < MATCHED and self._is_own(entry, address_of_template(text))
            shown[text] = text if own else wrap(entry.alias, text)
            plain += own
        return shown

    def _is_own(self, entry: Entry, own: str) -> bool:
        if self.alone:
            return True
        return not entry.server.app and bool(own) and self.owners.has(str(entry.server.id), own)

    def lets(self, server: ServerId | None, uri: str) -> bool:
        """Let a template of a server take a URI, unless the URI belongs to another."""
        return self.alone or not self.owners.rival(str(server), uri)

    def may_have(self, entry: Entry, uri: str) -> bool:
        """Return true if an unlisted URI may be a server's: no other has it, or its region."""
        if self.alone:
            return True
        if entry.server.app or not address(uri):
            return False
        id_ = str(entry.server.id)
        return not self.owners.rival(id_, uri) and not self.owners.rival(id_, region(uri))

    def described(self, entry: Entry, kind: str, offer: Offer) -> Offer:
        """An offer in the words of this view: a tool with its page, a resource with its variant."""
        if kind == "tools":
            return self._with_page(entry, offer) if refers(offer) else offer
        if kind != "prompts" and entry.server.app and not self.alone:
            return self._with_variant(entry, offer)
        return offer

    def _with_page(self, entry: Entry, offer: Offer) -> Offer:
        try:
            fields = jsonrpc.fields(offer.raw)
            changed = in_meta(fields, lambda uri: self.resource(entry, uri))
        except jsonrpc.MalformedError:
            return offer
        return Offer(offer.key, jsonrpc.encode(fields)) if changed else offer

    def _with_variant(self, entry: Entry, offer: Offer) -> Offer:
        fields = jsonrpc.fields(offer.raw)
        mark = f"{entry.alias}{self.separator or SEPARATORS[0]}"
        forms = {"name": mark + "{}", "title": f"{{}} ({entry.alias})"}
        for key, form in forms.items():
            text = jsonrpc.to_python(fields[key]) if key in fields else None
            if isinstance(text, str):
                fields[key] = Raw(jsonrpc.encode(form.format(text)))
        return Offer(offer.key, jsonrpc.encode(fields))
