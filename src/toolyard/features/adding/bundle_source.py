"""`add FILE.mcpb`: the manifest is shown and confirmed, then the bundle is unpacked and added."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from toolyard.console.context import CliContext
from toolyard.console.terminal import visible
from toolyard.features.adding.bundles import (
    Bundle,
    BundleBounds,
    make_executable,
    open_bundle,
    unpack,
)
from toolyard.features.adding.manifest import BundleManifest, BundlePlace, read_manifest
from toolyard.features.adding.sources import (
    SourceOptions,
    confirm,
    plain_proposal,
    refuse_taken,
    show_proposal,
    write_entries,
)
from toolyard.features.adding.values import can_ask, collect_values, keep_values, read_given
from toolyard.features.servers.bundle_folders import BundleFolders, BundleRecord
from toolyard.features.servers.writing import servers_path


def add_bundle(context: CliContext, name: str, file: str, options: SourceOptions) -> None:
    """Add the server of a bundle; nothing of it is run before the person has said yes."""
    path = Path(file).expanduser().absolute()
    with open_bundle(path) as bundle:
        folders = BundleFolders(context.settings.data_dir)
        folder = folders.path / bundle.folder_name
        place = BundlePlace(folder, Path.home(), sys.platform)
        manifest = read_manifest(bundle.manifest, place)
        name = name or manifest.name
        proposal = replace(manifest.proposal, name=name)
        if not context.terminal.as_json:
            _show(context, bundle, manifest)
            show_proposal(context, proposal)
        if options.dry_run:
            answer = {"dry_run": True, "sha256": bundle.sha256, **plain_proposal(proposal)}
            context.terminal.answer(answer, lambda: None)
            return
        refuse_taken(context, [proposal], options)
        confirm([proposal], options.yes, can_ask(context))
        values = collect_values(proposal, read_given(options.values), can_ask(context))
        unpack(bundle, folder, BundleBounds())
        users = [servers_path(context)]
        record = BundleRecord(name, manifest.version, str(path), bundle.sha256, users)
        folders.claim(folder, record)
        unpack(bundle, folder, BundleBounds())  # if a hub deleted it as unused before the claim
        if manifest.is_binary:
            make_executable(folder, manifest.entry_point)
        entry = proposal.filled(keep_values(context, proposal, values))
    write_entries(context, {name: entry}, options)


def _show(context: CliContext, bundle: Bundle, manifest: BundleManifest) -> None:
    """Show the words of a stranger, every character of them, on a line each."""
    lines = {
        "bundle": f"{manifest.name} {manifest.version}".strip(),
        "author": manifest.author,
        "about": manifest.description,
        "link": manifest.link,
        "sha256": bundle.sha256,
    }
    for title, text in lines.items():
        if text:
            shown = visible(text).replace("\n", "\\n").replace("\t", "\\t")
            context.terminal.say(f"{title + ':':9}{shown}")
