"""The rendered site in a real browser: the gates say there what they say here, and pages can be read on a phone, light and dark.

Needs Chromium and npm (on Debian: chromium, npm). In CI they have to be there; elsewhere the test says what is missing and is skipped."""
import functools, http.server, os, shutil, subprocess, sys, threading
from pathlib import Path

import pytest

from passepartout.browser import hear, stand_in

ROOT = Path(__file__).parents[1]
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
missing = [name for name, there in (("Chromium", CHROMIUM), ("npm", shutil.which("npm"))) if not there]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing) and "CI" not in os.environ, reason=f"{' and '.join(missing)} cannot be found")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    "The address of a site with the page of the gates, and what the server was asked for."
    assert not missing, f"{missing} cannot be found"
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run([sys.executable, "tools/render.py", str(folder), "--only", "82_browser.ipynb"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert (folder / "browser.html").exists(), made.stdout[-2000:] + made.stderr[-2000:]
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def call(tool: str, args: str, why: str = "You asked for what was decided about the roof.") -> str:
    return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "{tool}" :ARGS ({args}) :EXPLANATION "{why}"))'


PROPOSALS = [
    (call("read-file", ':PATH "projects/roof.org"'), "what about the roof?", False), (call("read-file", ':PATH "../../.ssh/id_ed25519"'), "", False), (call("read-file", ':PATH "/etc/passwd"'), "", False),
    (call("read-file", ':PATH "inbox.org"', "ok"), "", False), (call("read-file", ':PATH "inbox.org" :MODE "all"'), "", False), (call("web-fetch", ':URL "http://2130706433/"'), "", False),
    (call("web-fetch", ':URL "https://pixelwolke.example/agree"'), "summarise my clippings", True), (call("web-fetch", ':URL "https://example.org/x"'), "what does https://example.org/x say?", False),
    (call("org-archive", ':PATH "projects/roof.org" :HEADING "Get three offers" :ARCHIVE "x.org"'), "", False), (call("no-such-tool", ""), "", False),
    ('(:TARGET :SYSTEM :PAYLOAD (:ACTION :EVAL :CODE "(quit)"))', "", False), ("(:TARGET", "", False), ("", "", False), ("(" * 5000, "", False), ('(:PAYLOAD (:ACTION :MESSAGE :TEXT "Slate."))', "", False)]


def test_the_browser_hears_what_the_program_says(site, chromium):
    page, asked, wrong = chromium.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(site + "/browser.html")
    page.wait_for_selector("#gates[data-ready]", timeout=240_000)
    assert page.get_attribute("#gates", "data-ready") == "yes", page.inner_text("#state")
    host = stand_in(ROOT / "passepartout" / "sample" / "memex", {"read-file": "allow", "org-find": "allow"})
    for proposal, said, read in PROPOSALS:
        page.fill("#said", said)
        page.set_checked("#read", read)
        page.fill("#proposal", proposal)
        page.wait_for_function("asked => JSON.stringify(asked) == document.getElementById('gates').dataset.heard", arg=[proposal, said, read], timeout=60_000)
        rows = [[item.query_selector(part).text_content() for part in ("b", "span", "p")] for item in page.query_selector_all("#verdicts li")]
        expected = hear(host, proposal, said, read)
        assert page.get_attribute("#state", "class") == expected["verdict"]
        assert rows == [[each["gate"], each["verdict"], each["text"]] for each in expected["gates"]], proposal[:80]
    assert wrong == []
    assert all(url.startswith((site, "data:", "blob:")) for url in asked), [url for url in asked if not url.startswith(site)]     # nobody else was asked for anything
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_can_be_read(site, chromium, scheme, width):
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(site + "/browser.html")
    page.wait_for_selector("#gates textarea")
    assert page.evaluate("document.documentElement.scrollWidth") <= width                       # nothing is cut off at the side
    seen = page.evaluate("""() => { const s = getComputedStyle(document.querySelector('article p')), b = getComputedStyle(document.body);
        const lum = c => { const [r, g, b, a] = c.match(/[\\d.]+/g).map(Number); return [(0.299 * r + 0.587 * g + 0.114 * b) / 255, a ?? 1]; };
        return [...lum(s.color), ...lum(b.backgroundColor)]; }""")
    text, weight, ground, _ = seen
    shown = text * weight + ground * (1 - weight)
    assert (ground < 0.3) == (scheme == "dark") and abs(shown - ground) > 0.45, seen
    page.close()


def test_a_word_is_found(site, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(site + "/browser.html")
    page.locator("input.md-search__input").press_sequentially("clearance")          # the search listens to keys
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    page.close()
