"""Our client as the official conformance suite runs it: ``client.py URL``, a person at its side.

A runtime over a file that names the one server calls what the scenario, named by the environment, is
about, as a model would; questions are answered and pages opened as by a willing person.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Reply
from tests.servers.conftest import House, Open

ARGUMENTS: dict[str, dict[str, Any]] = {
    "add_numbers": {"a": 5, "b": 3},
    "valid_tool": {"region": "us-west1"},
}
"""What tools of the suite are called with; others get nothing, or what the scenario's context says."""
NAMES = {
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "private_key_pem": "privateKey",
    "signing_algorithm": "algorithm",
    "valid_jwt": "assertion",
    "idp_id_token": "assertion",
    "idp_token_endpoint": "idpTokenUrl",
    "idp_client_id": "idpClientId",
}
"""Of what a scenario tells its client: the keys of our settings."""
GRANTS = {
    "auth/client-credentials-basic": "client_credentials",
    "auth/client-credentials-jwt": "client_credentials",
    "auth/wif-jwt-bearer": "jwt_bearer",
    "auth/enterprise-managed-authorization": "token_exchange",
}


def willing(inquiry: Inquiry) -> Answer:
    """Allow, take every default, open every page."""
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        return Approval("once")
    for choice in ("default", "log in", "accept", "done", "allow"):
        if choice in request.choices:
            return Reply(choice)
    return Reply(request.choices[0] if request.choices else "default")


def listening() -> list[str]:
    """Every port of this machine that something listens on: the suite's servers are among them."""
    lines = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]
    ]
    ports = {int(fields[1].rpartition(":")[2], 16) for fields in lines if fields[3] == "0A"}
    return [f"{host}:{port}" for port in sorted(ports) for host in ("localhost", "127.0.0.1")]


def entry(scenario: str, url: str, context: dict[str, Any]) -> dict[str, Any]:
    """The server as a person's file names it."""
    oauth = {name: context[key] for key, name in NAMES.items() if key in context}
    if scenario in GRANTS:
        oauth["grant"] = GRANTS[scenario]
    if "idpTokenUrl" in oauth:
        oauth["issuer"] = issuer_of(url)  # as the company's administrator says
    if scenario == "auth/basic-cimd":
        oauth["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
    return {"type": "http", "url": url, **({"oauth": oauth} if oauth else {})}


def issuer_of(url: str) -> str:
    """The authorization server that a server of the suite names."""
    base, _, path = url.rpartition("/")
    with urllib.request.urlopen(
        f"{base}/.well-known/oauth-protected-resource/{path}", timeout=20
    ) as answer:
        return json.load(answer)["authorization_servers"][0]


async def use(sam: Open, tools: list[str], calls: list[dict[str, Any]]) -> None:
    """Call every tool once, or as the context says."""
    for call in calls:
        given = {name: value for name, value in call["arguments"].items() if value is not None}
        print(await sam.text(f"mcp__suite__{call['name']}", **given))
    for tool in tools if not calls else ():
        name = tool.removeprefix("mcp__suite__")
        if name == "resources_read":
            listed = await sam.text("mcp__suite__resources_list")
            print(await sam.text(tool, uri=re.split(r"\s", listed, maxsplit=1)[0]))
        else:
            given = {"schema": kept(sam)} if name == "json_schema_echo" else ARGUMENTS.get(name, {})
            print(await sam.text(tool, **given))


def kept(sam: Open) -> object:
    """The schema of the suite's tool of schemas, as the client keeps it."""
    folder = Path(sam.runtime.workspace.root).parent / "data" / "mcp-tools"
    files = [file for file in folder.iterdir() if not file.name.startswith("approved-")]
    lists: list[list[dict[str, Any]]] = [json.loads(file.read_text("utf-8")) for file in files]
    tools = {row["name"]: row["schema"] for rows in lists for row in rows}
    return tools["json_schema_2020_12_tool"]


async def main(url: str) -> int:
    """One scenario; 0 where the server was reached."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ws").mkdir()
        (Path(folder) / "cfg").mkdir(mode=0o700)
        house = House(Path(folder))
        house.user(suite=entry(scenario, url, context))
        house.policy(f"local = {json.dumps(listening())}\n")
        async with house.open(responder=willing, browse=follow) as sam:
            tools = await sam.arrive()
            report = sam.reports["suite"]
            print(report.standing, report.error, tools, report.left_out)
            await use(sam, tools, context.get("toolCalls", []))
    return 0 if report.standing in ("ready", "ended") else 1


def follow(page: str) -> None:
    """What a browser and a person who agrees do with a page of a login."""
    with urllib.request.urlopen(
        page, timeout=20
    ) as answer:  # the redirect leads to our own address
        answer.read()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
