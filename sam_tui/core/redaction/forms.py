"""The forms of secrets: well-known keys and tokens, and values that were generated at random."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

RUN = re.compile(r"[^\s\"'`<>]{1,4096}")
"""Characters that may be part of a secret."""
TAIL = re.compile(r"[ \t]{0,80}(?:(?P<quote>[\"'`])[ \t]{0,4}[+\\.&]?|\||\^M\$|\$)?[ \t]{0,8}\r?\n")
"""From the last word of a line to the next: padding, the end of a literal, a sign of a tool."""
_ASCII = "[2-7][0-9A-Fa-f]"
_DUMPED = (
    rf" {_ASCII}(?:(?: {{1,2}}{_ASCII}){{2}}(?![0-9A-Za-z])|(?:{_ASCII}){{3}} {_ASCII}"
    rf"|{_ASCII} {{1,2}}(?:{_ASCII}){{1,2}}(?![0-9A-Za-z]))",
    r" [01][0-7]{2}(?: [01][0-7]{2} |[0-7]{3} [01][0-7]{5})",
    r"   [!-~]   [!-~]",
    rf"x{_ASCII}(?:, ?0|\\{{1,4}})x{_ASCII}",
    rf":{_ASCII}:{_ASCII}:{_ASCII}",
)
"""Each matches in the rows of some dumps of bytes, where they have three ASCII characters: several
expressions with one first character each, which are searched ten times as fast as a single one."""
_ESCAPE = r"(?:%|\\u00|\\x)(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])"
DUMP_BEGUN = (
    r"\s{0,8}(?:[0-9A-Fa-f]{6,16}:?(?: |\Z)|(?:(?<=\s)|[0-9A-Fa-f]{2,16} )[0-9A-Fa-f]{1,16}(?: |\Z)"
    r"|(?<=  )\S{1,3}(?: |\Z)|0x[0-9A-Fa-f]{2},|(?<=\s)\Z)"
)
"""The beginning of a row of a dump."""
_EVERYDAY = frozenset({
    "abc123", "access", "account", "administrator", "api-key", "apikey", "bearer", "changeit",
    "changeme", "client", "customer", "default", "demo1234", "develop", "developer",
    "development", "docker", "dummy", "example", "examples", "foobar", "guest1", "hello-world",
    "hello123", "hunter2", "internal", "keyring", "letmein", "localhost", "manager", "master",
    "minioadmin", "mongodb", "monitor", "mypassword", "mysecret", "not-set", "nothing", "oracle",
    "passphrase", "passwd", "password", "password1", "password123", "placeholder", "postgres",
    "postgresql", "private", "production", "public", "python", "qwerty", "rabbitmq", "readonly",
    "redacted", "redis-password", "required", "sample", "secret", "secret-key", "secrets",
    "service", "staging", "strong-password", "supersecret", "system", "test1234", "testing",
    "testpass", "testtest", "token", "tomcat", "undefined", "unknown", "username", "welcome",
    "your-key",
})  # fmt: skip
"""Common words that are also passwords: redacted only where they are assigned to a secret's name."""


def plain_word(value: str) -> bool:
    """Whether a value is too common to be masked everywhere: a usual word, or one digit
    after another."""
    return value.lower() in _EVERYDAY or value.isdecimal() or len(set(value)) < 4


def wordlike(value: str) -> bool:
    """Whether a value is letters alone, as few long encoded ones are: it is masked as a whole word
    only."""
    return value.isalpha() and (len(value) < 15 or value[1:].islower() or value.isupper())


def sought(value: str) -> str:
    """The expression that finds a known value: one of letters alone as a whole word."""
    return rf"(?<![^\W_]){value}(?![^\W_])" if wordlike(value) else re.escape(value)


def dump_hints(text: str) -> list[int]:
    """Where a text may have rows of a dump of bytes, in order."""
    return sorted([hint.start() for form in _DUMPED for hint in re.finditer(form, text)])


def has_escapes(text: str) -> bool:
    """Whether a text writes letters or digits as escapes, which no program does that prints for people,
    or has backspaces."""
    return "\x08" in text or re.search(_ESCAPE, text) is not None


