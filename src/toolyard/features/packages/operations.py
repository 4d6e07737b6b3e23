"""Questions and orders about the installed packages of servers."""

from __future__ import annotations

from msgspec import Struct

from toolyard.features.packages.installed import PackageRow, Packages
from toolyard.operation import Done, NoInput, operation
from toolyard.yard import Yard

TOP = "/api/v1/packages"
ONE = "/api/v1/packages/{name}"


class PackageName(Struct, frozen=True):
    """The package that is meant: by its name, or that of a server that uses it."""

    name: str


class PackageList(Struct, frozen=True):
    """All of them, and whether they are used."""

    on: bool
    packages: list[PackageRow]


@operation("GET", TOP)
async def list_packages(yard: Yard, order: NoInput) -> PackageList:
    """What is installed for servers."""
    packages = yard.part(Packages)
    return PackageList(packages.on, packages.rows())


@operation("POST", f"{ONE}/update", errors=(404, 502))
async def update_package(yard: Yard, order: PackageName) -> PackageRow:
    """Install it anew."""
    packages = yard.part(Packages)
    return packages.row(await packages.update(order.name))


@operation("DELETE", ONE, errors=(404,))
async def remove_package(yard: Yard, order: PackageName) -> Done:
    """Remove it."""
    await yard.part(Packages).remove(order.name)
    return Done()
