"""The authorization server as part of a hub: built where people log in with the hub itself."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolyard.core.model import Report
from toolyard.core.open_pages import OpenPage
from toolyard.core.ports import RecordSource
from toolyard.features.authorization.preview import PathViews
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.invitations import has_accounts
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.records.state import State
from toolyard.relay.dismissals import Dismissals
from toolyard.yard import Yard

if TYPE_CHECKING:
    from toolyard.features.authorization.model import ClientAuthorization


def parts(yard: Yard) -> Iterable[object]:
    """The authorization server, if there are accounts to log in with."""
    if not has_accounts(yard):
        return
    from toolyard.features.authorization.clients import OAuthClients
    from toolyard.features.authorization.server import AuthorizationServer
    from toolyard.features.authorization.store import open_authorizations
    from toolyard.features.members.accounts import Accounts
    from toolyard.features.members.identity import Identities
    from toolyard.features.members.own_issuer import OwnIssuer
    from toolyard.wire.seal import Seal

    issuer = yard.part(OwnIssuer)
    store = open_authorizations(yard.part(RecordPlaces), yard.part(State).database, time.time)
    if store is None:
        return  # nobody logs in until the hub has its database again, which it says
    clients = OAuthClients(
        Seal(issuer.keys),
        issuer.url,
        store.is_used,
        time.time,
        documents=issuer.takes_documents,
    )
    yield AuthorizationServer(
        issuer,
        yard.part(Identities),
        yard.part(MemberDirectory),
        yard.part(Accounts),
        clients,
        store,
        time.time,
        time.monotonic,
    )


def pages(yard: Yard) -> Sequence[OpenPage]:
    """The pages of the authorization server, if the hub has one."""
    if not has_accounts(yard):
        return ()
    from toolyard.features.authorization.endpoints import make_pages
    from toolyard.features.authorization.server import AuthorizationServer

    if AuthorizationServer not in yard.parts:
        return ()
    return make_pages(yard.part(AuthorizationServer), lambda: yard.part(PathViews))


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The source of logins that ended, wherever that was ordered."""
    if not has_accounts(yard):
        return ()
    from toolyard.features.authorization.server import AuthorizationServer
    from toolyard.features.authorization.store import by_id

    if AuthorizationServer not in yard.parts:
        return ()
    server = yard.part(AuthorizationServer)
    directory, dismissals = yard.part(MemberDirectory), yard.part(Dismissals)

    def tell(kept: Kept[ClientAuthorization], before: Report) -> Report:
        report = Report("authorizations", problems=kept.problems)
        if kept.failure is not None:
            return report
        ended = {grant: item for grant, item in by_id(kept).items() if not item.is_alive}
        members = {server.member_of(item) for grant, item in ended.items() if grant not in told}
        told.clear()
        told.update(ended)
        server.take_ended(frozenset(ended))
        for member in members:
            caller = directory.caller(member)
            if caller is not None:
                dismissals.dismiss(caller)
        return report

    told: dict[str, ClientAuthorization] = {}
    return [Followed("authorizations", server.store.rows, tell)]
