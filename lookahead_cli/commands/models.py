"""`lookahead models`: which models are on this machine, fetching, describing and removing them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.help_text import documented
from lookahead_cli.commands.interrupts import interrupts_kept
from lookahead_cli.commands.misuse import Commands
from lookahead_cli.commands.output import print_object, writing_output
from lookahead_cli.errors import Interrupted, LookaheadError, ModelError

if TYPE_CHECKING:
    from rich.console import Console

    from lookahead_cli.models.loading import Wish
    from lookahead_cli.models.removal import Removal
    from lookahead_cli.models.sources import Source
    from lookahead_cli.profile import Settings

models = typer.Typer(
    cls=Commands,
    name="models",
    help="Models: list, fetch, describe and remove them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SOURCE = options.with_example("smollm2-135m, a folder, a .gguf file, or a hub id.", "smollm2-135m")
SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help=SOURCE, autocompletion=options.complete_models, show_default=False)
]
Revision = Annotated[
    str,
    options.option(
        options.MODEL, "NAME", "Branch, tag or commit of a hub id.", "--revision", example="--revision v1",
        show_default=False,
    ),
]  # fmt: skip
AsJson = Annotated[bool, options.flag(options.OUTPUT, "--json", "As JSON.", example="--json")]


@documented(models, "list")
def list_models(
    every: Annotated[
        bool,
        options.flag(
            options.OUTPUT, "--all", "What is in the hub's cache and no language model, too.", example="--all"
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Every model on this machine: packaged, converted from GGUF, and in the hub's cache.

    Examples:
        lookahead models list
        lookahead models list --all --json | jq .
    """
    from lookahead_cli.models.listing import listed_models
    from lookahead_cli.render.models_table import model_lines, model_remarks, models_object, models_table
    from lookahead_cli.render.terminal import console
    from lookahead_cli.text.visible import visible

    settings = _settings()
    listed = listed_models(_wish(settings))
    shown = [entry for entry in listed if every or entry.language_model]
    with writing_output():
        output = console("stdout", settings.display)
        if as_json:
            print_object(models_object(shown))
        elif output.is_terminal:
            output.print(models_table(shown, output.width))
            for remark in model_remarks(shown):
                output.print(f"note: {visible(remark)}", style="dim")
            if len(shown) < len(listed):
                output.print(f"and {len(listed) - len(shown)} that are no language models: --all", style="dim")
        else:
            for line in model_lines(shown):
                print(line)
    return 0


@documented(models, "pull")
def pull(source: SourceArgument, revision: Revision = "", profile: options.Profile = None) -> int:
    """Fetch a model and prepare it, so that it runs without the network.

    What was interrupted goes on with the same command. What is here already is not asked for again.

    Examples:
        lookahead models pull smollm2-135m
    """
    from lookahead_cli.models.facts import stored_weights
    from lookahead_cli.models.folder import check_folder
    from lookahead_cli.models.sources import locate, present_folder
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.text.visible import visible

    settings = _settings(profile)
    found = _recognised(source, revision)
    revision = revision or _own_revision(found, settings)
    allow = frozenset(settings.model.allow)
    here = True
    try:
        with ProgressStatus(_notes(settings)) as progress, interrupts_kept():
            folder = present_folder(found, revision=revision, allow=allow, progress=progress)
            if folder is None:
                here = False
                folder = locate(source, revision=revision, allow=allow, progress=progress)
            stored_weights(check_folder(folder, allow, found.name))  # reads their heads: what is damaged is told now
    except Interrupted:
        goes_on = "goes on with the files that are not here yet" if found.kind == "hub" else "begins anew"
        raise Interrupted(f"interrupted: the same command {goes_on}") from None
    what = "is a folder of your own, there is nothing to fetch" if found.kind == "folder" else "is ready"
    with writing_output():
        print(visible(f"{found.name} {'is here already' if here and found.kind != 'folder' else what}: {folder}"))
    return 0


