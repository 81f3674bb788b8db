"""A throw-away worktree of a repository.

The worktree belongs to a throw-away clone without a remote. The clone shares the objects of the repository, so that it costs
little; branches, configuration, index and files of the repository are never touched, and there is nowhere to push to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

MAX_PATCH_BYTES: Final = 2_000_000
GIT_TIMEOUT_S: Final = 120.0
GRACE_S: Final = 5.0
"""Seconds that a process has to end by itself."""

IGNORED: Final = (
    "__pycache__/",
    "*.pyc",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    "node_modules/",
    "*.egg-info/",
)
"""Files that tools leave behind, which do not belong to a patch."""

_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")


class GitFailed(Exception):
    """A command of git failed; the message is the last line of its error output."""


@attrs.frozen
class Outcome:
    """The result of a program.

    :ivar output: standard output and standard error, at most ``max_bytes`` of it.
    """

    code: int
    output: str


@attrs.frozen
class Workspace:
    """A temporary folder with the clone and its worktrees.

    :ivar base: the commit that the patch applies to.
    :ivar tree: the worktree of the agent.
    :ivar is_dirty: whether the repository has changes that are not committed; they are not in the worktree.
    """

    folder: Path
    base: str
    tree: Path
    is_dirty: bool

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of all programs: no credentials, no configuration of the user, no remote protocol."""
        return environment(self.folder)

    async def patch(self) -> str:
        """Return all changes of the worktree since ``base``, committed or not.

        :raises GitFailed: the changes are larger than ``MAX_PATCH_BYTES``.
        """
        await self._git("add", "--all", "--", ".", folder=self.tree)
        options = [
            "--cached",
            "--binary",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        ]
        text = await self._git("diff", *options, self.base, folder=self.tree)
        if len(text) >= MAX_PATCH_BYTES:
            raise GitFailed(f"the changes exceed {MAX_PATCH_BYTES:,} bytes")
        return text

    async def apply(self, patch: str) -> Path:
        """Apply a patch to a new worktree of ``base``, and return the worktree.

        :raises GitFailed: it does not apply.
        """
        file, tree = self.folder / "solution.patch", self.folder / "check"
        file.write_text(patch, encoding="utf-8", newline="")
        await self._git("worktree", "add", "--quiet", "--detach", str(tree), self.base, folder=self.folder / "clone")
        await self._git("apply", "--whitespace=nowarn", str(file), folder=tree)
        return tree

    async def files(self) -> list[str]:
        """Return the names of the changed files."""
        names = await self._git("diff", "--cached", "--name-only", "-z", self.base, folder=self.tree)
        return [name for name in names.split("\0") if name]

    async def _git(self, *words: str, folder: Path) -> str:
        return await git(*words, folder=folder, variables=self.environment)


@contextlib.asynccontextmanager
async def open_workspace(repository: Path) -> AsyncIterator[Workspace]:
    """Create a workspace for ``HEAD`` of a repository, and remove it afterwards.

    :raises GitFailed: the folder is not in a repository with a commit.
    """
    with tempfile.TemporaryDirectory(prefix="swe-solve-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))  # noqa: ASYNC240  # quick
        (folder / "home").mkdir()
        variables = environment(folder)
        base = (await git("rev-parse", "--verify", "HEAD^{commit}", folder=repository, variables=variables)).strip()
        top = (await git("rev-parse", "--show-toplevel", folder=repository, variables=variables)).strip()
        # Without optional locks, git does not refresh the index of the repository.
        status = await git("--no-optional-locks", "status", "--porcelain", folder=repository, variables=variables)
        clone, tree = folder / "clone", folder / "tree"
        options = ["--quiet", "--shared", "--no-checkout", "--template="]
        local = {**variables, "GIT_ALLOW_PROTOCOL": "file"}
        await git("clone", *options, top, str(clone), folder=folder, variables=local)
        await git("remote", "remove", "origin", folder=clone, variables=variables)
        exclude = clone / ".git" / "info" / "exclude"
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text("\n".join(IGNORED) + "\n", encoding="utf-8")
        await git("worktree", "add", "--quiet", "--detach", str(tree), base, folder=clone, variables=variables)
        yield Workspace(folder, base, tree, bool(status.strip()))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment variables of a workspace."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **kept,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "swe.solve",
        "GIT_AUTHOR_EMAIL": "swe.solve@localhost",
        "GIT_COMMITTER_NAME": "swe.solve",
        "GIT_COMMITTER_EMAIL": "swe.solve@localhost",
        "PAGER": "cat",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": str(folder / "home"),
    }


async def git(*words: str, folder: Path, variables: Mapping[str, str]) -> str:
    """Run git and return its standard output.

    :raises GitFailed: it is not installed, failed, or took too long.
    """
    # The repository may belong to another user, and none of its hooks and monitors is to be run.
    options = ["-c", "safe.directory=*", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"]
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *options,
            *words,
            cwd=folder,
            env=dict(variables),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as exc:
        raise GitFailed(f"{exc.filename} was not found") from None
    try:
        async with asyncio.timeout(GIT_TIMEOUT_S):
            out, err = await process.communicate()
    except TimeoutError:
        raise GitFailed(f"git {words[0]} took longer than {GIT_TIMEOUT_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        lines = err.decode("utf-8", "replace").strip().splitlines() or [f"code {process.returncode}"]
        raise GitFailed(f"git {words[0]}: {lines[0][:300]}")
    try:
        return out.decode("utf-8")
    except UnicodeDecodeError:
        raise GitFailed(f"git {words[0]}: the changes contain text or file names that are not UTF-8") from None


async def run_tests(
    argv: Sequence[str], *, folder: Path, variables: Mapping[str, str], timeout_s: float, max_bytes: int = 20_000
) -> Outcome:
    """Run the tests without a shell. They are killed with their children when the time is over.

    :raises FileNotFoundError: the program does not exist.
    :raises TimeoutError: they ran longer than ``timeout_s``.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env=dict(variables),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    kept = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            while chunk := await process.stdout.read(65_536):
                kept += chunk
                del kept[: max(0, len(kept) - max_bytes)]  # the failures are at the end
            code = await process.wait()
    finally:
        await stop(process)
    return Outcome(code, kept.decode("utf-8", "replace"))


async def stop(process: asyncio.subprocess.Process) -> None:
    """End a process that leads a session, with its children; kill it if it does not end."""
    for number, timeout_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await process.wait()
