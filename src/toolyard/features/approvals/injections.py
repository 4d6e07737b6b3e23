"""Finds words that give orders to a model, in place of describing something to it.

Published attacks come in a few shapes: they set aside what the model was told, keep something from
the user, have files or the conversation put into an argument, turn the arguments of other tools,
send things elsewhere, or play a role. Each shape is a rule. A rule whose words honest servers use
too is not serious: it is told, and nothing waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolyard.features.approvals.plain_text import disguised, unmask, words_of


class Rule(NamedTuple):
    """A shape of words that gives orders."""

    why: str
    is_serious: bool
    pattern: str
    """Compiled when it is first looked for, which most starts of a hub never do."""


class Order(NamedTuple):
    """Words that give an order to a model."""

    is_serious: bool
    text: str
    why: str
    is_about_tools: bool = False


def _gap(most: int) -> str:
    """A few words of the same sentence."""
    return rf"(?:\S+ ){{0,{most}}}?"


def _rule(why: str, pattern: str, *, is_serious: bool = True) -> Rule:
    return Rule(why, is_serious, pattern)


_NEVER: Final = (
    r"\b(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|shall not|need not|avoid|"
    r"refrain from|without|not to|no need to|skip) "
)
_USER: Final = r"(?:user|users|human|humans|customer|person|operator|anyone|anybody|developer)\b"
_HAND_OVER: Final = (
    r"\b(?:include|pass|send|append|attach|put|provide|copy|record|forward|repeat|output|print|"
    r"reveal|dump|paste|insert|save|supply|write|add|share|embed|place|store|leak|submit|encode) "
)
_READ: Final = (
    r"\b(?:read|open|load|cat|fetch|access|retrieve|include|attach|copy|paste|pass|put|provide|"
    r"extract|contents?|content|send|upload|find|locate|parse|dump|grab|look|collect|gather|get|"
    r"obtain|steal|export|base64|append|encode) "
)
_PRIVATE_PATH: Final = (
    r"(?:\S*(?:\.ssh|etc/passwd|etc/shadow|\.aws\b|\.netrc|\.npmrc|\.pypirc|\.git-credentials|"
    r"\.gnupg|\.cursor/|/mcp\.json|claude_desktop_config|\.bash_history|\.zsh_history|"
    r"proc/self/environ|wallet\.dat|\.config/gcloud|\.mozilla|\.claude)\S*|id rsa\b|id ed25519\b|"
    r"ssh (?:private )?keys?\b|private (?:ssh )?keys?\b|claude desktop config\b|mcp json\b|"
    r"browser cookies\b|keychain\b|seed phrase\b|saved passwords\b|shell history\b)"
)
_OWN_WORDS: Final = (
    rf"(?:(?:full|entire|whole|complete|previous|prior|preceding|your) {_gap(3)}(?:conversation|"
    r"chat|dialogue|transcript|message history|messages|reasoning|context window|thoughts)\b|"
    r"(?:conversation|chat) so far\b|system (?:prompt|message)\b|chain of thought\b|"
    r"developer message\b|your (?:system )?instructions\b|"
    r"everything (?:the|that the) user (?:said|wrote|typed)|"
    rf"(?:all|every|other) {_gap(2)}tools? (?:names|definitions|descriptions|schemas)\b)"
)
_GATHERS: Final = frozenset(
    "read find collect gather extract look search retrieve load dump get fetch obtain steal scan "
    "locate take".split()
)
_KEYS: Final = frozenset(
    "key keys token tokens credential credentials password passwords secret secrets variables "
    ".env".split()
)
_MACHINE: Final = frozenset(
    "environment env .env config configuration file files filesystem home disk workspace "
    "repository project memory conversation user's browser machine terminal".split()
)
_HANDS_OVER: Final = frozenset(
    "include pass send append attach put provide copy add paste insert embed place supply "
    "encode".split()
)
_SINKS: Final = frozenset(
    "parameter parameters argument arguments field sidenote note notes context metadata input "
    "query url header comment tag".split()
)

WORDS: Final = (
    _rule(
        "sets aside what the model was told",
        r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|supersede|"
        rf"supersedes|overrides|drop) {_gap(4)}(?:previous|prior|above|earlier|preceding|"
        rf"past|former|"
        rf"original|existing|other|your|system|safety|initial|all|any) {_gap(3)}(?:instructions?|"
        r"guidelines?|directives?|prompts?|guardrails?|training)\b|"
        rf"\b(?:ignore|disregard|forget) {_gap(3)}(?:previous|prior|above|earlier|preceding|your|"
        rf"safety) {_gap(2)}(?:rules?|constraints?|polic(?:y|ies)|restrictions|orders|commands)\b|"
        r"\b(?:forget|ignore|disregard) (?:everything|all|anything) (?:above|before|you|that came|"
        r"you were|said)\b",
    ),
    _rule(
        "keeps something from the user",
        rf"{_NEVER}{_gap(3)}(?:tell|telling|inform|informing) {_gap(2)}{_USER}|"
        rf"{_NEVER}{_gap(2)}(?:let|letting) {_gap(2)}{_USER} (?:know|see|notice|find)|"
        rf"{_NEVER}{_gap(2)}(?:mention|mentioning|disclose|disclosing|reveal|revealing) {_gap(8)}"
        rf"to {_gap(2)}{_USER}|"
        rf"{_NEVER}{_gap(2)}(?:mention|mentioning|acknowledge|reveal|revealing|disclose|disclosing|"
        r"admit) (?:this|these|that|it|anything|having|any of)\b|"
        r"\bkeep (?:this|it|these|that|all of this) (?:\S+ )?(?:secret|hidden|confidential|"
        r"between us|to yourself)\b|"
        rf"\b(?:user|human|customer)s? (?:must|should|shall|may|can) (?:not|"
        rf"never) {_gap(2)}(?:know|"
        r"notice|learn|realize|realise|aware|told|informed|find)\b|"
        r"\b(?:must|should) (?:not|never) be (?:told|informed|aware|notified)\b|"
        rf"\bwithout {_gap(3)}(?:knowledge|knowing|noticing|awareness|realizing|realising)\b|"
        r"\bunbeknownst to\b|\b(?:secretly|covertly|stealthily|surreptitiously)\b|"
        r"\b(?:silently|quietly|discreetly) (?:send|forward|copy|append|include|upload|read|call|"
        r"run|execute|add|bcc|pass|collect|record|invoke|attach|store)\b|"
        r"\bhide (?:this|it|these|the following) (?:\S+ )?from\b",
    ),
    _rule(
        "has private files or keys read",
        rf"{_READ}{_gap(10)}{_PRIVATE_PATH}",
    ),
    _rule(
        "has secrets of the machine put into an argument",
        rf"{_HAND_OVER}{_gap(5)}(?:contents? of|all) {_gap(4)}(?:\.env|"
        rf"environment variables|env vars)\b",
    ),
    _rule("asks for the conversation or the prompt", rf"{_HAND_OVER}{_gap(7)}{_OWN_WORDS}"),
    _rule(
        "takes the user's consent for granted",
        rf"{_NEVER}{_gap(2)}(?:ask|asking|request|requesting|seek|seeking|wait|waiting|prompt|"
        rf"prompting|require|requiring) {_gap(5)}(?:permission|confirmation|consent|approval)\b|"
        rf"\b(?:user|owner|administrator|admin) (?:has|have) already {_gap(1)}(?:approved|"
        rf"authorized|"
        r"authorised|consented|confirmed|agreed|granted|given)\b|"
        r"\bpre (?:approved|authorized|authorised) by the (?:user|owner|administrator)\b",
    ),
    _rule(
        "gives the model another role",
        r"\byou are (?:now|no longer|actually) (?:a|an|in|the|bound|restricted|operating|"
        r"free|acting|"
        r"under|required|unrestricted)\b|"
        r"\bfrom now on (?:you|always|every|all|treat|respond|act|call|use|never)\b|"
        r"\b(?:developer|god|dan|admin|debug|maintenance|unrestricted|root) mode (?:is |has been )?"
        r"(?:enabled|activated|on|active)\b|"
        r"\b(?:act|behave|respond|operate) as (?:an? |the )?(?:unrestricted|uncensored|root|dan|"
        r"jailbroken|system administrator)\b|\bjailbr(?:eak|oken)|"
        r"\b(?:new|updated|revised|real|actual|true) (?:system )?(?:instructions?|directives?|"
        r"orders?) (?:for you|for the (?:ai|assistant|model|agent)|follow|override|"
        r"supersede|below)\b",
    ),
    _rule(
        "speaks to the model behind the user's back",
        r"\b(?:hidden|secret|internal|confidential|private) (?:\S+ )?(?:note|message|instructions?|"
        r"directives?|reminder|orders?) (?:to|for) (?:the |any |all )?(?:ai|llms?|assistants?|"
        r"language models?|models?|agents?|claude|gpt|chatgpt|copilot|gemini)\b",
    ),
    _rule(
        "turns the arguments of other tools",
        r"\b(?:whenever|when|if|any time|every time|each time|regardless|always|all|any) "
        rf"{_gap(14)}(?:bcc|cc|replace|redirect|reroute|swap|substitute|instead|change|set|forward|"
        rf"rewrite|route) {_gap(12)}(?:[^ @]{{1,40}}@[^ @]{{1,40}}\.|0x[0-9a-f]{{6,}}|"
        rf"\d{{7,}}|attacker\S*)",
    ),
    _rule(
        "has something sent elsewhere",
        r"\b(?:send|post|forward|upload|transmit|exfiltrate|leak|report|submit|curl|fetch|ping|"
        rf"append|copy|bcc|mirror|relay|get|call|request) {_gap(8)}(?:results?|data|"
        rf"contents?|output|"
        r"responses?|keys?|tokens?|files?|conversation|everything|copy|credentials|secrets|history|"
        r"arguments|parameters|messages|passwords?|quer(?:y|ies)|answers?|it|them|this) "
        rf"{_gap(6)}to {_gap(3)}(?:https?://|[^ @]{{1,40}}@[^ @]{{1,40}}\.)",
    ),
    _rule(
        "speaks to the model in place of describing",
        r"\b(?:note|message|instructions?|reminder|attention|dear) (?:to |for )?(?:the |any |all )?"
        r"(?:ai|llms?|assistants?|language models?|claude|gpt|chatgpt|copilot|gemini)\b|"
        rf"{_NEVER}{_gap(2)}(?:show|display|expose|notify|alert|reveal) {_gap(6)}{_USER}",
        is_serious=False,
    ),
)
OF_TOOLS: Final = (
    _rule(
        "puts itself before other tools",
        rf"\bbefore {_gap(3)}(?:any|all|every|each) (?:of the )?other {_gap(2)}(?:tools?|servers?|"
        r"functions?)\b|"
        rf"\b(?:instead of|rather than|over|never use|don't use|do not use|stop using) {_gap(1)}"
        rf"(?:any|all|every|the) other {_gap(2)}(?:tools?|servers?|functions?)\b|"
        r"\balways (?:call|use|run|invoke) this (?:tool |function )?(?:first|before)\b|"
        rf"\b(?:other|another) (?:mcp )?servers?'? {_gap(1)}tools?\b",
        is_serious=False,
    ),
)
MARKUP: Final = (
    _rule(
        "markup that looks like the client's own",
        r"(?i)<\s{0,8}/?\s{0,8}(?:important|system|secret|hidden|assistant|developer|"
        r"override|admin|"
        r"sys|system[_-](?:prompt|message|instructions?|reminder))\s{0,8}>|"
        r"(?i:\[/?(?:inst|system|sys)\])|<<sys>>|<\|[a-z_]{2,20}\|>|"
        r"\b(?:begin|start of) (?:system|hidden|secret) (?:prompt|instructions?|message)\b",
    ),
    _rule(
        "a command that runs what it loads, or deletes everything",
        r"(?i)\b(?:curl|wget)\s[^\n|]{1,200}\|\s{0,8}(?:sudo\s)?(?:ba|z|da)?sh\b|"
        r"\brm\s{1,8}-(?:rf|fr)\s{1,8}(?:/|~|\$home)|\bbase64\s{1,8}(?:-d|--decode)\s{0,8}\||"
        r"\bpowershell\S{0,8}\s[^\n]{0,80}-e(?:nc|ncodedcommand)?\s",
    ),
    _rule(
        "an image whose address carries data away",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}(?:\{|\$|<|%7b)",
    ),
    _rule(
        "sets aside what the model was told",
        r"(?i)ignorier\w{0,20} (?:\w{1,20} ){0,3}(?:vorherig|bisherig|obig|"
        r"früher)\w{0,20} (?:anweisung|regel)|"
        r"ignore[zr]? (?:\w{1,20} ){0,3}instructions (?:pr[ée]c[ée]dentes|ant[ée]rieures)|"
        r"ignor[ae]\w{0,20} (?:\w{1,20} ){0,3}(?:instruc\w{1,20}|"
        r"istruzioni) (?:anteriores|previas|pr[ée]vias|"
        r"precedenti)|"
        r"忽略.{0,8}(?:之前|以上|先前|前面|所有).{0,8}(?:指令|指示|说明)|"
        r"(?:以前|上記|前)の指示.{0,4}無視|"
        r"игнорируй\w{0,20} (?:\w{1,20} ){0,3}(?:предыдущ|"
        r"прежн)\w{0,20} (?:инструкц|указан)|이전 지시.{0,6}무시",
    ),
    _rule(
        "keeps something from the user",
        r"(?i)(?:sag\w{0,20}|teil\w{0,20}|erzähl\w{0,20}) (?:\w{1,20} ){0,3}(?:nutzer|"
        r"benutzer|anwender)\w{0,20} (?:\w{1,20} ){0,2}"
        r"(?:nicht|nichts)|ne (?:\w{1,20} ){0,2}(?:dis|dites|mentionne\w{0,20}|"
        r"informe\w{0,20}) (?:\w{1,20} ){0,3}(?:[àa] )?"
        r"(?:l['’])?utilisateur|no (?:\w{1,20} ){0,3}(?:digas|menciones|informes|"
        r"diga) (?:\w{1,20} ){0,3}usuario|"
        r"(?:不要|别|请勿|切勿).{0,4}(?:告诉|通知|告知).{0,4}用户|"
        r"ユーザー.{0,4}(?:伝え|知らせ)(?:ない|るな)|"
        r"не (?:говори|сообщай|рассказывай)\w{0,20} (?:\w{1,20} ){0,3}пользовател",
    ),
)
"""These are looked for in the text as it is, for they have more than words."""
_MOST: Final = 8
SHORTEST: Final = 8
"""Characters of the shortest order, which is one of markup."""


def find_orders(text: str) -> Iterator[Order]:
    """Yield the orders to a model that a text gives, also in disguise; at most a few."""
    if len(text) < SHORTEST and text.isascii():
        return
    plain, told = unmask(text), set[str]()
    for is_disguised, version in ((False, plain), *((True, other) for other in disguised(text))):
        for order in _orders(version, is_disguised):
            if order.why not in told and len(told) < _MOST:
                told.add(order.why)
                yield order


def _orders(text: str, is_disguised: bool) -> Iterator[Order]:
    words = words_of(text)
    for sentence in words.split("\n"):
        if _gathers_secrets(set(sentence.split())):
            yield Order(True, sentence.strip(), "has secrets of the machine put into an argument")
    for rules, version in ((WORDS, words), (MARKUP, text), (OF_TOOLS, words)):
        for rule in rules:
            match = re.search(rule.pattern, version)
            if match is not None and not (is_disguised and not rule.is_serious):
                yield Order(rule.is_serious, match.group(), rule.why, rules is OF_TOOLS)


def _gathers_secrets(words: set[str]) -> bool:
    """Return whether a sentence has secrets looked for on the machine, and put somewhere."""
    groups = (_GATHERS, _KEYS, _MACHINE, _HANDS_OVER, _SINKS)
    return all(not group.isdisjoint(words) for group in groups)
