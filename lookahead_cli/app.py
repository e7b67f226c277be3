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
from lookahead_cli.commands.models import models
from lookahead_cli.commands.profiles import profiles
from lookahead_cli.commands.replay import replay

app = typer.Typer(
    name="lookahead",
    help="Generate text with lookahead decoding: several tokens per forward pass, never a different token.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(generate)
app.command()(chat)
app.command()(batch)
app.command()(compare)
app.command()(bench)
app.command()(replay)
app.command()(doctor)
app.add_typer(profiles, name="profiles")
app.add_typer(models)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lookahead {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