def entropy(value: str) -> float:
    """Bits a character, by how often each one occurs in the value."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def _certain(_: str) -> bool:
    return True


def is_random(value: str) -> bool:
    """Whether a token's body looks drawn by lot: digits among letters, no run of words."""
    return (
        any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and entropy(value) > 3.2
    )


def is_password(value: str) -> bool:
    """Whether a value in the place of a password may be one: no stand-in and no variable."""
    return len(value) >= 4 and not _stands_in(value) and value[:1] not in "$<{%*["


def _stands_in(value: str) -> bool:
    """Whether a value is a stand-in that asks to be replaced by a real secret."""
    lowered = value.lower()
    if lowered in _STAND_INS or any(part in lowered for part in _STAND_IN_PARTS):
        return True
    return ("example" in lowered or "secret" in lowered) and bool(_STAND_IN_WORDS.search(lowered))


def drawn(value: str) -> bool:
    """Whether a value looks chosen as a secret: digits or signs among letters, nothing of code."""
    marked = any(not c.isalnum() and c not in "_-." for c in value)
    mixed = any(map(str.isalpha, value)) and (marked or any(map(str.isdigit, value)))
    if not mixed or entropy(value) < 2.7 or _stands_in(value):
        return False
    return not _NOT_VALUES.search(value) or is_generated(value)


def is_generated(value: str) -> bool:
    """Whether a value with signs of code in it looks like the output of a password generator."""
    kinds = [
        "0" if c.isdigit() else "a" if c.islower() else "A" if c.isupper() else "" for c in value
    ]
    changes = sum(before != after for before, after in pairwise(kinds))
    least = {3: 0.5, 4: 0.35}.get(len(set(kinds)), 1)
    return len(value) >= 10 and changes >= least * len(value) and not _CODE.search(value)


def is_interspersed(value: str) -> bool:
    """Whether a value without quotes around it has brackets or signs where no code has them."""
    letters = "".join(filter(str.isalnum, value))
    if (
        _stands_in(value)
        or _FORMULA.search(value)
        or not (_WITHIN.search(value) or is_generated(value))
    ):
        return False
    return is_random(letters) or (len(set(value) & {"(", "[", "{"}) > 1 and entropy(value) > 3)


def is_punctuated(value: str) -> bool:
    """Whether a value without quotes around it has commas or other signs within, unlike code."""
    letters = "".join(filter(str.isalnum, value))
    mixed = any(map(str.isupper, letters)) and any(map(str.islower, letters)) and is_random(letters)
    return mixed and is_generated(value) and not (_stands_in(value) or _SEPARATES.search(value))


def _numbered(value: str) -> bool:
    return drawn(value) and any(map(str.isdigit, value))


def _cookies(value: str) -> bool:
    # A blank ends a cookie's value (RFC 6265): what follows it is no part of that.
    values = (part.partition("=")[2].split() for part in value.split(";"))
    return any(words and len(words[0]) >= 16 and is_random(words[0]) for words in values)


@dataclass(frozen=True, slots=True)
class SecretForm:
    """A form of secrets. One of its ``hints`` occurs in every secret, for a fast first search.

    The pattern is tried at the hint, or where that is not its start, after going ``back`` over
    characters that may stand before the hint.
    """

    name: str
    hints: tuple[str, ...]
    expression: str
    convinces: Callable[[str], bool] = _certain
    back: Callable[[str], bool] | None = None

    def spans(self, text: str, hint: str) -> Iterator[tuple[int, int]]:
        """(start, end) of every secret of this form where one of its hints occurs."""
        at = text.find(hint)
        while at != -1:
            # Compiled with the first hint that is found: thirty forms would cost every start.
            match = re.compile(self.expression).match(text, self._start(text, at))
            if match and self.convinces(match["value"]):
                yield match.span("value")
            at = text.find(hint, match.end() if match else at + 1)

    def unended(self, text: str, hint: str) -> Iterator[int]:
        """Where a secret of this form may begin that the end of its line cuts off."""
        at = text.find(hint)
        while at != -1:
            run = RUN.match(text, at + len(hint))
            if TAIL.match(text, run.end() if run else at + len(hint)):
                yield at
            at = text.find(hint, run.end() if run else at + 1)

    def _start(self, text: str, at: int) -> int:
        if self.back is None:
            return at
        start = at
        while start > 0 and at - start < _LONGEST_BEFORE and self.back(text[start - 1]):
            start -= 1
        return start


