"""What npx and uvx fetch is installed once, started without them, and never in the way."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.features.packages.shop import Shop, processes
from tests.fixtures.stub_run import STUB
from toolyard.board import Board
from toolyard.core.errors import StartError, ToolyardError, UnknownNameError
from toolyard.core.model import Command, Pairs, Report, Server, ServerId
from toolyard.core.sites import Placement
from toolyard.executors.local import Local
from toolyard.features.packages.installed import Packages
from toolyard.features.packages.store import PackagesFolder
from toolyard.features.servers.picture import problems
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.link import Link
from toolyard.links.opening import Connect, Opener
from toolyard.links.patience import Patience
from toolyard.wire.era import Era

pytestmark = pytest.mark.slow

PATIENCE = Patience(probe=30.0, open=60.0)
NPX, UVX, PIPX = ("npx", "-y", "hello"), ("uvx", "hello"), ("pipx", "run", "hello")
DIES = "exit 3"
DIES_OF_PROBES = 'read -r line; case "$line" in *discover*) exit 1;; esac; exec cat'


class Bench:
    """The packages of one life of a hub, and what they are tried with."""

    def __init__(self, shop: Shop, home: Path, *, on: bool = True) -> None:
        self.board = Board()
        self.local = Local()
        self.folder = PackagesFolder(home / "packages")
        self.packages = Packages(
            self.board, self.folder, self.local, lambda server: server.endpoint, 10.0, on=on
        )
        self.shop = shop

    def server(self, argv: tuple[str, ...], env: Pairs = (), cwd: str | None = None) -> Server:
        server = Server(ServerId("hello", "configured"), Command(argv, env, cwd))
        self.board.post(Report("configured", (server,)))
        return server

    @asynccontextmanager
    async def started(
        self, argv: tuple[str, ...] | Server, hint: Era | None = "legacy"
    ) -> AsyncIterator[Link]:
        server = argv if isinstance(argv, Server) else self.server(argv)

        connect = Connect(lambda _name: self.local, PATIENCE, 1 << 20)
        async with Opener([self.packages.prefer_installed], connect)(server, hint) as link:
            yield link

    async def until(self, holds: Callable[[], object], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, (self.packages.rows(), self.codes)
            await asyncio.sleep(0.01)

    async def install(self, argv: tuple[str, ...], hint: Era | None = "legacy") -> str:
        """Start it by its launcher until it is installed; give what it is called."""
        async with self.started(argv, hint):
            await self.until(self.packages.rows)
        return str(self.packages.rows()[0].name)

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in problems(self.board.snapshot)]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    shop = Shop(tmp_path)
    shop.publish("hello", "1.0")
    monkeypatch.setenv("PATH", shop.path)
    return shop


@asynccontextmanager
async def living(shop: Shop, home: Path, *, on: bool = True) -> AsyncIterator[Bench]:
    """One life of a hub."""
    bench = Bench(shop, home, on=on)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(bench.packages.run())
            try:
                yield bench
            finally:
                running.cancel()
    finally:
        await bench.local.close()


@pytest.fixture
async def bench(shop: Shop, tmp_path: Path) -> AsyncIterator[Bench]:
    async with living(shop, tmp_path) as bench:
        yield bench


@pytest.mark.parametrize(("argv", "before"), [(NPX, 3), (UVX, 2), (PIPX, 1)])
async def test_the_second_start_is_without_the_launcher(
    bench: Bench, argv: tuple[str, ...], before: int
) -> None:
    async with bench.started(argv) as link:
        await bench.until(bench.packages.rows)
        assert processes(link.pid) == before
    async with bench.started(argv) as link:
        assert processes(link.pid) == 1
        assert link.where.endswith("hello 1.0 as installed")
        assert bench.packages.rows()[0].running == 1

    assert bench.shop.ran(argv[0]) == 1
    assert bench.packages.rows()[0].running == 0


@pytest.mark.parametrize("argv", [NPX, UVX, PIPX])
async def test_the_program_is_given_the_same_by_either_way(
    bench: Bench, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    words = (*argv, "a b", "--flag", "")
    server = bench.server(words, (("WORD", "said"),), str(tmp_path))
    async with bench.started(server):
        await bench.until(bench.packages.rows)
    async with bench.started(server):
        pass

    first, second = bench.shop.starts
    assert second["program"].startswith(bench.packages.rows()[0].path)
    for each in ("args", "word", "cwd"):
        assert first[each] == second[each]
    # A launcher puts the programs of the package before all others.
    own, _, rest = second["path"].partition(":")
    assert (Path(own) / "hello").exists()
    assert rest == first["path"]


async def test_a_scoped_package_is_installed_too(bench: Bench) -> None:
    bench.shop.publish("@some/hello", "2.0")

    await bench.install(("npx", "-y", "@some/hello"))

    async with bench.started(("npx", "-y", "@some/hello")) as link:
        assert "@some/hello 2.0" in link.where


async def test_a_start_does_not_wait_for_the_installer(bench: Bench) -> None:
    bench.shop.hold()
    async with bench.started(NPX) as link:
        assert link.pid
        await bench.until(lambda: bench.shop.ran("npm"))
        assert bench.packages.rows() == []
        await asyncio.to_thread(bench.shop.go)
        await bench.until(bench.packages.rows)


async def test_a_hub_that_stops_meanwhile_leaves_nothing_half_made(
    shop: Shop, tmp_path: Path
) -> None:
    shop.hold()
    async with living(shop, tmp_path) as bench, bench.started(NPX):
        await bench.until(lambda: bench.shop.ran("npm"))
    (shop.folder / "hold").unlink()
    (bench.folder.root / "killed" / "meanwhile").mkdir(parents=True)

    async with living(shop, tmp_path) as bench:
        await bench.until(lambda: not list(bench.folder.root.glob("*/*")))
        assert await bench.install(NPX)


async def test_the_version_stays_until_an_update_is_ordered(shop: Shop, tmp_path: Path) -> None:
    async with living(shop, tmp_path) as bench:
        await bench.install(NPX)
    shop.publish("hello", "1.1")

    async with living(shop, tmp_path) as bench:
        async with bench.started(NPX) as link:
            assert "hello 1.0" in link.where
            assert (await bench.packages.update("hello")).version == "1.1"
            assert processes(link.pid) == 1
            await link.request("tools/list", b"{}").answer  # it runs on as it was
        async with bench.started(NPX) as link:
            assert "hello 1.1" in link.where
    assert [each["version"] for each in shop.starts] == ["1.0", "1.0", "1.1"]


async def test_another_declared_version_is_fetched_by_the_launcher_first(bench: Bench) -> None:
    bench.shop.publish("hello@2", "2.0")
    await bench.install(NPX)

    async with bench.started(("npx", "-y", "hello@2")) as link:
        assert "installed" not in link.where
    assert bench.shop.ran("npx") == 2


async def test_a_failed_install_is_said_once_and_the_launcher_goes_on(bench: Bench) -> None:
    bench.shop.close()
    for _ in range(2):
        async with bench.started(NPX) as link:
            assert processes(link.pid) == 3
            await bench.until(lambda: bench.codes == ["package-install"])
    (problem,) = problems(bench.board.snapshot)
    assert "the shop is closed" in problem.text
    assert bench.shop.ran("npm") == 1

    bench.shop.reopen()
    await bench.packages.update("hello")

    assert bench.codes == []
    async with bench.started(NPX) as link:
        assert processes(link.pid) == 1


async def test_a_failed_update_leaves_what_was_there(bench: Bench) -> None:
    name = await bench.install(NPX)
    bench.shop.close()

    with pytest.raises(StartError, match="the shop is closed"):
        await bench.packages.update(name)

    async with bench.started(NPX) as link:
        assert "hello 1.0 as installed" in link.where


@pytest.mark.parametrize("argv", [NPX, UVX])
@pytest.mark.parametrize("broken", ["#!/nowhere/python\n", "#!/bin/sh\nexit 3\n"])
async def test_what_does_not_start_as_installed_is_started_by_its_launcher(
    bench: Bench, argv: tuple[str, ...], broken: str
) -> None:
    await bench.install(argv)
    Path(bench.packages.rows()[0].program).resolve().write_text(broken)

    async with bench.started(argv) as link:
        assert processes(link.pid) > 1

    assert bench.codes == ["package-start"]


async def test_what_did_not_start_is_not_tried_again_until_it_is_installed_anew(
    shop: Shop, tmp_path: Path
) -> None:
    tries = tmp_path / "tries"
    async with living(shop, tmp_path) as bench:
        await bench.install(NPX)
        program = Path(bench.packages.rows()[0].program).resolve()
        program.write_text(f"#!/bin/sh\necho again >> {tries}\nexit 3\n")
        async with bench.started(NPX):
            pass

    async with living(shop, tmp_path) as bench:
        await bench.until(lambda: bench.codes == ["package-start"])
        async with bench.started(NPX) as link:
            assert processes(link.pid) == 3
        assert tries.read_text() == "again\n"
        await bench.packages.update("hello")
        assert bench.codes == []
        async with bench.started(NPX) as link:
            assert processes(link.pid) == 1


async def test_what_starts_neither_way_is_no_fault_of_what_is_installed(bench: Bench) -> None:
    await bench.install(NPX)
    works = Path(bench.packages.rows()[0].program).resolve()
    text = works.read_text()
    works.write_text(f"#!/bin/sh\n{DIES}\n")
    bench.shop.publish("hello", "1.1", DIES)

    with pytest.raises(ToolyardError):
        async with bench.started(NPX):
            pass

    works.write_text(text)
    async with bench.started(NPX) as link:
        assert "hello 1.0 as installed" in link.where
    assert bench.codes == []


async def test_what_is_gone_is_installed_again(bench: Bench) -> None:
    await bench.install(NPX)
    shutil.rmtree(bench.packages.rows()[0].path)

    async with bench.started(NPX) as link:
        assert processes(link.pid) == 3
        await bench.until(bench.packages.rows)

    assert bench.codes == []
    async with bench.started(NPX) as link:
        assert processes(link.pid) == 1


async def test_one_that_dies_of_the_probe_is_left_to_be_greeted_the_old_way(bench: Bench) -> None:
    await bench.install(NPX)
    program = Path(bench.packages.rows()[0].program).resolve()
    program.write_text(f"#!/bin/sh\n{DIES_OF_PROBES}\n")

    with pytest.raises(ProbeFatalError):
        async with bench.started(NPX, hint=None):
            pass

    assert bench.shop.ran("npx") == 1
    assert bench.codes == []


async def test_one_that_lived_through_the_probe_before_falls_back_at_once(bench: Bench) -> None:
    bench.shop.publish("hello", "1.0", f"exec {sys.executable} {STUB} stdio")
    await bench.install(NPX, hint=None)
    program = Path(bench.packages.rows()[0].program).resolve()
    program.write_text(f"#!/bin/sh\n{DIES}\n")

    async with bench.started(NPX, hint=None) as link:
        assert link.peer.era == "modern"

    assert bench.codes == ["package-start"]


async def test_switched_off_every_start_is_by_the_launcher(shop: Shop, tmp_path: Path) -> None:
    async with living(shop, tmp_path) as bench:
        await bench.install(NPX)
    async with living(shop, tmp_path, on=False) as bench, bench.started(NPX) as link:
        assert processes(link.pid) == 3
        assert len(bench.packages.rows()) == 1


async def test_what_lies_in_the_servers_own_folder_is_left_to_npx(
    bench: Bench, tmp_path: Path
) -> None:
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "project" / "node_modules" / "hello").mkdir(parents=True)

    async with bench.started(bench.server(NPX, (), str(inner))):
        pass
    await bench.install(UVX)  # after which the other would have been installed too

    assert [row.kind for row in bench.packages.rows()] == ["pypi"]


async def test_what_runs_elsewhere_is_not_touched(bench: Bench) -> None:
    away = Server(ServerId("a", "b"), Command(NPX), placement=Placement(executor="box"))
    async with bench.started(away):
        pass
    await bench.install(UVX)

    assert [row.kind for row in bench.packages.rows()] == ["pypi"]


async def test_what_is_removed_stays_as_long_as_it_runs(bench: Bench) -> None:
    name = await bench.install(NPX)
    path = Path(bench.packages.rows()[0].path)
    async with bench.started(NPX):
        await bench.packages.remove("hello")
        assert bench.packages.rows() == []
        assert path.exists()

    assert await bench.install(NPX) == name
    await bench.until(lambda: not path.exists())


async def test_unknown_names_are_refused(bench: Bench) -> None:
    await bench.install(NPX)

    for order in (bench.packages.update, bench.packages.remove):
        with pytest.raises(UnknownNameError, match="nobody"):
            await order("nobody")


async def test_a_package_that_no_server_names_can_only_be_removed(
    shop: Shop, tmp_path: Path
) -> None:
    async with living(shop, tmp_path) as bench:
        name = await bench.install(NPX)

    async with living(shop, tmp_path) as bench:
        assert bench.packages.rows()[0].servers == []
        with pytest.raises(UnknownNameError, match="no server uses"):
            await bench.packages.update(name)
        await bench.packages.remove(name)
        assert not list(bench.folder.root.iterdir())


async def test_without_a_place_to_install_to_the_launcher_goes_on(
    shop: Shop, tmp_path: Path
) -> None:
    (tmp_path / "packages").write_text("in the way")
    async with living(shop, tmp_path) as bench, bench.started(NPX) as link:
        await bench.until(lambda: bench.codes == ["package-install"])
        assert processes(link.pid) == 3


@pytest.mark.parametrize("damage", [b"", b"{", b'{"name": "hello"}', b"\xff\xfe"])
async def test_an_installation_that_cannot_be_read_is_as_if_it_were_not_there(
    shop: Shop, tmp_path: Path, damage: bytes
) -> None:
    async with living(shop, tmp_path) as bench:
        name = await bench.install(NPX)
    (bench.folder.root / name / "installed.json").write_bytes(damage)

    async with living(shop, tmp_path) as bench:
        assert bench.packages.rows() == []
        assert await bench.install(NPX) == name


async def test_an_installation_may_not_lead_out_of_its_folder(shop: Shop, tmp_path: Path) -> None:
    async with living(shop, tmp_path) as bench:
        name = await bench.install(NPX)
    file = bench.folder.root / name / "installed.json"
    program = bench.packages.rows()[0].program
    file.write_text(file.read_text().replace(program, "/bin/sh"))

    assert PackagesFolder(tmp_path / "packages").load() == {}
