"""The methods of the protocol that are about the hub itself: greetings, ping, the logging level."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from toolyard.core.names import quoted
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.relay.client_greeting import ClientGreeting, read_greeting
from toolyard.relay.extensions import knows_tasks, without_tasks
from toolyard.relay.folders import Folders
from toolyard.relay.instructions import instructions
from toolyard.relay.news import News
from toolyard.relay.own import OwnAnswers
from toolyard.relay.quirks import QuirkFitter
from toolyard.relay.replies import EMPTY, error_reply, sign
from toolyard.relay.routes import CACHED
from toolyard.relay.session import LEVELS, ClientRequest, Note, Session, agent_of
from toolyard.relay.subscriptions import Subscriptions, Telling, until_told
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message


class OwnMethods:
    """Greets clients, and answers what is asked of no server."""

    def __init__(
        self,
        pool: LinkPool,
        instances: Instances,
        look: Callable[[ViewKey | None], View],
        own_answers: Callable[[Session], OwnAnswers],
        folders: Folders,
        quirks: QuirkFitter,
        subscriptions: Subscriptions,
        news: News,
        note: Note,
    ) -> None:
        self._pool, self._instances = pool, instances
        self._look = look
        self._own_answers = own_answers
        self._folders = folders
        self._quirks = quirks
        self._subscriptions = subscriptions
        self._news = news
        self._note = note

    async def initialize(self, request: ClientRequest) -> Message:
        """Greet a legacy client, and take it in."""
        session = request.session
        self.take_in(session, read_greeting(request.params))
        result = {
            "protocolVersion": session.version,
            "capabilities": self._capabilities(session, modern=False),
            "serverInfo": self._own_answers(session).identity,
            **self._instructions(session),
        }
        return Message(result=Raw(jsonrpc.encode(result)))

    def take_in(self, session: Session, greeting: ClientGreeting) -> None:
        """Take in a legacy client that has introduced itself, here or to another replica."""
        session.version = greeting.version
        session.raw_capabilities = greeting.capabilities
        declared = jsonrpc.to_python(session.raw_capabilities)
        session.capabilities = declared if isinstance(declared, dict) else {}
        if knows_tasks(session.capabilities):
            session.raw_capabilities = jsonrpc.encode(without_tasks(session.capabilities))
        session.agent = agent_of(greeting.info)
        self._quirks.apply(session, greeting.info)
        self._subscriptions.sessions.add(session)
        self._folders.reconsider()
        self._news.expect(session.view_key)

    async def discover(self, request: ClientRequest) -> Message:
        """Tell a modern client what the hub is."""
        session = request.session
        result = {
            "supportedVersions": [era.MODERN],
            "capabilities": self._capabilities(session, modern=True),
            **self._instructions(session),
        }
        message = Message(result=Raw(jsonrpc.encode(result)))
        return sign(message, self._own_answers(session).identity, CACHED)

    async def ping(self, request: ClientRequest) -> Message:
        """Answer that the hub is there."""
        return EMPTY

    async def set_level(self, request: ClientRequest) -> Message:
        """Take the least level of log messages that a client wants, and tell its servers."""
        level = request.text("level")
        if level not in LEVELS:
            return error_reply(
                era.INVALID_PARAMS, f"unknown level {quoted(level)}; there are: {', '.join(LEVELS)}"
            )
        request.session.log_level = level
        self._note(request.session)
        await until_told(self.tell_level(request.session))
        return EMPTY

    def tell_level(self, session: Session) -> list[Telling]:
        """Tell the servers of a client which log messages it wants."""
        keepers = self._pool.keepers.values()
        tellings = [self._subscriptions.set_level(k.link) for k in keepers if k.link is not None]
        for instance in self._instances.of(session.principal):
            if instance.keeper.link is not None:
                only = {session}
                tellings.append(self._subscriptions.set_level(instance.keeper.link, only))
        return tellings

    def _instructions(self, session: Session) -> dict[str, str]:
        """The member that tells a client of the hub, of its own limits, and what servers say."""
        view = self._look(session.view_key)
        own = self._own_answers(session).introduction(view) + self._quirks.hints(session, view)
        client = session.known_client
        most = client.longest_instructions if client is not None else 0
        text = instructions(view, own, most)
        return {"instructions": text} if text else {}

    def _capabilities(self, session: Session, *, modern: bool) -> era.Capabilities:
        view = self._look(session.view_key)
        own: era.Capabilities = {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        }
        foreign = view.filter.is_whole
        return own | view.extensions.capabilities(modern=modern, foreign=foreign)
