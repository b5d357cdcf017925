"""A hundred texts that look like secrets to a careless eye, and are none."""

import pytest

from sam_tui.core.redaction.shield import Shield

HEX = "9fceb02d0ae598e95dc970b74767f19372d61af8"
B64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

PLAIN = f"""
commit {HEX}
index 3b18e51..{HEX[:7]} 100644
Merge: {HEX[:7]} {HEX[7:14]}
* {HEX[:8]} (HEAD -> main) Fix token parsing
550e8400-e29b-41d4-a716-446655440000
request_id=550e8400-e29b-41d4-a716-446655440000
integrity: sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvg===
"resolved": "https://registry.example.org/lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3df370"
checksum = "8a9f5d6d2f1a9c2b3e4d5f60718293a4b5c6d7e8f9a0b1c2d3e4f5061728394a"
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
--hash=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
![](data:image/png;base64,{B64})
{B64}
token = get_token()
token = self.token
token: str = ""
token: Token | None = None
tokens = tokenizer.encode(text)
max_tokens=4096
max_completion_tokens: 128000
"total_tokens": 123456789
token_count = len(tokens)
password = os.environ["DB_PASSWORD"]
api_key: os.environ/E2B_API_KEY
master_key = f"{{os.getenv('LITELLM_MASTER_KEY')}}-1234"
"token": "[-!#$%&'*+.^_`|~0-9a-zA-Z]+"
oauth_token_secret="secret%3Dpassword1"
db_pass = "${{DB_PASS:-none}}/x1"
user_pass: "{{{{ vault_user_pass_1 }}}}"
"secretKeyTemplate": "key-%s-{{0}}-$name1"
password = getpass.getpass("Password: ")
password: string;
password=$DB_PASSWORD
PASSWORD=${{DB_PASSWORD}}
PASSWORD=changeme
PASSWORD=password
password: "example-password-1"
passwordField.setText("")
def check_password(password: str, hashed: str) -> bool:
if password != confirm_password:
raise ValueError("password must have at least 8 characters")
secret = secrets.token_hex(16)
secretName: my-app-tls-2024
secretKeyRef: database-credentials-v2
secret_version = "projects/p1/secrets/s1/versions/3"
api_key = config.get("api_key")
api_key=os.getenv("OPENAI_API_KEY")
apiKey: process.env.API_KEY
API_KEY=your-api-key-here-123
API_KEY=<your key 123456>
api_key: "${{API_KEY_2024}}"
api_key_file = "/run/secrets/api_key_1"
credentials_path: ~/.config/creds-2024.json
access_token_url = "https://example.com/oauth2/v2/token"
token_endpoint: https://login.example.com/oauth2/v2.0/token
"token_type": "bearer"
"csrfTokenName": "csrf_token_2"
Cookie: theme=dark; note=the value that 4 people gave in 2024
cookie: Mapping[str, str] = header_of(request, 2024)
cookie: session= ; lang=en-GB; seen=yes and 31f9a8b7c6d later
key = "user:1234:profile:v2"
cache_key = f"{{user_id}}:{{version}}"
key: node-modules-v3-{HEX[:12]}
"key": "value12345678"
keyboard_layout = "us-intl-2024"
primary_key=True
foreign_key: "users.id_2"
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 user@host
SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
sk-learn
sk-folding-cube-container-large-element-name
<div class="sk-circle sk-circle-fade-dot-animation">
task-force-one-is-on-the-way-to-the-place
risk-assessment-of-the-whole-organisation
ghp_short
gh_pages_branch_is_deployed_by_the_workflow
hf_hub_download(repo_id="bert-base-uncased", filename="config.json")
npm_config_cache=/home/user/.npm/_cacache
npm_package_version=1.2.3
pypi-publish-action
xoxo-hugs-and-kisses
AKIA is a prefix
AIza is one too
eyJhbGciOiJIUzI1NiJ9
SG.com
SKU-12345-ABCDE
SKIP=flake8,mypy pre-commit run
https://example.com:8080/path?query=1
https://user@example.com/path
git@github.com:owner/repo.git
http://localhost:3000
http://[::1]:8080/x
postgres://user:password@localhost/db
postgres://$USER:$PASS@localhost/db
redis://:@localhost:6379/0
mongodb://<user>:<password>@cluster0.mongodb.net
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
the bearer of this letter is a friend
Basic authentication is used for the proxy
Token authentication classes are listed below
12:34:56:AA:BB:CC
2024-01-31T12:34:56.789012Z
0x7fff5fbff8c8
/usr/lib/x86_64-linux-gnu/libssl.so.3
d41d8cd98f00b204e9800998ecf8427e  empty.txt
AAAAB3NzaC1yc2E=
1.2.3-beta.4+build.5678
0b1010101010101010101010101010
lorem ipsum dolor sit amet consectetur adipiscing
assert token == expected_token
for token in tokenize.generate_tokens(readline):
@dataclass(frozen=True, slots=True)
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
PRIVATE_KEY_PATTERN = re.compile(r"BEGIN [A-Z ]*PRIVATE KEY")
signing_key = load_key(path)
encryption_key: bytes = derive(password, salt)
access_key_id = "the-id-of-the-key"
credential = DefaultAzureCredential()
auth_key_provider: AuthKeyProvider = EnvironmentProvider()
license_key_label = "Licence 2024 for everyone"
SECRETS = ["id_ed25519", ".env", "maven/.m2/settings.xml"]
token: Field(min_length=1)
if token: bucket.TokenBucket(max_rate=1
  api_key = ANY($1::text[])
adminAPIKeyAuth:!0}}}})}}fileSearchCalls(e){{
tokens = ["ereject|exists|false|fileinto", "^primary"]
access_token=tokens[0]or(default)
api_key={{user}}suffix
token=self.get(x)[0]
secret_key=bytes(range(32))[1:]
token: (?:[A-Za-z0-9]+)x
token: Field(min_length=32),
PWD=/home/user/work2
mysql -u root -p
redis-cli -h cache-1.local -p 6379 ping
zip -r out-2.zip Pictures
ipmitool -I lanplus -H bmc-1.local -E chassis power status
sqlcmd -S tcp:host,1433 -P $SQL_PASS1 -i x.sql
docker login -u bob --password-stdin
DB_TOKENS=a1,B2,c3
api_key=row1,col2;row3
secret_key=Aa1;Bb2;
IDENTIFIED BY '<password>'
variable "db_password" {{ type = string }}
""".strip().splitlines()


@pytest.mark.requirement("shield:false-positives")
def test_the_corpus_has_a_hundred_texts() -> None:
    assert len(PLAIN) >= 100


@pytest.mark.requirement("shield:false-positives")
def test_what_is_no_secret_is_left_alone() -> None:
    shield = Shield()
    changed = {text: masked.text for text in PLAIN if (masked := shield.mask(text)).count}
    assert changed == {}


@pytest.mark.requirement("shield:false-positives")
def test_the_sources_of_this_program_are_left_alone() -> None:
    from pathlib import Path

    import sam_tui

    shield, changed = Shield(), dict[str, tuple[str, ...]]()
    for file in Path(sam_tui.__file__).parent.rglob("*.py"):
        masked = shield.mask(file.read_text(encoding="utf-8"))
        if masked.count:
            changed[str(file)] = masked.names
    assert changed == {}
