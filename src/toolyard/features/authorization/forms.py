"""The pages by which people log in and agree: plain HTML, which works without JavaScript.

They set no cookie: what was checked before stands sealed in the form itself. They cannot be framed,
and their forms lead to the hub, and from there to the one client that is meant.
"""

from __future__ import annotations

from html import escape
from typing import Final

from toolyard.core.tiers import Tier
from toolyard.features.authorization.model import AuthorizationRequest, ClientConsent
from toolyard.features.authorization.preview import PreviewServer, PreviewTool, ToolPreview
from toolyard.features.authorization.redirects import form_source, host_of
from toolyard.features.members.identity import ORDER_SCOPE, OWN_SCOPE
from toolyard.features.members.own_issuer import AUTHORIZE, CONSENT, INVITATION
from toolyard.features.members.passwords import SHORTEST

OPEN_SERVERS: Final = 6
"""With so many servers or fewer, the tools of all of them are in sight."""
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action {}"
)
_TIERS: Final = {
    Tier.READ: ("reads", ""),
    Tier.WRITE: ("changes", ""),
    Tier.DESTROY: ("may destroy", "waiting"),
}
_TOP: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} · Toolyard</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/ui/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/ui/assets/tokens.css">
<link rel="stylesheet" href="/ui/assets/style.css">
<link rel="stylesheet" href="/ui/assets/login.css">
</head>
<body class="login">
<main>
<p class="home"><img src="/ui/assets/icon.svg" alt="" width="24" height="24">Toolyard</p>
<h1>{title}</h1>
"""
_BOTTOM: Final = "</main>\n</body>\n</html>\n"


def headers(redirect: str = "") -> dict[str, str]:
    """The headers of a page whose form leads back to the hub, or on to a client."""
    target = f"'self' {form_source(redirect)}" if redirect else "'self'"
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": _POLICY.format(target),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        # Without an origin in its requests, the hub could not tell its own forms from others'.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }


def login_page(
    request: AuthorizationRequest, sealed: str, trouble: str = "", email: str = ""
) -> str:
    """The page that asks who is there."""
    return _page(
        "Log in",
        _client_card(request),
        _trouble(trouble),
        f'<form method="post" action="{AUTHORIZE}">',
        _hidden("request", sealed),
        _field("email", "Email address", "email", "username", email),
        _field("password", "Password", "password", "current-password"),
        '<p class="row"><button class="main">Log in</button></p>',
        "</form>",
        '<p class="quiet">No account, or the password is lost? The keeper of this hub sends you a '
        "link.</p>",
    )


def consent_page(consent: ClientConsent, person: str, preview: ToolPreview, sealed: str) -> str:
    """The page that asks whether a client may act for a person, and shows what it would get."""
    request = consent.request
    return _page(
        f"Let {request.client_name} use your tools?",
        _client_card(request),
        f"<p>You are logged in as <strong>{escape(person)}</strong>. {_summary(preview)}</p>",
        _further_wishes(request),
        f'<form method="post" action="{CONSENT}">',
        _hidden("consent", sealed),
        '<p class="row"><button class="main" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button></p>',
        "</form>",
        *(_server(server, len(preview.servers)) for server in preview.servers),
        _left_out(preview),
        '<p class="quiet">The list follows what you are admitted to: it changes when that does. '
        "Allow a client only if you started the login yourself.</p>",
    )


def invitation_page(code: str, email: str, trouble: str = "") -> str:
    """The page on which somebody who was invited sets their password."""
    return _page(
        "Choose a password",
        f"<p>For <strong>{escape(email)}</strong>, to log in with this hub.</p>",
        _trouble(trouble),
        f'<form method="post" action="{INVITATION}">',
        _hidden("code", code),
        f'<input type="hidden" name="email" value="{escape(email)}" autocomplete="username">',
        _field("password", "Password", "password", "new-password", least=SHORTEST),
        _field("again", "The same again", "password", "new-password", least=SHORTEST),
        f'<p class="quiet">{SHORTEST} characters or more; a sentence is easy to remember.</p>',
        '<p class="row"><button class="main">Set the password</button></p>',
        "</form>",
    )


def message_page(title: str, text: str) -> str:
    """A page that says one thing."""
    return _page(title, f"<p>{escape(text)}</p>")


def _page(title: str, *parts: str) -> str:
    body = "\n".join(part for part in parts if part)
    return f"{_TOP.format(title=escape(title))}{body}\n{_BOTTOM}"


def _client_card(request: AuthorizationRequest) -> str:
    """The client: its name, who says so, and where the browser goes afterwards."""
    if request.is_described:
        origin = f"Described at <code>{escape(request.client)}</code>"
    else:
        origin = "It says so itself; nobody has checked the name"
    return (
        '<dl class="facts card">'
        f"<dt>Client</dt><dd><strong>{escape(request.client_name)}</strong>"
        f'<br><span class="quiet">{origin}</span></dd>'
        f"<dt>Leads to</dt><dd><code>{escape(host_of(request.redirect))}</code></dd>"
        f"<dt>For</dt><dd><code>{escape(request.resource)}</code></dd></dl>"
    )


def _summary(preview: ToolPreview) -> str:
    if not preview.total:
        return "You see no tools here now, so this client would get none."
    risky = preview.count(Tier.DESTROY)
    text = f"This client would get {_count(preview.total, 'tool')}"
    return f"{text}; {risky} may destroy something." if risky else f"{text}; none may destroy."


def _further_wishes(request: AuthorizationRequest) -> str:
    wishes = ""
    if OWN_SCOPE in request.scopes:
        wishes += (
            '<p class="waits card"><strong>It also wants to see to your own things:</strong> your '
            "secrets, logins and calls at this hub.</p>"
        )
    if ORDER_SCOPE in request.scopes:
        wishes += (
            '<p class="waits card"><strong>It also wants to order in your name:</strong> to add '
            "and remove servers, see and change members, everything that a keeper can do.</p>"
        )
    return wishes


def _server(server: PreviewServer, servers: int) -> str:
    is_open = " open" if servers <= OPEN_SERVERS else ""
    risky = server.count(Tier.DESTROY)
    note = f' <span class="tag waiting">{risky} may destroy</span>' if risky else ""
    rows = "".join(map(_tool, server.tools))
    return (
        f'<details class="card"{is_open}><summary><strong>{escape(server.name)}</strong> '
        f'<span class="quiet">{_count(len(server.tools), "tool")}</span>{note}</summary>'
        f'<ul class="plain">{rows}</ul></details>'
    )


def _tool(tool: PreviewTool) -> str:
    word, tone = _TIERS[tool.tier]
    about = f'<br><span class="quiet">{escape(tool.description)}</span>' if tool.description else ""
    return (
        f'<li><code>{escape(tool.name)}</code> <span class="tag {tone}">{word}</span>{about}</li>'
    )


def _left_out(preview: ToolPreview) -> str:
    return f"<p>… and {_count(preview.left_out, 'more tool')}.</p>" if preview.left_out else ""


def _trouble(text: str) -> str:
    return f'<p class="bad" role="alert">{escape(text)}</p>' if text else ""


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def _field(name: str, label: str, kind: str, complete: str, value: str = "", least: int = 0) -> str:
    shortest = f' minlength="{least}"' if least else ""
    return (
        f'<div class="field"><label for="{name}">{label}</label>'
        f'<input id="{name}" name="{name}" type="{kind}" autocomplete="{complete}" required'
        f'{shortest} value="{escape(value)}"></div>'
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
