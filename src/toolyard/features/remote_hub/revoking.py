"""Ends a login at whoever issued it (RFC 7009)."""

from __future__ import annotations

from toolyard.core.errors import LinkError
from toolyard.links.grants import OAuthGrant
from toolyard.links.issuer_http import IssuerHttp
from toolyard.links.oauth_discovery import find_metadata
from toolyard.links.refresh import proof_of


async def revoke(grant: OAuthGrant) -> None:
    """Have the issuer end a grant, and with the refresh token all that came of it.

    Raises:
        LinkError: The issuer cannot be reached, or does not offer it.
    """
    http = IssuerHttp(grant.url)
    issuer = await find_metadata(http, grant.issuer)
    if not issuer.revocation_endpoint:
        raise LinkError(f"{grant.issuer} lets no client end a login")
    kind = "refresh_token" if grant.refresh_token else "access_token"
    form = {"token": grant.refresh_token or grant.access_token, "token_type_hint": kind}
    headers = proof_of(grant).apply(form, grant.issuer)
    reply = await http.post_form(issuer.revocation_endpoint, form, headers)
    if reply.status != 200:
        raise LinkError(f"{grant.issuer} did not end the login (HTTP {reply.status})")
