"""`lookahead profiles`: which there are, what they mean, whether they are right, and new ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookahead_cli.commands import options
from lookahead_cli.commands.help_text import documented
from lookahead_cli.commands.misuse import Commands
from lookahead_cli.commands.output import print_object, writing_output
from lookahead_cli.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

profiles = typer.Typer(
    cls=Commands,
    help="Show, check and make profiles: TOML files with settings.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, options.flag(options.OUTPUT, "--json", "One JSON object.", example="--json")]
Named = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME|FILE",
        help=options.with_example("The profile; else the one that is used when none is named.", "code"),
        autocompletion=options.complete_profiles,
        show_default=False,
    ),
]


@documented(profiles, "list")
def show_list(as_json: AsJson = False) -> int:
    """Every profile that can be named: its model, what it is for, and its file.

    Where several folders have one of a name, the first one is meant by it.

    Examples:
        lookahead profiles list
        lookahead profiles list --json | jq .
    """
    from lookahead_cli.profile import DisplaySettings, profile_folders
    from lookahead_cli.profile_listing import listed_profiles
    from lookahead_cli.render.profile_table import listed_object, profile_line, profile_tables
    from lookahead_cli.render.terminal import print_tables

    found = listed_profiles()
    with writing_output():
        if as_json:
            print_object(listed_object(found, profile_folders()))
        elif sys.stdout.isatty():
            print_tables(profile_tables(found), DisplaySettings())
        else:
            print_lines(map(profile_line, found))
    return 0


@documented(profiles, "show")
def show_settings(
    context: typer.Context,
    profile: Named = None,
    system: options.System = None,
    raw: options.Raw = False,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    strategy: options.Strategy = None,
    drafters: options.Drafters = None,
    k: options.K = None,
    init: options.Init = None,
    refill: options.Refill = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    min_p: options.MinP = None,
    repetition_penalty: options.RepetitionPenalty = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    stop: options.Stop = None,
    color: options.Color = None,
    theme: options.Theme = None,
    no_stats: options.NoStats = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    as_json: AsJson = False,
) -> int:
    """Every setting with its value, and where that comes from.

    That is an option, a variable, a line of the profile, or the defaults. With the options of generate it says what a
    command line with them would mean. What is printed can be saved as a profile.

    Examples:
        lookahead profiles show code -k 8
        lookahead profiles show --json | jq .
    """
    from lookahead_cli.render.profile_table import settings_lines, settings_object
    from lookahead_cli.render.terminal import console

    resolved = options.resolve_options(context.params)
    with writing_output():
        if as_json:
            print_object(settings_object(resolved))
        else:
            output = console("stdout", resolved.settings.display)
            for line in settings_lines(resolved):
                output.print(line, soft_wrap=True)
    return 0


@documented(profiles, "check")
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|FILE",
            help=options.with_example("Profiles, by path or by name.", "code ./other.toml"),
            autocompletion=options.complete_profiles,
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
) -> int:
    """Everything that is wrong in profiles, a line each; the exit code is 2 then.

    Examples:
        lookahead profiles check code ./other.toml
    """
    from lookahead_cli.profile_check import faults_of
    from lookahead_cli.render.profile_table import checked_lines, checked_object

    checked = [faults_of(file) for file in files]
    with writing_output():
        if as_json:
            print_object(checked_object(checked))
        else:
            print_lines(line for file, faults in checked for line in checked_lines(file, faults))
    return ProfileError.exit_code if any(faults for _, faults in checked) else 0


@documented(profiles, "new")
def new(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help=options.with_example("A name, for your own folder of profiles; or a path.", "fast"),
            show_default=False,
        ),
    ],
    force: Annotated[
        bool, options.flag(options.OUTPUT, "--force", "Replace a file that is there.", example="--force")
    ] = False,
    system: options.System = None,
    raw: options.Raw = False,
    model: options.Model = None,
    draft_model: options.DraftModel = None,
    dtype: options.Dtype = None,
    weights: options.Weights = None,
    device: options.Device = None,
    runner: options.Runner = None,
    threads: options.Threads = None,
    strategy: options.Strategy = None,
    drafters: options.Drafters = None,
    k: options.K = None,
    init: options.Init = None,
    refill: options.Refill = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    min_p: options.MinP = None,
    repetition_penalty: options.RepetitionPenalty = None,
    seed: options.Seed = None,
    max_new_tokens: options.MaxNewTokens = None,
    stop: options.Stop = None,
    color: options.Color = None,
    theme: options.Theme = None,
    no_stats: options.NoStats = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> int:
    """Write a profile that explains every key, and print its path.

    The options of generate are set in it, all other keys are left at their defaults.

    Examples:
        lookahead profiles new fast -k 8 --model ./my-model
        lookahead profiles new ./terse.toml --system "Answer in one sentence." --quiet
    """
    from lookahead_cli.profile_writing import new_profile, place_for, write_profile

    file = place_for(name)
    write_profile(file, new_profile(options.given_options(context.params)), replace=force)
    with writing_output():
        print_lines([str(file)])
    tell_if_not_meant(file)
    return 0


@documented(profiles, "path")
def path(profile: Named = None) -> int:
    """The file of a profile; without a name the folders in which profiles are looked up.

    Examples:
        lookahead profiles path
        lookahead profiles path code
    """
    from lookahead_cli.profile import find_profile, profile_folders

    places = profile_folders() if profile is None else [find_profile(profile)]
    with writing_output():
        print_lines(str(place.absolute()) for place in places)
    return 0


def tell_if_not_meant(file: Any) -> None:
    """A note if the name of a profile that has just been written means another file, or if it is used by itself now."""
    from lookahead_cli.commands.notes import tell
    from lookahead_cli.profile import DEFAULT_PROFILE, find_profile, user_profiles

    if file.parent != user_profiles():
        return
    meant = find_profile(file.stem)
    if meant != file:
        tell(notes(), f"in this folder --profile {file.stem} means {meant}, which is looked up first")
    if file.stem == DEFAULT_PROFILE:
        tell(notes(), "from now on this profile is used whenever none is named")


def notes() -> Console:
    from lookahead_cli.profile import DisplaySettings
    from lookahead_cli.render.terminal import console

    return console("stderr", DisplaySettings())


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
