"""Every page in a real browser: nothing overflows, nothing is fetched elsewhere, nothing is out of reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response

from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]

SAMPLE_BOARD = "/boards/ehr-bench-sample-full1800-agentic/"
CASES = "/boards/liveclin-sample-full-chat/"
WIDTHS = {"wide": 1280, "phone": 390}
Open = Callable[..., Page]
# the sum of what moved after it was drawn (0.1 is called good)
SHIFTED = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(entry => { sum += entry.value; }))
    .observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 100);
})"""


def first_link(page: Page, path: str, beginning: str) -> None:
    page.goto(path)
    page.locator(f"main a[href^='{beginning}']").first.click()
    page.wait_for_url(re.compile(re.escape(beginning)))


def compared(page: Page) -> None:
    page.goto(CASES)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("/compare/"))


FOR_STAFF = ("sources", "source")
WAYS: dict[str, Callable[[Page], object]] = {
    "home": lambda page: page.goto("/"),
    "board": lambda page: page.goto(SAMPLE_BOARD),
    "board of published figures": lambda page: page.goto("/boards/liveclin-2025_h1-full-chat/"),
    "board of judged answers": lambda page: page.goto("/boards/llmeval-med-sample-full-chat/"),
    "board of a facet": lambda page: page.goto(f"{CASES}?facet=rarity:rare&sort=score&down=1&q=a"),
    "breakdown": lambda page: page.goto(f"{CASES}by/icd_chapter/"),
    "interactive charts": lambda page: page.goto(f"{CASES}by/position/?view=chart"),
    "clusters under their chapters": lambda page: page.goto(f"{CASES}by/disease_cluster/"),
    "clusters of a chapter": lambda page: first_link(
        page, f"{CASES}by/icd_chapter/", f"{CASES}by/icd_chapter/chapter-2"
    ),
    "pathway": lambda page: page.goto(f"{CASES}by/position/"),
    "board of one facet": lambda page: first_link(page, f"{CASES}by/rarity/", f"{CASES}by/rarity/"),
    "case mix": lambda page: page.goto(f"{CASES}mix/"),
    "other evaluators": lambda page: page.goto(f"{CASES}evaluators/"),
    "head to head": compared,
    "how it is computed": lambda page: page.goto("/how/mm-bench/"),
    "benchmark": lambda page: page.goto("/benchmarks/liveclin/"),
    "table builder": lambda page: page.goto("/tables/"),
    "freezes": lambda page: page.goto("/freezes/"),
    "run": lambda page: first_link(page, SAMPLE_BOARD, "/runs/"),
    "run with two evaluators": lambda page: first_link(page, CASES, "/runs/"),
    "models": lambda page: page.goto("/models/"),
    "model": lambda page: first_link(page, SAMPLE_BOARD, "/models/"),
    "findings": lambda page: page.goto("/findings/"),
    "sources": lambda page: page.goto("/sources/"),
    "source": lambda page: first_link(page, "/sources/", "/sources/"),
    "login": lambda page: page.goto("/login/"),
}


@pytest.fixture
def troubles() -> list[str]:
    """What a visitor's browser complained about, in words."""
    return []


@pytest.fixture(scope="session")
def signed_in(browser: Browser, demo: Server) -> Iterator[Any]:
    """The cookies of the administrator, by the password that the demo printed."""
    told = re.search(r"with the password (\S+) ", demo.said)
    assert told is not None, demo.said
    with browser.new_context(base_url=demo.url) as context:
        page = context.new_page()
        page.goto("/login/")
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(told[1])
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Sign out").wait_for()
        yield context.storage_state()


