"""The page in a real browser, without a network."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from composer.studies.comparison import compare
from composer.studies.report import write_report
from composer.views.figures.style import new_figure, png
from tests.support.browser import Opened, open_browser
from tests.support.study_runs import STUDY, config_of, write_run, write_tuned
from tests.support.tested_runs import write_tested

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script>"
ARMS = ["lstm", "mingru", "gru", "attention", "rnn"]


@pytest.fixture(scope="module")
def browser():
    with open_browser() as running:
        yield running


@pytest.fixture
def opened(browser):
    """Opens files, each of which has to load without complaints or requests."""
    tabs = []

    def open_file(path, **options):
        tabs.append(Opened(browser, path, **options))
        return tabs[-1]

    yield open_file
    for tab in tabs:
        tab.close()
        assert tab.complaints == []
        assert tab.requests == []


def curves(tab, figure=0):
    """The lines of a figure of the learning curves, by arm."""
    drawn = tab.page.locator("#curves figure").nth(figure).locator(".curve")
    return {each.get_attribute("data-arm"): each.locator(".line").get_attribute("d") for each in drawn.all()}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_first_screen_has_the_answer_and_the_table(opened, report, comparison):
    tab = opened(report)
    assert tab.texts("h1") == [comparison.sentence]
    assert tab.texts("table.arms tbody .name") == [arm.name for arm in comparison.arms]
    assert tab.texts("table.arms .badge") == ["lowest"], "mingru is not distinguishable from it"
    assert tab.texts(".quality") == comparison.shown("valid/loss")
    assert tab.texts(".quality")[0] in comparison.sentence
    assert tab.texts(".verdict > span") == [verdict.words for verdict in comparison.verdicts]
    assert any(" ± " in text for text in tab.texts("table.arms td.numeric"))
    assert "Holm" in tab.page.locator("#arms .notes").inner_text()
    assert tab.page.locator("table.arms").bounding_box()["y"] < 300


def test_there_is_a_curve_for_every_arm_of_training_and_of_validation(opened, report):
    tab = opened(report)
    for figure in (0, 1):
        lines = curves(tab, figure)
        assert sorted(lines) == sorted(ARMS)
        assert all(line.startswith("M") for line in lines.values())
        assert len(set(lines.values())) == 5


def test_the_switch_of_the_axis_redraws_the_curves(opened, report):
    tab = opened(report)
    figure = tab.page.locator("#curves figure").first
    seen = set()
    for axis in ("steps", "examples", "tokens", "FLOPs", "seconds"):
        tab.page.locator("#curves").get_by_role("radio", name=axis).check()
        assert axis in figure.locator("svg text.label").all_text_contents()
        seen.add(json.dumps([curves(tab), figure.locator("svg text.tick").all_text_contents()]))
    assert len(seen) == 5


def test_the_metric_and_the_arms_can_be_chosen(opened, report):
    tab = opened(report)
    before = curves(tab)
    tab.page.get_by_role("combobox", name="Validation").select_option("valid/exact")
    assert curves(tab)["lstm"] != before["lstm"]
    tab.page.locator("#curves").get_by_role("checkbox", name="rnn").uncheck()
    assert sorted(curves(tab)) == sorted(set(ARMS) - {"rnn"})
    tab.page.get_by_label("every seed").check()
    assert tab.page.locator("#curves figure").first.locator(".faint").count() == 4 * 3


def test_the_mean_curve_is_the_mean_of_the_interpolated_seeds(opened, report, comparison):
    """Against seconds, at which every seed has points of its own."""
    tab = opened(report)
    tab.page.locator("#curves").get_by_role("radio", name="seconds").check()
    found = [
        row for row in rows(tab.saved(tab.page.get_by_label("Save Validation: loss as CSV"))) if row["arm"] == "gru"
    ]
    places = np.array([float(row["seconds"]) for row in found])
    seeds = []
    for run in next(arm for arm in comparison.arms if arm.name == "gru").runs:
        lines = run.metrics()
        time = {line["step"]: line["seconds"] for line in lines if "seconds" in line}
        points = [(time[line["step"]], line["valid/loss"]) for line in lines if "valid/loss" in line]
        seeds.append((np.array(points)[:, 0], np.interp(places, *np.array(points).T)))
    assert places.min() == pytest.approx(max(xs[0] for xs, _ in seeds), rel=1e-4)
    assert places.max() == pytest.approx(min(xs[-1] for xs, _ in seeds), rel=1e-4)
    values = np.array([ys for _, ys in seeds])
    for name, wanted in [
        ("valid/loss mean", values.mean(0)),
        ("lowest seed", values.min(0)),
        ("highest seed", values.max(0)),
    ]:
        assert [float(row[name]) for row in found] == pytest.approx(wanted, rel=1e-3)


def seconds(arm):
    return fmean(run.seconds for run in arm.runs)


def test_a_button_in_a_header_sorts_the_table(opened, report, comparison):
    tab = opened(report)
    by = {arm.name: seconds(arm) for arm in comparison.arms}
    header = tab.page.locator("table.arms th").filter(has_text="Training time")
    header.get_by_role("button").click()
    assert tab.texts("table.arms tbody .name") == sorted(by, key=by.get)
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").press("Enter")
    assert tab.texts("table.arms tbody .name") == sorted(by, key=by.get, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"


def test_the_keyboard_reaches_and_operates_the_switch_of_the_axis(opened, report):
    tab = opened(report)
    for _ in range(80):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.matches('#curves input[type=radio]')"):
            break
    before = curves(tab)
    tab.page.keyboard.press("ArrowRight")
    assert tab.page.evaluate("document.activeElement.value") == "examples"
    assert "examples" in tab.page.locator("#curves figure svg").first.inner_html()
    assert sorted(curves(tab)) == sorted(before)


def test_the_arrow_keys_read_a_charts_values(opened, report):
    tab = opened(report)
    plot = tab.page.locator("#curves .plot").first
    plot.focus()
    tab.page.keyboard.press("ArrowRight")
    text = plot.locator(".tip").inner_text()
    assert text.startswith("steps")
    assert all(re.search(rf"{arm} \d", text) for arm in ARMS)
    tab.page.keyboard.press("Escape")
    assert plot.locator(".tip").is_hidden()


def test_the_pareto_front_is_what_no_other_arm_beats(opened, report, comparison):
    tab = opened(report)
    points = {arm.name: (seconds(arm), arm.quality("valid/loss").mean) for arm in comparison.arms}
    front = {
        name for name, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    }  # fmt: skip
    tab.page.locator("#costs").get_by_role("radio", name="training time").check()
    marked = tab.page.locator("#costs .point").filter(has=tab.page.locator(".ring"))
    assert {each.get_attribute("data-arm") for each in marked.all()} == front
    assert 0 < len(front) < 5


def test_a_tuned_study_shows_quality_by_rate_windows_and_who_is_not_tuned(opened, tmp_path):
    found = compare([write_tuned(tmp_path / "study")])
    write_report(found, tmp_path / "report.html", command="again")
    tab = opened(tmp_path / "report.html")
    assert tab.texts("#tuning h2") == ["Tuning"]
    assert tab.texts("#tuning figcaption .title") == ["Validation loss against learning rate"], "all that was varied"
    drawn = tab.page.locator("#tuning .curve")
    assert [each.get_attribute("data-arm") for each in drawn.all()] == list(found.curves)
    assert [each.locator(".mark").count() for each in drawn.all()] == [7, 7, 6, 7, 9], "one of gru diverged"
    assert tab.page.locator("#tuning circle.chosen").count() == tab.page.locator("#tuning .window").count() == 5
    cells = tab.texts("#tuning table tbody tr:last-child > *")
    assert cells[0] == "rnn"
    assert cells[-1] == "not tuned: its best learning_rate (3) is the highest tried"
    assert tab.texts("#tuning table tbody tr:first-child > :last-child") == ["tuned"]
    assert any(text.startswith("not tuned") for text in tab.texts("table.arms .verdict > span"))


def test_a_study_of_several_tasks_shows_one_at_a_time(opened, tmp_path):
    for task, arms in {"parity": ("lstm", "attention"), "sort": ("attention", "gru")}.items():
        for arm in arms:
            for seed in (1, 2):
                config = config_of(STUDY[arm].mixer, seed) | {"data": {"type": task}}
                write_run(tmp_path / f"{arm}_{task}_{seed}", f"{arm}_{task}", seed, STUDY[arm], config=config)
    found = compare([tmp_path])
    write_report(found, tmp_path / "report.html", command="")
    tab = opened(tmp_path / "report.html")
    assert tab.texts("h1") == [found.sentence]
    assert tab.texts("#answers li") == list(found.answers)
    assert tab.texts("table.arms .badge") == [
        word for task in found.tasks for word in task.ahead("valid/loss", "min").values()
    ]
    parity, sort = (sorted(arm.name for arm in task.arms) for task in found.tasks)
    for section, name in (("curves", "sort"), ("costs", "sort"), ("outputs", "sort")):
        drawn = {
            "curves": lambda: sorted(curves(tab)),
            "costs": lambda: sorted(each.get_attribute("data-arm") for each in tab.page.locator("#costs .point").all()),
            "outputs": lambda: sorted(set(tab.page.locator(".example:visible .output .arm").all_inner_texts())),
        }[section]
        assert drawn() == parity, section
        tab.page.locator(f"#{section}").get_by_label("Task").select_option(label=name)
        assert drawn() == sort, section
    assert len(tab.page.locator("#curves .legend .checkbox:visible").all()) == 2


def test_a_search_has_its_figures(opened, report):
    tab = opened(report)
    assert tab.texts("#tuning figcaption .title") == [
        "Best so far",
        "Parallel coordinates",
        "Importance of the parameters",
    ]
    assert tab.page.locator("#tuning .trial-line").count() == 39  # of a trial that failed, no value counts
    assert tab.page.locator("#tuning .trial.pruned").count() == 10
    tab.page.get_by_label("Trials of").select_option("rnn")
    assert tab.page.locator("#tuning .trial-line").count() == 7
    assert re.fullmatch(r"\d+ %, from \d+ trials", tab.texts("#tuning .bar + .tick")[0])
    assert all(text.isdigit() for text in tab.texts("#tuning figure:first-of-type .tick[text-anchor=middle]"))
    tab.page.get_by_label("Trials of").select_option("every arm")
    assert len({line.get_attribute("class") for line in tab.page.locator("#tuning .trial-line").all()}) > 5


def test_a_reading_has_measured_values_alone(opened, report, comparison):
    """The means of the seeds at the steps that all have; against seconds, at which every seed has points of its own,
    those of the seeds."""
    tab = opened(report)
    steps, seconds = {}, {}
    for arm in comparison.arms:
        for run in arm.runs:
            for line in run.metrics():
                if "valid/loss" in line:
                    steps.setdefault(f"{line['step']}: {arm.name}", []).append(line["valid/loss"])
                    seconds.setdefault(f"{arm.name}, seed {run.seed}", []).append(line["valid/loss"])
    for axis, wanted in (("steps", {name: [fmean(values)] for name, values in steps.items()}), ("seconds", seconds)):
        tab.page.locator("#curves").get_by_role("radio", name=axis).check()
        plot = tab.page.locator("#curves .plot").first
        for share in (0.15, 0.33, 0.52, 0.78, 0.97):
            plot.hover(position={"x": share * plot.bounding_box()["width"], "y": 60})
            head, *read = plot.locator(".tip").inner_text().split("\n")
            start = f"{head.removeprefix('steps ')}: " if axis == "steps" else ""
            assert len(read) == len(ARMS)
            for name, value in (re.sub(" at .*", "", text).rsplit(" ", 1) for text in read):
                assert any(float(value) == pytest.approx(each, rel=5e-4) for each in wanted[start + name])


def test_a_loss_over_more_than_a_decade_has_a_logarithmic_axis_unless_another_is_chosen(opened, report):
    tab = opened(report)
    drawn = {}
    for axis in ("automatic", "linear", "logarithmic"):
        tab.page.get_by_label("Vertical axis").select_option(axis)
        drawn[axis] = [curves(tab, figure) for figure in (0, 1)]
    (validation, training), linear, logarithmic = drawn.values()
    assert (validation, training) == (linear[0], logarithmic[1]), "2.2 to 0.25 in validation, 2.9 to 0.2 in training"


def hidden_without_a_cue(tab):
    """What is beyond the right edge of the screen, outside of a frame that scrolls and fades there."""
    return tab.page.evaluate("""() => [...document.querySelectorAll("main *:not(svg *), header *")].filter((each) => {
        const box = each.getBoundingClientRect();
        const frame = each.closest(".wide");
        return each.checkVisibility() && box.width > 1 && box.right > innerWidth
            && !frame?.classList.contains("after");
    }).map((each) => each.outerHTML.slice(0, 100))""")


def test_long_names_and_narrow_screens_hide_nothing_without_a_cue(opened, tmp_path):
    for place in range(3):
        name = f"mixer=attention, model.nodes.encoder.layers.local.mixer.window={place}, optimiser.learning_rate=0.003"
        for seed in (1, 2):
            figure = write_run(tmp_path / f"{place}{seed}", name, seed, STUDY["lstm"]) / "figures" / "map.png"
            figure.write_bytes(png(new_figure(12, 3)))
    write_report(compare([tmp_path]), tmp_path / "report.html", command="")
    for width, dark in ((1400, False), (400, True)):
        tab = opened(tmp_path / "report.html", width=width, dark=dark)
        tab.page.locator(".picture.broad").first.wait_for()
        assert hidden_without_a_cue(tab) == []
        assert tab.page.evaluate(
            "(() => { const f = document.querySelector('#arms .wide'); return f.scrollWidth <= f.clientWidth })()"
        )
        inside = tab.page.evaluate("document.querySelector('.picture .wide').classList.contains('after')")
        assert inside is (width == 400), "a broad picture keeps its size on a narrow screen, and scrolls"
        assert tab.page.evaluate("getComputedStyle(document.querySelector('.picture img')).filter !== 'none'") is dark
        for each in tab.page.locator(".verdict, nav a").all():
            box = each.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_outputs_are_marked_and_disagreements_can_be_chosen(opened, report):
    tab = opened(report)
    cards = tab.page.locator("#outputs .example")
    assert cards.count() == 8
    assert tab.page.locator("#outputs mark.wrong").count() > 2
    tab.page.get_by_label(re.compile("only the .* disagreement")).check()
    shown = [card for card in cards.all() if card.is_visible()]
    assert 0 < len(shown) < 8
    assert all(len(set(card.locator("dl > .output code").all_inner_texts())) > 1 for card in shown)


def test_a_figure_is_saved_as_svg_png_and_csv(opened, report):
    tab = opened(report)
    root = ET.fromstring(tab.saved(tab.page.get_by_label("Save Validation: loss as SVG")))
    words = "".join(root.itertext())
    assert all(arm in words for arm in ARMS)  # the legend comes along
    assert "var(" not in ET.tostring(root, encoding="unicode")  # so do the colours
    with tab.page.expect_download() as found:
        tab.page.get_by_label("Save Validation: loss as PNG").click()
    with open(found.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    saved = rows(tab.saved(tab.page.get_by_label("Save Validation: loss as CSV")))
    assert {row["arm"] for row in saved} == set(ARMS)
    table = rows(tab.saved(tab.page.get_by_label("Save the table of arms as CSV")))
    assert [row["arm"] for row in table] == tab.texts("table.arms tbody .name")


def test_every_figure_has_a_title_a_description_and_its_data(opened, report):
    tab = opened(report)
    figures = tab.page.locator("figure.chart")
    assert figures.count() == 6
    for each in figures.all():
        svg = each.locator("svg[role=img]").first
        for name in svg.get_attribute("aria-labelledby").split():
            assert tab.page.locator(f"[id='{name}']").text_content().strip()
        each.get_by_text("Data as a table").click()
        each.locator("details table caption").wait_for(state="attached")
        assert each.locator("details tbody tr").count() > 0
        assert each.locator(".save button").all_inner_texts() == ["SVG", "PNG", "CSV"]


def test_markup_in_names_and_samples_is_shown_as_text(opened, tmp_path):
    sample = {
        "source": "</script><img src=x onerror=alert(2)>",
        "wanted": HOSTILE,
        "found": "<b>bold</b>",
        "right": False,
    }
    for number, arm in enumerate((HOSTILE, "<img src=x onerror=alert(3)>")):
        config = config_of(f"<i>{number}</i>", 1)
        reason = "<svg onload=alert(4)>"
        write_run(tmp_path / f"{number}", arm, 1, STUDY["lstm"], config=config, samples=[sample])
        trial = {"number": number, "phase": "tuning", "parameters": {"<b>x</b>": "<u>y</u>"}}
        write_run(tmp_path / f"{number}_trial", arm, 2, STUDY["lstm"], trial=trial, reason=reason)
    comparison = replace(compare([tmp_path]), warnings=("<em>warning</em>",))
    path = tmp_path / "report.html"
    write_report(comparison, path, command="<em>command</em>")
    tab = opened(path)
    for summary in tab.page.locator("summary").all():
        summary.click()
    text = tab.page.locator("body").inner_text()
    for words in (
        HOSTILE,
        "onerror=alert(2)",
        "<b>bold</b>",
        "<i>0</i>",
        "<em>warning</em>",
        "<em>command</em>",
        "<u>y</u>",
    ):
        assert words in text
    assert tab.page.locator("body img, body em, body u, body script:not([type])").count() == 0
    assert tab.page.evaluate("document.scripts.length") == 2


def test_one_seed_has_no_interval_and_the_page_says_so(opened, tmp_path):
    for arm in ("lstm", "gru"):
        write_run(tmp_path / arm, arm, 1, STUDY[arm])
    path = tmp_path / "report.html"
    write_report(compare([tmp_path]), path, command="")
    tab = opened(path)
    assert "no interval can be given" in tab.page.locator("#arms .notes").inner_text()
    assert not any("±" in text for text in tab.texts("table.arms td"))


def test_a_long_table_shows_its_first_rows_until_asked(opened, tmp_path):
    for number in range(40):
        write_run(tmp_path / f"{number}", f"arm {number}", 1, STUDY["lstm"], steps=100)
    path = tmp_path / "report.html"
    write_report(compare([tmp_path]), path, command="")
    tab = opened(path)
    assert sum(row.is_visible() for row in tab.page.locator("table.arms tbody tr").all()) == 20
    tab.page.get_by_role("button", name="Show all 40 rows").click()
    assert sum(row.is_visible() for row in tab.page.locator("table.arms tbody tr").all()) == 40


@pytest.fixture
def tested(tmp_path):
    """A report of two arms that were tested on examples of up to 12 steps, and trained on up to 6."""
    draw = np.random.default_rng(0)
    lengths = np.repeat(np.arange(1, 13), 5)
    for arm, slope in (("gru", 0.05), ("attention", 0.2)):
        for seed in (1, 2, 3):
            losses = 1 + slope * lengths + 0.1 * draw.random(60)
            write_tested(tmp_path / f"{arm}{seed}", arm, seed, losses, lengths=lengths, trained=(1, 6))
    path = tmp_path / "report.html"
    found = compare([tmp_path])
    write_report(found, path, command="")
    return path, found


def test_quality_by_length_is_drawn_with_the_lengths_of_training(opened, tested):
    path, found = tested
    tab = opened(path)
    section = tab.page.locator("#by_length")
    lines = section.locator(".curve")
    assert [line.get_attribute("data-arm") for line in lines.all()] == ["gru", "attention"]
    assert all(line.locator(".mark").count() == 12 for line in lines.all())
    assert "Training had lengths from 1 to 6." in section.inner_text()
    plot, shaded = section.locator("svg .axis").last.bounding_box(), section.locator(".shaded").bounding_box()
    assert shaded["width"] / plot["width"] == pytest.approx(5 / 11, rel=0.02)  # lengths 1 to 6 of 1 to 12
    saved = rows(tab.saved(section.get_by_label(re.compile("as CSV"))))
    (point,) = [row for row in saved if (row["arm"], row["shortest"]) == ("gru", "12")]
    assert float(point["test/loss"]) == pytest.approx(found.by_length[0].points[-1].quality.mean, rel=1e-5)
    section.get_by_role("checkbox", name="attention").uncheck()
    assert lines.count() == 1


def test_a_verdict_has_its_interval_over_examples(opened, tested):
    path, found = tested
    tab = opened(path)
    assert "Judged by test loss" in tab.page.locator("#judged").inner_text()
    low, high = found.over_examples["attention"].interval
    (shown,) = [text for text in tab.texts(".verdict small") if text.startswith("over examples")]
    assert [float(end) for end in re.findall(r"[\d.]+", shown)] == pytest.approx([low, high], rel=0.01)
    assert "valid 1" in tab.page.locator("table.arms").inner_text()
    assert "another test set" in tab.page.locator("#arms .notes").inner_text()
    (row,) = [
        each
        for each in rows(tab.saved(tab.page.get_by_label("Save the table of arms as CSV")))
        if each["arm"] == "attention"
    ]
    assert float(row["low over examples"]) == pytest.approx(low, rel=1e-3)
    assert tab.texts("#curves figcaption .title")[0] == "Validation: loss"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_width_makes_the_page_scroll_sideways(opened, report, width, dark):
    tab = opened(report, width=width, dark=dark)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    light = tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light is not dark
    drawn = tab.page.locator("#curves figure svg").first.bounding_box()
    assert drawn["width"] > 0.8 * min(width, 600) - 40


def test_text_can_be_told_from_its_background(opened, report):
    """The contrast of WCAG 2, level AA, for every colour that text has, in light and in dark mode."""
    for dark in (False, True):
        tab = opened(report, dark=dark)
        style = "getComputedStyle(document.documentElement).getPropertyValue"
        colour = {
            name: tab.page.evaluate(f"{style}('--{name}')")
            for name in ("paper", "ink", "soft", "link", "good", "bad", "warn")
        }
        for name in ("ink", "soft", "link", "good", "bad", "warn"):
            assert contrast(colour[name], colour["paper"]) >= 4.5, (name, dark)
        for index in range(8):
            assert contrast(tab.page.evaluate(f"{style}('--arm{index}')"), colour["paper"]) >= 3, (index, dark)


def contrast(one, other):
    def luminance(text):
        parts = [int(text.strip()[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
