"""`member`: the people who log in, and the profiles that their groups get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option

if TYPE_CHECKING:
    from toolyard.core.caller import Role
    from toolyard.features.members.explaining import MemberStory
    from toolyard.features.members.invitations import Invitation
    from toolyard.features.members.operations import MemberRow
    from toolyard.features.members.seeing import AdmissionRow, MemberServer, MemberSight

TITLES = ("member", "role", "groups", "profiles", "last used")
SIGHT_TITLES = ("server", "tools", "by", "needs")
ADMISSION_TITLES = ("group", "profiles", "limits")


@click.group("member")
@json_option
def member_command() -> None:
    """Manage the people who log in, and what their groups may use.

    People log in with the issuer in TOOLYARD_ISSUER. Whoever is in a group with an admission
    becomes a member with their first call, and sees the profiles of that admission. If the issuer
    is `own`, they log in with the hub, and members are those whom you invite.
    """


@member_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the members."""
    from toolyard.features.members.operations import list_members
    from toolyard.operation import NoInput

    members = context.run(list_members, NoInput())
    context.terminal.answer(members, lambda: _show(context, members.members))


@member_command.command("show")
@click.argument("name")
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show a member.

    NAME is an email address, a subject, or a key as `toolyard member list --json` gives it.
    """
    from toolyard.features.members.operations import MemberName, get_member

    row = context.run(get_member, MemberName(name))
    context.terminal.answer(row, lambda: _describe(context, row))


@member_command.command("set")
@click.argument("name")
@click.option("--role", type=click.Choice(["keeper", "member"]), help="Keepers may give orders.")
@click.option("--disable/--enable", default=None, help="Keep them out, or let them in again.")
@click.option("--group", "groups", multiple=True, help="Their groups, replacing the present ones.")
@json_option
@click.pass_obj
def set_command(
    context: CliContext,
    name: str,
    role: str | None,
    disable: bool | None,
    groups: tuple[str, ...],
) -> None:
    """Change the role or the groups of a member, or disable them.

    What a disabled member has opened ends at once, on every replica. A keeper uses the control API
    with a token that has the scope toolyard:order. You set the groups of those who log in with the
    hub itself; for others, their issuer does.

    \b
    toolyard member set ann@example.com --role keeper
    toolyard member set bob@example.com --disable
    """
    from toolyard.features.members.operations import ChangeMember, set_member

    if role is None and disable is None and not groups:
        raise click.UsageError("say what to change: --role, --group, --disable or --enable")
    changes: dict[str, Any] = {} if role is None else {"role": _role(role)}
    if disable is not None:
        changes["disabled"] = disable
    if groups:
        changes["groups"] = list(groups)
    row = context.run(set_member, ChangeMember(name, **changes))
    context.terminal.answer(row, lambda: _describe(context, row))


@member_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove a member, and end everything they have opened.

    Their tokens are worthless from now on. If an admission still lets them in, they become a
    member again with their next login; to keep somebody out, disable them.
    """
    from toolyard.features.members.operations import MemberName, remove_member

    context.run(remove_member, MemberName(name))
    answer = {"done": "removed", "member": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed the member '{name}'"))


@member_command.command("invite")
@click.argument("email")
@click.option("--role", type=click.Choice(["keeper", "member"]), help="Keepers may give orders.")
@click.option("--group", "groups", multiple=True, help="A group they are in.")
@json_option
@click.pass_obj
def invite_command(
    context: CliContext, email: str, role: str | None, groups: tuple[str, ...]
) -> None:
    """Invite somebody to log in with the hub itself.

    Prints a link for them alone: whoever opens it first sets the password. It works once, and for
    three days. This needs a hub that runs with `--issuer own`.

    \b
    toolyard member invite ann@example.com --role keeper
    toolyard member invite bob@example.com --group developers
    """
    from toolyard.features.members.invitations import InviteMember, invite_member

    order = InviteMember(email, groups=list(groups))
    if role is not None:
        order = InviteMember(email, _role(role), list(groups))
    invitation = context.run(invite_member, order)
    context.terminal.answer(invitation, lambda: _tell_link(context, invitation))


@member_command.command("reset")
@click.argument("name")
@json_option
@click.pass_obj
def reset_command(context: CliContext, name: str) -> None:
    """Reset a member's password, and print a link to set a new one.

    The clients that they logged in with have to log in again, within minutes.
    """
    from toolyard.features.members.invitations import AccountName, reset_member

    invitation = context.run(reset_member, AccountName(name))
    context.terminal.answer(invitation, lambda: _tell_link(context, invitation))


@member_command.command("resolve")
@click.argument("name")
@json_option
@click.pass_obj
def resolve_command(context: CliContext, name: str) -> None:
    """Show the servers that a member sees, and the admissions that show them.

    \b
    toolyard member resolve ann@example.com
    """
    from toolyard.features.members.seeing import MemberQuery, resolve_member

    sight = context.start_hub().run(resolve_member, MemberQuery(name))
    context.terminal.answer(sight, lambda: _show_sight(context, sight))


@member_command.command("why")
@click.argument("member", metavar="NAME")
@click.argument("name", metavar="SERVER|TOOL")
@json_option
@click.pass_obj
def why_command(context: CliContext, member: str, name: str) -> None:
    """Explain why a member can use a server or tool, or cannot.

    Names the admission, profile, tier, credential or limit that decided, then everything that
    counted.

    \b
    toolyard member why ann@example.com git__push
    toolyard member why ann@example.com files
    """
    from toolyard.features.members.seeing import MemberWhyQuery, explain_to_keeper

    story = context.start_hub().run(explain_to_keeper, MemberWhyQuery(name, member))
    context.terminal.answer(story, lambda: _explain(context, story))


@member_command.group("admission")
@json_option
def admission_command() -> None:
    """Choose the profiles that groups of people get."""


@admission_command.command("list")
@json_option
@click.pass_obj
def list_admissions_command(context: CliContext) -> None:
    """List the admissions."""
    from toolyard.features.members.operations import list_admissions
    from toolyard.operation import NoInput

    admissions = context.run(list_admissions, NoInput())
    context.terminal.answer(admissions, lambda: _show_admissions(context, admissions.admissions))


@admission_command.command("set")
@click.argument("group")
@click.argument("profiles", nargs=-1, required=True)
@click.option(
    "--tier",
    type=click.Choice(["read", "write", "destroy"]),
    default="destroy",
    help="Limit it to tools that only read, or destroy nothing.",
)
@click.option(
    "--instances",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="Let at most N servers run for the sessions of one member; 0 for no limit of its own.",
)
@click.option(
    "--sessions",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="Let one member have at most N sessions; 0 for no limit of its own.",
)
@json_option
@click.pass_obj
def set_admission_command(
    context: CliContext,
    group: str,
    profiles: tuple[str, ...],
    tier: str,
    instances: int,
    sessions: int,
) -> None:
    """Admit a group to profiles, replacing those it had.

    GROUP is as the issuer writes it; '*' is everybody who logs in. For a member of several groups,
    the most generous admission to a profile counts, and the most generous of each number.

    \b
    toolyard member admission set developers code review
    toolyard member admission set guests code --tier read --instances 4
    toolyard member admission set '*' basics
    """
    from toolyard.core.tiers import Tier
    from toolyard.features.members.operations import PutAdmission, put_admission

    order = PutAdmission(group, list(profiles), Tier(tier), instances, sessions)
    row = context.run(put_admission, order)
    limits = _describe_limits(row)
    text = f"admitted '{group}' to {', '.join(row.profiles)}" + (f" ({limits})" if limits else "")
    context.terminal.answer(row, lambda: context.terminal.say(text))


@admission_command.command("remove")
@click.argument("group")
@json_option
@click.pass_obj
def remove_admission_command(context: CliContext, group: str) -> None:
    """Remove the admission of a group."""
    from toolyard.features.members.operations import GroupOrder, remove_admission

    context.run(remove_admission, GroupOrder(group))
    answer = {"done": "removed", "group": group}
    text = f"removed the admission of '{group}'"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _tell_link(context: CliContext, invitation: Invitation) -> None:
    context.terminal.say(f"a link for {invitation.email}, good once, until {invitation.until}:")
    context.terminal.say(invitation.link)


def _role(text: str) -> Role:
    from toolyard.core.caller import Role

    return Role(text)


def _show(context: CliContext, rows: list[MemberRow]) -> None:
    if not rows:
        context.terminal.say(
            "no members yet; people become members when they are invited, or first log in"
        )
        return
    cells = [
        [
            row.email or row.subject,
            f"{row.role.value}, disabled" if row.disabled else row.role.value,
            ", ".join(row.groups),
            ", ".join(row.profiles) or "none",
            row.last_used,
        ]
        for row in rows
    ]
    context.terminal.table(TITLES, cells)


def _describe(context: CliContext, row: MemberRow) -> None:
    pairs = {
        "member": row.email or row.subject,
        "name": row.name,
        "role": row.role.value,
        "disabled": "yes" if row.disabled else "",
        "groups": ", ".join(row.groups),
        "profiles": ", ".join(row.profiles) or "none",
        "last used": row.last_used,
        "key": row.key,
    }
    for title, text in pairs.items():
        if text:
            context.terminal.say(f"{title}: {text}")


def _show_sight(context: CliContext, sight: MemberSight) -> None:
    context.terminal.say(sight.text)
    if sight.hint:
        context.terminal.say(f"hint: {sight.hint}")
    if sight.servers:
        context.terminal.table(SIGHT_TITLES, [_sight_cells(server) for server in sight.servers])


def _sight_cells(server: MemberServer) -> list[str]:
    count = f"{len(server.tools)} of {len(server.tools) + server.hidden}"
    needs = [f"secret {name}" if name else "login" for name in server.missing]
    return [server.server, count, "; ".join(server.rules), ", ".join(needs)]


def _explain(context: CliContext, story: MemberStory) -> None:
    say = context.terminal.say
    say(story.text)
    say(f"decided by: {story.decided.rule}")
    if story.hint:
        say(f"hint: {story.hint}")
    for number, step in enumerate(story.steps, 1):
        mark = "  <-" if step.decides else ""
        say(f"  {number}. {step.stage}: {step.rule}: {step.text}{mark}")
    if story.also:
        say(f"also offered by: {', '.join(story.also)}")


def _show_admissions(context: CliContext, rows: list[AdmissionRow]) -> None:
    if not rows:
        context.terminal.say(
            "no admissions yet; make one with: toolyard member admission set GROUP PROFILE"
        )
        return
    cells = [[row.group, ", ".join(row.profiles), _describe_limits(row)] for row in rows]
    context.terminal.table(ADMISSION_TITLES, cells)


def _describe_limits(row: AdmissionRow) -> str:
    limits = [
        f"tools: {row.tier.value}" if row.tier.value != "destroy" else "",
        f"instances: {row.instances}" if row.instances else "",
        f"sessions: {row.sessions}" if row.sessions else "",
    ]
    return ", ".join(limit for limit in limits if limit)