@pytest.fixture
def open_page(browser: Browser, demo: Server, troubles: list[str], request: Any) -> Iterator[Open]:
    contexts = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            troubles.append(f"console {message.type}: {message.text}")

    def asked(wanted: Request) -> None:
        address = urlsplit(wanted.url)
        if address.scheme != "data" and f"{address.scheme}://{address.netloc}" != demo.url:
            troubles.append(f"asked elsewhere: {wanted.url}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            troubles.append(f"{response.status}: {response.url}")

    def new(width: int = 1280, scheme: str = "light", *, javascript: bool = True, staff: bool = False) -> Page:
        context = browser.new_context(
            base_url=demo.url,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=javascript,
            storage_state=request.getfixturevalue("signed_in") if staff else None,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", heard)
        page.on("pageerror", lambda error: troubles.append(f"script error: {error}"))
        page.on("request", asked)
        page.on("response", answered)
        return page

    yield new
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["wide, light", "phone, dark"])
@pytest.mark.parametrize("name", WAYS)
def test_page(name: str, width: int, scheme: str, open_page: Open, troubles: list[str]) -> None:
    """Nothing is too wide, nothing is asked elsewhere, and nobody is shut out."""
    page = open_page(width, scheme, staff=name in FOR_STAFF)
    WAYS[name](page)
    assert page.locator("h1").count() == 1
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0, f"{overflow} px too wide"
    assert page.evaluate("document.documentElement.dataset.bsTheme") == scheme
    assert troubles == []
    assert page.evaluate(SHIFTED) < 0.02
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_theme_is_changed_by_keyboard_and_kept(width: int, open_page: Open, troubles: list[str]) -> None:
    page = open_page(width)
    page.goto("/")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "theme":
            break
    else:
        pytest.fail("twelve tabs do not reach the theme button")
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    seen = []
    for key in ("Enter", "Space", "Enter"):
        page.keyboard.press(key)
        seen.append(page.evaluate("[document.activeElement.textContent, document.documentElement.dataset.bsTheme]"))
    assert seen == [["Theme: light", "light"], ["Theme: dark", "dark"], ["Theme: auto", "light"]]
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.goto("/models/")
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    assert troubles == []


def test_charts_are_drawn_in_the_colours_of_the_theme_and_offer_no_upload(open_page: Open, troubles: list[str]) -> None:
    page = open_page()
    page.goto(f"{CASES}by/position/?view=chart")
    page.locator(".chart .heatmaplayer image, .chart .heatmaplayer text").first.wait_for()
    assert page.locator(".chart .scatterlayer .trace").count() >= 2
    buttons = page.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title)")
    assert buttons and not re.search("cloud|share|edit|plotly", " ".join(map(str, buttons)), re.I)
    ink = "getComputedStyle(document.querySelector('.chart .ytick text')).fill"
    before = page.evaluate(ink)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()
    page.wait_for_function(f"{ink} !== {before!r}")
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    assert troubles == []


def test_without_javascript_a_charts_page_has_its_table(open_page: Open) -> None:
    page = open_page(javascript=False)
    page.goto(f"{CASES}by/position/?view=chart")
    assert "need JavaScript" in page.locator("main").inner_text()
    assert page.locator("table.data").count() >= 1


def test_a_visitor_gets_from_home_to_the_bytes_of_a_run_without_javascript(
    open_page: Open, troubles: list[str]
) -> None:
    page = open_page(javascript=False)
    page.goto("/")
    page.locator(f"a[href='{SAMPLE_BOARD}']").click()
    page.locator("main a[href^='/runs/']").first.click()
    page.wait_for_url("**/runs/*/", wait_until="load")
    assert "sha256" in page.locator("main").inner_text()
    assert troubles == []


def test_the_printed_password_opens_the_administration(open_page: Open, troubles: list[str]) -> None:
    page = open_page(staff=True)
    page.goto("/")
    page.get_by_role("link", name="Admin").click()
    page.wait_for_url("**/admin/")
    assert troubles == []


@pytest.mark.parametrize("path", ["/boards/nowhere/", "/runs/nowhere/", "/nowhere/"])
def test_a_wrong_address_gets_a_page_in_words(path: str, open_page: Open) -> None:
    page = open_page(390)
    answer = page.goto(path)
    assert answer is not None and answer.status == 404
    assert page.locator("h1").count() == 1
    assert "Traceback" not in page.content()


# --- what a visitor came to know, by clicking only -------------------------------------------------------------------


def test_which_models_are_tied_with_the_first(open_page: Open) -> None:
    page = open_page(javascript=False)
    page.goto("/")
    page.locator(f"a[href='{CASES}']").click()
    assert "models are statistically tied for first" in page.locator("main").inner_text()
    assert page.locator("tr.tie").count() >= 2


def test_where_in_the_pathway_the_best_model_fails(open_page: Open) -> None:
    page = open_page(javascript=False)
    page.goto(CASES)
    page.get_by_role("link", name="By chapter, stage, task and more").click()
    page.get_by_role("link", name=re.compile("position", re.I)).first.click()
    assert re.search(r"Q1.*Q2", page.locator("main").inner_text(), re.S)


def test_whether_agentic_beats_oneshot_and_by_how_much(open_page: Open) -> None:
    page = open_page(javascript=False)
    first_link(page, SAMPLE_BOARD, "/runs/")
    page.locator("main a[href*='/compare/']", has_text=re.compile("one-?shot", re.I)).first.click()
    page.wait_for_load_state("load")
    text = page.locator("main").inner_text()
    assert "Who is right where" in text and "95 %" in text


def test_where_in_which_file_a_score_comes_from(open_page: Open) -> None:
    page = open_page(javascript=False)
    first_link(page, SAMPLE_BOARD, "/runs/")
    files = page.locator("#files").inner_text()
    assert "results.jsonl" in files and "sha256" in files


def test_which_models_a_hospital_could_choose_from(open_page: Open) -> None:
    page = open_page(javascript=False)
    page.goto(CASES)
    page.get_by_role("link", name="My case mix").click()
    shares = page.locator(".mix input.form-control")
    shares.nth(0).fill("70")
    shares.nth(1).fill("30")
    page.get_by_role("button", name="Compute").click()
    page.wait_for_load_state("load")
    text = page.locator("main").inner_text()
    assert "not worse than the best" in text.lower() and "of 100 cases" in text
