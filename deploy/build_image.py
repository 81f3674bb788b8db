"""Build the image of deploy/Dockerfile with buildah, which needs no daemon, and check its size and its behaviour.

::

    python deploy/build_image.py                       # build the image and print its size
    python deploy/build_image.py --check               # also run the gateway in it
    python deploy/build_image.py --check --bootstrap   # without a registry: the base image comes from mmdebstrap
    python deploy/build_image.py --output image.tar    # also write an OCI archive

Requires Linux, root, Python, and ``apt-get install buildah`` (with ``mmdebstrap`` for ``--bootstrap``).
``BUILDAH_ISOLATION=chroot`` and ``STORAGE_DRIVER=vfs`` let buildah run inside a container.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUITE = "trixie"
MAX_MB = 150
KEY = "key-of-the-image-check"
CONFIG = """\
model = "up/m"

[providers.up]
kind = "openai-compatible"
base_url = "http://127.0.0.1:{port}/v1"

[http]
transport = "aiohttp"

[events]
sinks = ["prometheus"]

[gateway]
key = "env:GATEWAY_KEY"
drain_s = 60
"""
RUN = """\
set -e
mount --bind "$IMAGE" "$IMAGE"
mount -o remount,bind,ro "$IMAGE"
mount -t proc proc "$IMAGE/proc"
mount --bind /dev "$IMAGE/dev"
mount -t tmpfs tmpfs "$IMAGE/tmp"
mount -t tmpfs -o uid=10001,gid=10001,mode=0700 tmpfs "$IMAGE/var/lib/helmdeck"
mount --bind "$CONFIG" "$IMAGE/etc/helmdeck"
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$IMAGE_USER" "$IMAGE" "$@"
"""
"""What a container runtime does: a mount namespace with a read-only root, a user, and no further privileges."""


class CheckError(Exception):
    """The image does not do what it should."""


def buildah(*words: str) -> str:
    """Run buildah and return its output; its log goes to standard error."""
    return subprocess.run(["buildah", *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


# -- build -----------------------------------------------------------------------------------------------------


def bootstrap(suite: str) -> str:
    """Make a base image from the packages of Debian; return its name."""
    name = f"localhost/debian:{suite}-minbase"
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "base.tar"
        subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", suite, str(archive)], check=True)
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, str(archive), "/")
        buildah("commit", "--quiet", "--rm", container, name)
    return name


def build(tag: str, base: str | None, options: Sequence[str]) -> None:
    """Build the image."""
    words = ["--format", "docker", "--file", str(ROOT / "deploy" / "Dockerfile"), "--tag", tag]
    words += ["--ignorefile", str(ROOT / "deploy" / "Dockerfile.dockerignore")]
    if base is not None:
        words += ["--build-arg", f"BASE={base}"]
    subprocess.run(["buildah", "build", *words, *options, str(ROOT)], check=True, stdout=sys.stderr)


@contextlib.contextmanager
def mounted(tag: str) -> Iterator[Path]:
    """Yield the folder with the files of an image."""
    container = buildah("from", "--pull-never", tag)
    try:
        yield Path(buildah("mount", container))
    finally:
        buildah("rm", container)


def size_of(folder: Path) -> int:
    """Return the bytes of all files, as container runtimes count them."""
    files = {
        (info.st_dev, info.st_ino): info.st_size
        for path in folder.rglob("*")
        if not (info := path.lstat()).st_mode & 0o040000
    }
    return sum(files.values())


# -- check -----------------------------------------------------------------------------------------------------


class Provider(http.server.BaseHTTPRequestHandler):
    """A provider whose stream waits for ``release`` after its first chunk."""

    release = threading.Event()

    def do_POST(self) -> None:
        """Stream an answer."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._send({"delta": {"content": "first "}, "finish_reason": None})
        if not self.release.wait(60):
            return
        self._send({"delta": {"content": "last"}, "finish_reason": None})
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, Any]) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, **choice}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def request(port: int, path: str, body: dict[str, Any] | None = None) -> http.client.HTTPResponse:
    """Send a request to the gateway."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
    return connection.getresponse()


def expect(what: str, found: object, wanted: object) -> None:
    """Print a check that holds; raise for one that does not."""
    if found != wanted:
        raise CheckError(f"{what}: found {found!r}, expected {wanted!r}")
    print(f"ok    {what}")


def free_port() -> int:
    """Return a port that no server listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def ready(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the gateway is ready."""
    for _ in range(600):
        if process.poll() is not None:
            raise CheckError(f"the gateway ended with exit code {process.returncode} before it was ready")
        with contextlib.suppress(OSError):
            if request(port, "/readyz").status == 200:
                return
        time.sleep(0.1)
    raise CheckError("the gateway was not ready after 60 seconds")


def check(tag: str, folder: Path) -> None:
    """Run the gateway of an image as a container runtime does."""
    settings = json.loads(buildah("inspect", "--type", "image", tag))["Docker"]["config"]
    expect("the user is 10001", settings["User"], "10001:10001")
    expect("the stop signal is SIGTERM", settings["StopSignal"], "SIGTERM")
    expect(
        "there is no shell",
        [name for name in ("bin/sh", "bin/bash", "bin/apt-get") if (folder / "usr" / name).exists()],
        [],
    )
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    provider.daemon_threads = True
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    port = free_port()
    with tempfile.TemporaryDirectory() as config:
        Path(config).chmod(0o755)
        Path(config, "helmdeck.toml").write_text(CONFIG.format(port=provider.server_port), encoding="utf-8")
        environ = dict(each.split("=", 1) for each in settings["Env"]) | {"GATEWAY_KEY": KEY}
        path = environ["PATH"].split(":")

        def run(words: Sequence[str], stderr: int | None = None) -> subprocess.Popen[bytes]:
            program = next(f"{each}/{words[0]}" for each in path if os.path.lexists(f"{folder}{each}/{words[0]}"))
            outer = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", RUN, "sh", program, *words[1:]]
            places = {"IMAGE": str(folder), "CONFIG": config, "IMAGE_USER": settings["User"]}
            return subprocess.Popen(outer, env=environ | places, stdout=subprocess.PIPE, stderr=stderr, cwd="/")

        write = "import os\ntry:\n open('/opt/x', 'w')\nexcept OSError as exc:\n print(exc.errno, os.getuid())"
        expect(
            "the file system is read-only, and the process is not root",
            run(["python", "-c", write]).communicate()[0],
            b"30 10001\n",
        )
        gateway = run([*settings["Entrypoint"], *settings["Cmd"], "--port", str(port)])
        try:
            ready(port, gateway)
            print("ok    the gateway becomes ready")
            probe = [word.replace("8930", str(port)) for word in settings["Healthcheck"]["Test"][1:]]
            expect("the health check succeeds", run(probe).wait(60), 0)
            drain(port, gateway)
            expect("the health check fails when nothing listens", run(probe, subprocess.DEVNULL).wait(60), 1)
        finally:
            Provider.release.set()
            gateway.kill()
            gateway.wait()
            provider.shutdown()


def drain(port: int, gateway: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM while a stream is under way."""
    body = {"model": "up/m", "stream": True, "messages": [{"role": "user", "content": "Count."}]}
    stream = request(port, "/v1/chat/completions", body)
    expect("a stream begins", (stream.status, b"data: " in stream.readline()), (200, True))
    gateway.send_signal(signal.SIGTERM)
    for _ in range(600):
        with contextlib.suppress(OSError):  # the worker without requests has ended, or has closed its socket
            if request(port, "/readyz").status == 200:
                time.sleep(0.1)
                continue
        break
    expect("the gateway waits for the stream after SIGTERM", gateway.poll(), None)
    Provider.release.set()
    rest = stream.read()
    expect("the stream is completed after SIGTERM", (b"last" in rest, b"data: [DONE]" in rest), (True, True))
    expect("the exit code after SIGTERM is 0", gateway.wait(60), 0)


def main() -> int:
    """Build, measure and check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", default="localhost/helmdeck:check", help="name of the image")
    parser.add_argument("--base", help="base image of the build stage; default: that of the Dockerfile")
    parser.add_argument(
        "--bootstrap", action="store_true", help="make the base image with mmdebstrap; requires no registry"
    )
    parser.add_argument(
        "--option", action="append", default=[], help="an option of `buildah build`, such as --option=--volume=A:B:ro"
    )
    parser.add_argument("--no-build", action="store_true", help="use the image that exists")
    parser.add_argument("--check", action="store_true", help="run the gateway in the image")
    parser.add_argument("--output", type=Path, help="write an OCI archive")
    arguments = parser.parse_args()
    missing = [name for name in ("buildah", "mmdebstrap") if not shutil.which(name)]
    if not arguments.bootstrap:
        missing = [name for name in missing if name != "mmdebstrap"]
    if missing or os.geteuid() != 0:
        print(
            f"requires root, and {' and '.join(missing) or 'nothing else'}: apt-get install {' '.join(missing)}",
            file=sys.stderr,
        )
        return 2
    if not arguments.no_build:
        build(arguments.tag, bootstrap(SUITE) if arguments.bootstrap else arguments.base, arguments.option)
    try:
        with mounted(arguments.tag) as folder:
            size = size_of(folder)
            print(f"{arguments.tag}: {size / 1e6:.1f} MB of at most {MAX_MB} MB")
            expect(f"the size is at most {MAX_MB} MB", size <= MAX_MB * 1_000_000, True)
            if arguments.check:
                check(arguments.tag, folder)
    except CheckError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    if arguments.output is not None:
        arguments.output.unlink(missing_ok=True)
        buildah("push", "--quiet", arguments.tag, f"oci-archive:{arguments.output}")
        data = arguments.output.read_bytes()
        print(f"{arguments.output}: {len(data) / 1e6:.1f} MB, sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