_LONGEST_BEFORE = 24
_STAND_INS = frozenset(("pass", "password", "passwd", "secret", "user", "test", "testing", "token"))
_STAND_IN_PARTS = (
    "changeme", "change-me", "change_me", "change me", "placeholder", "your-", "your_", "dummy", "xxxx",
    "***", "redacted", "<secret:", "...",
)  # fmt: skip
_STAND_IN_WORDS = re.compile(r"(?<![a-z0-9])example|not[-_]?a[-_]?secret")


_ALONE = (
    r"(?:(?<![A-Za-z0-9_])|(?<=[a-z0-9]_)|(?<=\\[nrtbfv])|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=%[0-9A-Fa-f]{2})|(?<==[0-9A-F]{2})|(?<=\[[0-9]m)|(?<=[;0-9][0-9]m))"
)
"""May precede a secret: no word, but an escape of JSON, a string, an address, a mail or a terminal."""

_NOT_VALUES = re.compile(
    r"[$%{}()\[\]\\\"'`<>]|::|^[/.:]|^os\.environ|^https?:|^[\w.]+\.[\w.]+\.[a-z]+$"
)
_CODE = re.compile(
    r"\([\w.,-]*\)|\[[\w.^-]*\]|\{[\w.]*\}|^<.*>$|\$\{|^\$|\$(?:[a-z_]{4}|[A-Z_]{4})|%Y|%[sdfrvx](?![A-Za-z0-9])"
    r"|%[0-9A-F]{2}|\\[a-zA-Z]|a-z|A-Z|\w\([\"']|^[/.:^]|https?:|^os\.environ"
)
"""Brackets, variables, formats and escapes, which show that a text is code and no password."""
_WITHIN = re.compile(r"[(\[{][^()\[\]{}]{1,40}[)\]}]\w")
"""Brackets within a word."""
_FORMULA = re.compile(
    r"^[\w.]{0,80}[A-Za-z]{3}[\w.]{0,80}[(\[]|[,;]$|[$*?\\|]|a-z|A-Z|\d-\d|\{[A-Za-z_.]{3,}\}|://|%\w|[(\[{]{2}|\w\([\"']|,\w+=|;\w+$"
)
"""Variables, patterns, templates and addresses."""
_SEPARATES = re.compile(r"[=()\[\]{}$*?\\|]|[,;'\"]$|[,;]{2}|://|%\w")
"""Signs by which a text is several values, or code."""
_WORD = r"[^\s\"'`<>|;&\\]"
_ARGUMENT = rf"[\"']?(?P<value>(?<=[\"'])[^\s\"'`<>]{{6,200}}(?=[\"'])|{_WORD}{{6,200}})"
_OPTIONS = r"(?: [^\s|;]{1,80}){0,12}?"
"""The words of a command line between its program and an option."""


def _form(
    name: str, body: str, *hints: str, convinces: Callable[[str], bool] = _certain
) -> SecretForm:
    """Return the form of a separate token, without a character of its own alphabet before or after it."""
    return SecretForm(name, hints, rf"{_ALONE}(?P<value>{body})(?![A-Za-z0-9])", convinces)


def _of_scheme(character: str) -> bool:
    return character.isalnum() or character in "+.-"


