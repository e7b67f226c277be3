"""The Typer app: wires commands, nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from lookahead_cli import __version__
from lookahead_cli.commands.batch import batch
from lookahead_cli.commands.bench import bench
from lookahead_cli.commands.chat import chat
from lookahead_cli.commands.compare import compare
from lookahead_cli.commands.doctor import doctor
from lookahead_cli.commands.generate import generate
from lookahead_cli.commands.help_text import documented
from lookahead_cli.commands.misuse import Commands
from lookahead_cli.commands.models import models
from lookahead_cli.commands.profiles import profiles
from lookahead_cli.commands.replay import replay
from lookahead_cli.errors import EXIT_CODES

GENERATE, MEASURE, MANAGE = "Generate", "Measure", "Manage"
"""Panels of the help page."""

app = typer.Typer(
    name="lookahead",
    cls=Commands,
    help="Generate text with lookahead decoding: several tokens per forward pass, never a different token.",
    epilog="\n".join(["Exit codes:", *(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())]),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
documented(app, "generate", GENERATE)(generate)
documented(app, "chat", GENERATE)(chat)
documented(app, "batch", GENERATE)(batch)
documented(app, "compare", MEASURE)(compare)
documented(app, "bench", MEASURE)(bench)
documented(app, "replay", MEASURE)(replay)
documented(app, "doctor", MANAGE)(doctor)
app.add_typer(profiles, name="profiles", rich_help_panel=MANAGE)
app.add_typer(models, name="models", rich_help_panel=MANAGE)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lookahead {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass
