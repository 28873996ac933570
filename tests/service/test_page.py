"""The page, used in a browser as a person would."""

import shutil
import time

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver")


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,1200"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Driver(DRIVER))
    yield driver
    driver.quit()


def wait_for(browser, found):
    # What was just found may be drawn anew before it is read.
    patient = WebDriverWait(browser, 30, ignored_exceptions=[StaleElementReferenceException])
    return patient.until(lambda _: found())


def titles(browser):
    return [row.text for row in browser.find_elements(By.CSS_SELECTOR, "#list .title")]


@pytest.fixture
def page(browser, service):
    browser.get(service.address + "/")
    wait_for(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "#found li"))
    return browser


def choose(page, member):
    field = page.find_element(By.ID, "user")
    field.clear()
    field.send_keys(member, Keys.ENTER)
    wait_for(
        page,
        lambda: member in page.find_element(By.ID, "list-title").text or page.find_element(By.ID, "list-note").text,
    )
    return wait_for(page, lambda: titles(page))


def test_a_member_is_found_and_a_rating_changes_the_list(page):
    before = choose(page, "m007")
    assert len(before) == 10
    assert page.find_elements(By.CSS_SELECTOR, "#list .reasons")
    page.find_element(By.CSS_SELECTOR, f'#list [aria-label="Rate {before[0]} 1"]').click()
    wait_for(page, lambda: "written and learned" in page.find_element(By.ID, "list-note").text)
    after = wait_for(page, lambda: titles(page))
    assert before[0] not in after


def test_a_newcomer_gets_bestsellers_then_a_list(page):
    choose(page, "somebody new")
    assert page.find_element(By.ID, "list-title").text == "Bestsellers"
    page.find_element(By.ID, "words").send_keys("number 12", Keys.ENTER)
    wait_for(page, lambda: page.find_element(By.CSS_SELECTOR, "#found .title").text == "Film number 12")
    page.find_element(By.CSS_SELECTOR, '#found [aria-label="Rate Film number 12 5"]').click()
    wait_for(page, lambda: "somebody new" in page.find_element(By.ID, "list-title").text)


def test_topics_and_figures_are_shown(page):
    wait_for(page, lambda: page.find_elements(By.CSS_SELECTOR, ".topic li"))
    assert "PassiveAggressive" in page.find_element(By.ID, "about").text
    assert "ratings learned" in page.find_element(By.ID, "figures").text


def test_it_fits_a_phone_and_is_used_by_keyboard(page):
    page.set_window_size(400, 900)
    try:
        width = page.execute_script("return document.documentElement.scrollWidth")
        assert width <= page.execute_script("return window.innerWidth")
        page.find_element(By.ID, "user").send_keys("m001")
        page.find_element(By.ID, "user").send_keys(Keys.TAB, Keys.ENTER)
        wait_for(page, lambda: titles(page))
        unnamed = (
            "return [...document.querySelectorAll('button')].filter(b => !b.textContent.trim() && !b.ariaLabel).length"
        )
        assert page.execute_script(unnamed) == 0
    finally:
        page.set_window_size(1200, 1200)


def test_it_says_when_the_service_has_stopped(browser, tmp_path, model_file, serving):
    with serving(tmp_path / "state", model_file) as running:
        browser.get(running.address + "/")
        wait_for(browser, lambda: browser.find_element(By.ID, "about").text)
    browser.find_element(By.ID, "user").send_keys("m001", Keys.ENTER)
    trouble = browser.find_element(By.ID, "trouble")
    wait_for(browser, lambda: trouble.is_displayed())
    assert "does not answer" in trouble.text


def test_a_token_is_asked_for_and_used(browser, tmp_path, model_file, serving):
    token = tmp_path / "token.txt"
    token.write_text("a-token-of-some-length")
    with serving(tmp_path / "state", model_file, "--token-file", token, token="a-token-of-some-length") as running:
        browser.get(running.address + "/")
        field = browser.find_element(By.ID, "token")
        wait_for(browser, field.is_displayed)
        field.send_keys("a-token-of-some-length", Keys.ENTER)
        wait_for(browser, lambda: browser.find_element(By.ID, "about").text)
        time.sleep(0.1)
        assert not field.is_displayed()