FORMS: tuple[SecretForm, ...] = (
    _form("api-key", r"sk-(?:ant-[a-z0-9]+-|or-v1-|proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}", "sk-",
          convinces=is_random),
    _form("github-token", r"gh[pousr]_[A-Za-z0-9]{30,}", "gh"),
    _form("github-token", r"github_pat_[A-Za-z0-9_]{22,}", "github_pat_"),
    _form("gitlab-token", r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}", "glpat-", "gldt-", "glrt-"),
    _form("slack-token", r"xox[abeoprs](?:-[A-Za-z0-9]+){2,}|xapp-[A-Za-z0-9-]{20,}", "xox", "xapp-",
          convinces=is_random),
    _form("slack-webhook", r"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}",
          "hooks.slack.com/"),
    _form("aws-access-key", r"A(?:KIA|SIA)[A-Z0-9]{16}", "AKIA", "ASIA"),
    _form("google-key", r"AIza[0-9A-Za-z_-]{35}", "AIza"),
    _form("google-token", r"ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}", "ya29.", "GOCSPX-"),
    _form("huggingface-token", r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _form("npm-token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _form("pypi-token", r"pypi-[A-Za-z0-9_-]{50,}", "pypi-", convinces=is_random),
    SecretForm("stripe-key", ("_live_", "_test_"),
         r"(?<![A-Za-z0-9_])(?P<value>[sr]k_(?:live|test)_[A-Za-z0-9]{16,})", is_random,
         str.isalpha),
    _form("webhook-secret", r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    _form("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "SG."),
    _form("twilio-key", r"SK[0-9a-f]{32}", "SK", convinces=is_random),
    SecretForm("telegram-token", (":AA",), r"(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{32,})",
         back=str.isdigit),
    _form("groq-key", r"gsk_[A-Za-z0-9]{40,}", "gsk_"),
    _form("xai-key", r"xai-[A-Za-z0-9]{40,}", "xai-"),
    _form("replicate-token", r"r8_[A-Za-z0-9]{30,}", "r8_", convinces=is_random),
    _form("perplexity-key", r"pplx-[A-Za-z0-9]{40,}", "pplx-"),
    SecretForm("digitalocean-token", ("_v1_",), r"(?P<value>do[opr]_v1_[a-f0-9]{64})",
         back=str.isalpha),
    _form("databricks-token", r"dapi[a-f0-9]{32}", "dapi"),
    _form("shopify-token", r"shpat_[a-fA-F0-9]{32}", "shpat_"),
    _form("linear-key", r"lin_api_[A-Za-z0-9]{32,}", "lin_api_"),
    _form("notion-token", r"ntn_[A-Za-z0-9]{40,}", "ntn_"),
    _form("vault-token", r"hvs\.[A-Za-z0-9_-]{24,}", "hvs."),
    _form("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", "AGE-SECRET-KEY-1"),
    _form("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", "eyJ"),
    SecretForm("url-password", ("://",),
         r"[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s/:@'\"<>]{0,64}:(?P<value>[^\s/@'\"<>]{3,200})@",
         is_password, _of_scheme),
    SecretForm("authorization", ("earer ", "asic ", "oken "),
         r"\b(?:[Bb]earer|[Bb]asic|[Tt]oken) (?P<value>[A-Za-z0-9._~+/-]{16,}=*)",
         is_random, str.isalpha),
    SecretForm("azure-key", ("AccountKey=", "SharedAccessKey="),
         r"(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{40,}=*)"),
    SecretForm("password", ("-password ", "-passwd ", "-passphrase ", "-token ", "-secret ", "-key ",
                      "-apikey ", "pass ", "-password="),
         rf"(?:-[a-z]+|(?<=-store)pass|(?<=-key)pass)[ =]+[\"']?(?P<value>{_WORD}{{8,200}})", _numbered),
    SecretForm("password", ("curl ",),
         rf"curl [^\n|;]{{0,400}}?(?:-[a-zA-Z]{{0,6}}[uU]|--(?:proxy-)?user)[ =]?"
         rf"[\"']?[^\s:\"']{{1,64}}:(?P<value>{_WORD}{{6,200}})", drawn),
    SecretForm("password", ("redis-cli ",), rf"redis-cli{_OPTIONS} (?:-a|--pass)[ =]{_ARGUMENT}", drawn),
    SecretForm("password", ("zip ", "sqlcmd ", "ipmitool "),
         rf"[a-z]+{_OPTIONS} -[a-zA-Z]{{0,6}}P ?{_ARGUMENT}", drawn),
    SecretForm("password", ("7z ",), rf"7z{_OPTIONS} -p{_ARGUMENT}", drawn),
    SecretForm("password", ("pass:",),
         rf"(?:(?<=-pass )|(?<=-passin )|(?<=-passout )|(?<=[ =][\"']))pass:{_ARGUMENT}", drawn),
    SecretForm("password", ("login ",), rf"login{_OPTIONS} (?:-p|--password)[ =]?{_ARGUMENT}", drawn),
    SecretForm("password", ("htpasswd -",),
         rf"htpasswd -[a-zA-Z]{{0,5}}b[a-zA-Z]{{0,5}}(?: [^\s|;]{{1,80}}){{1,2}} {_ARGUMENT}", drawn),
    SecretForm("password", ("sshpass -p",), rf"sshpass -p ?[\"']?(?P<value>{_WORD}{{6,200}})", drawn),
    SecretForm("password", ("login ",), rf"login \S{{1,100}}\s+password\s+(?P<value>{_WORD}{{6,200}})",
         drawn),
    SecretForm("password", ("ENV ", "ARG "),
         r"(?:ENV|ARG) [A-Z0-9_]*(?:PASS|TOKEN|SECRET|KEY)[A-Z0-9_]* +[\"']?"
         rf"(?P<value>{_WORD}{{8,200}})", drawn),
    SecretForm("password", ("assword>", "asswd>", "assphrase>", "oken>", "ecret>", "piKey>", "pi-key>"),
         r"[A-Za-z-]+>(?P<value>[^<>\s]{6,200})</", drawn),
    SecretForm("password", ("ASSWORD ", "assword ", "TIFIED BY "),
         r"[A-Za-z_]+ {1,8}(?:(?i:by|password) +)?[\"'](?P<value>[^\s\"'`<>]{6,200})[\"']",
         drawn, str.isalpha),
    SecretForm("password", ("mysql", "mariadb", "ldap", ":5432:"),
         r"(?:(?:mysql|mariadb)[a-z-]*(?: [^\s|;]{1,80}){0,12}? -p|ldap[a-z]+ (?:[^\s|;]{1,80} ){0,12}?-w +"
         rf"|:5432:[^\s:]{{1,64}}:[^\s:]{{1,64}}:)[\"']?(?P<value>{_WORD}{{6,200}})", drawn),
    SecretForm("password", ("wd=",), r"(?<![A-Za-z])[Pp]wd=(?P<value>[^\s\"'`<>;&|]{6,200})", drawn,
         str.isalpha),
    SecretForm("password", ('assword"',),
         r"""[\w-]*assword"(?:[^<>\n]{0,200}? value=| \{[^{}]{0,300}?default\s{0,20}=\s{0,20})"""
         r"""\"(?P<value>[^\s"]{6,256})\"""", drawn),
    SecretForm("login", ("auth",), r"auth\"? ?[:=] {0,3}[\"']?(?P<value>[A-Za-z0-9+/]{12,}=*)", is_random),
    SecretForm("password-hash", ("$apr1$", "$2", "$6$", "$y$", "$argon2"),
         r"\$(?:apr1|2[aby]|[6y]|argon2\w{1,2})\$(?P<value>[A-Za-z0-9./$=,+]{20,})", is_random),
    SecretForm("cookie", ("ookie: ",), r"ookie: (?P<value>[^\r\n\"'\\]{16,4096})", _cookies),
)  # fmt: skip
"""Forms of secrets that take one line."""
_BY_HINT: dict[str, list[SecretForm]] = {}
for _each in FORMS:
    for _hint in _each.hints:
        _BY_HINT.setdefault(_hint, []).append(_each)
_HINTS = tuple((hint, tuple(forms)) for hint, forms in _BY_HINT.items())


Hinted = tuple[str, SecretForm]
"""A hint that a text contains, and a form that has it."""


def hinted(text: str) -> list[Hinted]:
    """The hints that a text contains, each with the forms that have it."""
    return [(hint, form) for hint, forms in _HINTS if hint in text for form in forms]
