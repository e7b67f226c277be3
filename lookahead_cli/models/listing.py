"""Every model that is on this machine and has a name of its own; folders of the user's are not looked for."""

from __future__ import annotations

from lookahead_cli.models.cache_entries import converted_entries, packaged_entries
from lookahead_cli.models.entry import Entry
from lookahead_cli.models.hub_entries import hub_entries
from lookahead_cli.models.loading import Wish


def listed_models(wish: Wish) -> list[Entry]:
    """Packaged models, converted GGUF files, and what is in the hub's cache, in this order. Nothing is fatal."""
    converted = list(converted_entries(wish))
    names = {entry.name for entry in converted}
    hub = (entry for entry in hub_entries(wish) if entry.kind == "hub" or entry.name not in names)
    return [*packaged_entries(wish), *converted, *hub]
