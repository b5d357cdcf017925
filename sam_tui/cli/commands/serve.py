"""``sam-tui serve``: the plan API of seed 002 on loopback."""

import asyncio

import click

from sam_tui import __version__
from sam_tui.cli.options import Values, open_runtime, server_options, settings
from sam_tui.core.authorization.paths.secrets import PLAN_TOKEN


@click.command("serve", short_help="Serve plans to other programs over HTTP.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8933,
    show_default=True,
    help="Of 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--hand-out", metavar="ROLES", help="Roles, by commas, whose steps “sam-tui worker” does."
)
@server_options
def serve_command(**values: object) -> int:
    """Serve POST /api/generate-plan and its companions on 127.0.0.1 until a signal comes.

    A client sends the token that is kept in plan-token in the data folder as “Authorization: Bearer …”.
    What a task needs approved waits at /api/inquiries for an answer.
    """
    asyncio.run(_serve(values))
    return 0


async def _serve(values: Values) -> None:
    from sam_tui.cli.commands.fleets.driving import handed_out
    from sam_tui.plan_server.server import PlanFace, attends, serve_plans
    from sam_tui.tokens import bearer_token

    runtime = open_runtime(values, attended=attends, program="sam-tui serve")
    try:
        token = bearer_token(settings(values).data_dir, PLAN_TOKEN)
        runtime.executor.shield.learn({"PLAN_TOKEN": token.text})

        def announce(port: int) -> None:
            click.echo(f"sam-tui serves plans at http://127.0.0.1:{port}", err=True)
            click.echo(f"The token for Authorization: Bearer is in {token.path}", err=True)

        with handed_out(values, runtime) as hand_out:
            face = PlanFace(values["port"], token.text, __version__, announce)
            await serve_plans(runtime, face, hand_out)
    finally:
        await runtime.close()