@documented(models, "info")
def info(
    source: SourceArgument, revision: Revision = "", profile: options.Profile = None, as_json: AsJson = False
) -> int:
    """What a model is and what it takes to run it, without loading or fetching its weights.

    Examples:
        lookahead models info smollm2-135m
    """
    from lookahead_cli.models.report import report
    from lookahead_cli.render.model_report import report_lines, report_object, report_table
    from lookahead_cli.render.progress import ProgressStatus
    from lookahead_cli.render.terminal import console
    from lookahead_cli.text.visible import visible

    settings = _settings(profile)
    found = _recognised(source, revision)
    with ProgressStatus(_notes(settings)) as progress, interrupts_kept():
        progress(f"reading {found.name}")
        told = report(found, revision or _own_revision(found, settings), _wish(settings), progress)
    with writing_output():
        output = console("stdout", settings.display)
        if as_json:
            print_object(report_object(told))
        elif output.is_terminal:
            output.print(report_table(told))
        else:
            for name, value in report_lines(told):
                print(f"{name}: {visible(value)}" if name else f"  {visible(value)}")
    return 0


@documented(models, "rm")
def rm(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help=SOURCE, autocompletion=options.complete_models, show_default=False),
    ],
    revision: Revision = "",
    yes: Annotated[bool, options.flag(options.OUTPUT, "--yes", "Do not ask.", "-y", example="-y")] = False,
) -> int:
    """Remove models from the caches, with what is known about them. Files and folders of your own stay.

    Examples:
        lookahead models rm smollm2-135m --yes
    """
    from lookahead_cli.models.removal import plan_removal
    from lookahead_cli.render.amounts import shown_bytes
    from lookahead_cli.render.progress import ProgressStatus

    notes = _notes(_settings())
    with ProgressStatus(notes) as progress:
        removals = [plan_removal(source, revision, progress) for source in dict.fromkeys(sources)]
    for removal in removals:
        removal.refuse_if_busy()
    if not (yes or _confirmed(removals)):
        notes.print("nothing was removed")
        return 1
    for removal in removals:
        freed = removal.run()
        with writing_output():
            print(f"{removal.name} is removed, {shown_bytes(freed)} freed")
    return 0


@documented(models, "path")
def path(
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help=SOURCE, autocompletion=options.complete_models, show_default=False),
    ] = None,
    revision: Revision = "",
) -> int:
    """The cache folder; with SOURCE the folder of that model, if it is here.

    Examples:
        lookahead models path
        lookahead models path smollm2-135m
    """
    from lookahead_cli.models.cache import cache_folder
    from lookahead_cli.models.sources import present_folder

    folder = cache_folder()
    if source is not None:
        settings = _settings()
        found = _recognised(source, revision)
        allow = frozenset(settings.model.allow)
        present = present_folder(found, revision=revision or _own_revision(found, settings), allow=allow)
        if present is None:
            raise ModelError(
                f"{found.name} is not ready on this machine: `lookahead models pull {found.name}` sees to it"
            )
        folder = present
    with writing_output():
        print(folder)
    return 0


def _settings(profile: str | None = None) -> Settings:
    """Those of the profile and the environment: they decide how a model would be run."""
    return options.resolve_options({"profile": profile}).settings


def _wish(settings: Settings) -> Wish:
    from lookahead_cli.models.loading import Wish

    model = settings.model
    return Wish(model.dtype, model.device, model.runner, None, frozenset(model.allow), model.weights)


def _recognised(source: str, revision: str) -> Source:
    """What `source` means. Raises ModelError if it means nothing, or has no revisions."""
    from lookahead_cli.models.sources import recognise

    found = recognise(source)
    if revision and found.kind != "hub":
        raise ModelError(f"--revision goes with a hub id, and {found.name} is none: leave it out")
    return found


def _own_revision(found: Source, settings: Settings) -> str:
    """The revision that the profile names for this model."""
    return settings.model.revision if found.name == settings.model.source else ""


def _confirmed(removals: list[Removal]) -> bool:
    """Ask, saying what would go. Raises LookaheadError where there is nobody to ask."""
    from lookahead_cli.render.amounts import shown_bytes
    from lookahead_cli.text.visible import visible

    named = ", ".join(f"{removal.name} ({shown_bytes(removal.size)})" for removal in removals)
    if sys.stdin is None or not sys.stdin.isatty():
        raise LookaheadError(f"removing {named} has to be confirmed, and there is no terminal to ask on: give --yes")
    print(f"Remove {visible(named)}? [y/N]: ", end="", file=sys.stderr, flush=True)
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise Interrupted("interrupted: nothing was removed") from None
    if not answer.endswith("\n"):  # Ctrl-D
        print(file=sys.stderr)
    return answer.strip().lower() in ("y", "yes")


def _notes(settings: Settings) -> Console:
    from lookahead_cli.render.terminal import console

    return console("stderr", settings.display)
