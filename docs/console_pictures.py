"""Takes the pictures of the console for the documentation: python docs/console_pictures.py, with Chromium installed."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "how-to" / "pictures"
PICTURES = {
    "console-now": ("/", 860),
    "console-request": ("/requests?cause=provider_unavailable&key=search-prod", 900),
    "console-models": ("/models/one?model=workshop/qwen3-8b", 700),
}


def main() -> int:
    """Write the pictures."""
    import uvicorn
    from playwright.sync_api import sync_playwright
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from helmdeck_cli import listen
    from helmdeck_console.demo.console import example_console

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("no Chromium; install it with: apt-get install chromium", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    console = example_console()
    listener = listen("127.0.0.1", 0)
    app = Starlette(routes=[Mount("/console", app=console)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/console"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1_200, "height": 860}, timezone_id="UTC")
        for name, (path, height) in PICTURES.items():
            page.set_viewport_size({"width": 1_200, "height": height})
            page.goto(base + path)
            if name == "console-request":
                page.locator("tbody a").first.click()
                page.locator("#facts").wait_for()
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()
    server.should_exit = True
    thread.join(5)
    console.sources.deck.close()
    for path in sorted(FOLDER.glob("console-*.png")):
        print(f"{path.relative_to(FOLDER.parents[1])}: {path.stat().st_size / 1_000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
