"""Several people rate the same pairs apart: who is asked, what each sees, what becomes of it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.review.annotations import GOLD, RATINGS
from qa_pipeline.review.consensus import annotation_figures
from qa_pipeline.review.panel import LEAST_PAIRS, RatingPanel, Stand
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.server import build_app
from qa_pipeline.review.sessions import Sessions, User
from qa_pipeline.settings.review import ReviewSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline_tests.curation.rows import verdict
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.review.conftest import ADDRESS
from qa_pipeline_tests.review.tables import decide, write_verdicts
from qa_pipeline_tests.review.test_server import hidden
from qa_pipeline_tests.review.test_server_bad_input import paragraphs

PEOPLE = ("Ada", "Bo", "Cy")
PAIRS = [f"p{number:02}" for number in range(12)]
People = dict[str, TestClient]
Open = Callable[..., People]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "out")
    write_verdicts(layout, "b", *(verdict(pair_id, "needs_review") for pair_id in PAIRS), verdict("done"))
    return layout


@pytest.fixture
def people(layout: Layout) -> Iterator[Open]:
    """Open the app of several people, each of whom is signed in."""
    with ExitStack() as opened:

        def signed_in(
            names: tuple[str, ...] = PEOPLE, overlap: float = 1, gold: Path | None = None
        ) -> People:
            users = [User(name=name, token_sha256=hash_text(name)) for name in names]
            settings = Settings(review=ReviewSettings(overlap=overlap, gold=gold))
            app = build_app(layout, Sessions("", users), settings)
            clients = {name: opened.enter_context(TestClient(app, base_url=ADDRESS)) for name in names}
            for name, client in clients.items():
                assert client.post("/enter", data={"token": name}).status_code == 200
            return clients

        yield signed_in


def rate(client: TestClient, pair_id: str, decision: str = "accepted", **fields: str) -> Any:
    page = client.get(f"/pair/b/{pair_id}").text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    form["seen"] = re.findall(r'name="seen" value="(-?\d+)"', page)[-1]
    return client.post(
        f"/pair/b/{pair_id}/decision", data={**form, "decision": decision, **fields}, follow_redirects=False
    )


def waiting(client: TestClient, which: str = "waiting") -> set[str]:
    return set(re.findall(r'<li id="pair-(\w+)"', client.get(f"/?list={which}").text))


def raters(clients: People, pair_id: str) -> list[str]:
    return [name for name, client in clients.items() if pair_id in waiting(client)]


def recorded(layout: Layout) -> pl.DataFrame:
    return read_decisions(layout.decisions("b"))


def ratings(layout: Layout) -> list[dict[str, Any]]:
    path = layout.ratings("b")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def gold_file(tmp_path: Path, **verdicts: str) -> Path:
    path = tmp_path / "gold.jsonl"
    rows = [{"id": pair_id, "annotator": GOLD, "rating": word} for pair_id, word in verdicts.items()]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_each_drawn_pair_waits_for_two_people_and_the_work_is_shared(layout: Layout, people: Open) -> None:
    clients = people()
    lists = {name: waiting(client) for name, client in clients.items()}
    assert all(sum(pair_id in listed for listed in lists.values()) == 2 for pair_id in PAIRS)
    assert all(lists.values())


def test_a_share_of_the_pairs_is_drawn_and_the_rest_is_decided_by_anybody(
    layout: Layout, people: Open
) -> None:
    queue = Queue(layout, panel=RatingPanel(layout, PEOPLE, 0.5))
    drawn = {pair_id for _, pair_id in queue.stands()}
    assert 0 < len(drawn) < len(PAIRS)
    assert drawn == {pair_id for _, pair_id in Queue(layout, panel=RatingPanel(layout, PEOPLE, 0.5)).stands()}
    rest = next(pair_id for pair_id in PAIRS if pair_id not in drawn)
    clients = people(overlap=0.5)
    assert len(raters(clients, rest)) == len(PEOPLE)
    rate(clients["Ada"], rest)
    assert recorded(layout).select("pair_id", "who").rows() == [(rest, "Ada")]


@pytest.mark.parametrize("names", [("Ada",), PEOPLE])
def test_nobody_is_asked_twice_where_nothing_is_to_be_compared(
    layout: Layout, people: Open, names: tuple[str, ...]
) -> None:
    clients = people(names, overlap=1 if len(names) == 1 else 0)
    assert waiting(clients["Ada"]) == set(PAIRS)
    rate(clients["Ada"], PAIRS[0])
    assert recorded(layout)["who"].to_list() == ["Ada"]
    assert not ratings(layout)


def test_nothing_that_the_second_person_can_open_tells_the_verdict_of_the_first(
    layout: Layout, people: Open
) -> None:
    clients = people()
    pair_id = PAIRS[0]
    first, second = raters(clients, pair_id)
    others = [name for name in PEOPLE if name != first]
    addresses = [f"/pair/b/{pair_id}", "/decisions", "/overview", "/agreement"]
    addresses += [f"/?list={name}" for name in ("waiting", "all", "decided", "disagreements")]

    def seen(name: str) -> list[str]:
        pages = (clients[name].get(address).text for address in addresses)
        return [re.sub(r'(form_token" value=")[^"]*', r"\1", page) for page in pages]

    before = {name: seen(name) for name in others}
    assert rate(clients[first], pair_id, why="not in the norm").status_code == 303
    assert {name: seen(name) for name in others} == before
    assert invoke("show", pair_id, "--out", layout.out).stdout.count(first) == 0
    assert f"Accepted by {first} : not in the norm" in paragraphs(clients[first].get(addresses[0]).text)
    assert pair_id not in waiting(clients[first])
    assert pair_id in waiting(clients[second])


def test_what_two_people_agree_on_is_a_decision_in_both_names(layout: Layout, people: Open) -> None:
    clients = people()
    pair_id = PAIRS[0]
    first, second = raters(clients, pair_id)
    rate(clients[first], pair_id, code="no_evidence_found", why="gone")
    assert not recorded(layout).height
    reply = rate(clients[second], pair_id, code="low_relevance")
    (row,) = recorded(layout).to_dicts()
    assert (row["decision"], row["who"]) == ("rejected", f"{first} and {second}")
    # one of them does not doubt the sources, so the row is none to calibrate with
    assert row["why"] == "quality: low_relevance; no_evidence_found: gone"
    assert [(line["annotator"], line["rating"]) for line in ratings(layout)] == [
        (first, "rejected"),
        (second, "rejected"),
    ]
    assert "Rejected, and on the disk" in paragraphs(clients[second].get(reply.headers["location"]).text)
    assert pair_id in waiting(clients["Ada"], "decided")


def test_where_two_people_differ_a_third_decides(layout: Layout, people: Open) -> None:
    clients = people()
    pair_id = PAIRS[0]
    first, second = raters(clients, pair_id)
    (third,) = {*PEOPLE} - {first, second}
    rate(clients[first], pair_id)
    rate(clients[second], pair_id, code="no_evidence_found")
    assert [name for name in PEOPLE if pair_id in waiting(clients[name], "disagreements")] == [third]
    refused = rate(clients[first], pair_id, "rejected")
    assert (refused.status_code, recorded(layout).height) == (409, 0)
    page = paragraphs(clients[third].get(f"/pair/b/{pair_id}").text)
    assert f"Rejected by {second} : nothing in its batch says so" in page
    assert rate(clients[third], pair_id).status_code == 303
    assert recorded(layout).select("who", "decision").rows() == [(third, "accepted")]
    assert not waiting(clients[third], "disagreements")


def test_of_two_people_alone_either_settles_a_disagreement(layout: Layout, people: Open) -> None:
    clients = people(PEOPLE[:2])
    rate(clients["Ada"], PAIRS[0])
    rate(clients["Bo"], PAIRS[0], "rejected")
    assert PAIRS[0] in waiting(clients["Ada"], "disagreements") & waiting(clients["Bo"], "disagreements")


@pytest.mark.parametrize(
    "fields", [{"decision": "edited", "edited_answer": "Another."}, {"of_claim": "accepted c"}]
)
def test_a_rating_is_of_the_whole_pair_as_it_is(layout: Layout, people: Open, fields: dict[str, str]) -> None:
    clients = people()
    reply = rate(clients[raters(clients, PAIRS[0])[0]], PAIRS[0], **fields)
    assert reply.status_code == 400
    assert "accept or reject it as a whole" in reply.text
    assert not ratings(layout)


def test_what_decide_refuses_is_no_rating(layout: Layout, people: Open) -> None:
    waits = verdict("p", "needs_review")
    write_verdicts(layout, "b", waits, status="failed", answer=None, reason="invalid_reply")
    clients = people()
    reply = rate(clients[raters(clients, "p")[0]], "p")
    assert "there is no answer to accept" in reply.text
    assert not ratings(layout)


def test_ratings_of_a_pair_that_changed_since_do_not_count(layout: Layout, people: Open) -> None:
    clients = people()
    pair_id = PAIRS[0]
    first, second = raters(clients, pair_id)
    rate(clients[first], pair_id)
    write_verdicts(layout, "b", *(verdict(name, "needs_review") for name in PAIRS), answer="Another answer.")
    assert raters(clients, pair_id) == [first, second]
    rate(clients[second], pair_id)
    assert not recorded(layout).height
    rate(clients[first], pair_id)
    assert recorded(layout)["who"].to_list() == [f"{second} and {first}"]


def test_a_gold_pair_waits_for_everybody_looks_like_others_and_decides_nothing(
    layout: Layout, people: Open, tmp_path: Path
) -> None:
    decide(layout, "b", "done", who="Eve", why="by the norm")
    clients = people(overlap=0, gold=gold_file(tmp_path, done="rejected"))
    assert raters(clients, "done") == list(PEOPLE)
    assert "done" not in waiting(clients["Ada"], "decided")
    page = paragraphs(clients["Ada"].get("/pair/b/done").text)
    assert "Eve" not in page
    assert "? needs review" in page
    for name in PEOPLE:
        assert (
            "Your verdict is on the disk"
            in clients[name].get(rate(clients[name], "done").headers["location"]).text
        )
        assert "done" not in waiting(clients[name])
        assert not {"Ada", "Bo", "Cy"} - {name} & {
            *re.findall("by <bdi>(\\w+)", clients[name].get("/pair/b/done").text)
        }
    assert recorded(layout)["who"].to_list() == ["Eve"]
    assert "0.00 (0.00–0.79), 1 pair" in paragraphs(clients["Ada"].get("/agreement").text)


def test_a_gold_file_with_another_verdict_is_refused(layout: Layout, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'yes' is no verdict; write accepted or rejected"):
        RatingPanel(layout, PEOPLE, gold=gold_file(tmp_path, done="yes"))


def test_kappa_is_shown_live_and_says_when_it_is_low(layout: Layout, people: Open) -> None:
    path = layout.table(CLAIMS.name, "b")
    write_table(path, read_table(path, CLAIMS).with_columns(evidence_document_id="pair_id"), CLAIMS)
    clients = people(PEOPLE[:2])
    for place, pair_id in enumerate(PAIRS):
        shown = paragraphs(clients["Ada"].get("/agreement").text)
        assert ("unknown, too few ratings" in shown) == (0 < place < LEAST_PAIRS)
        rate(clients["Ada"], pair_id, "accepted" if place % 2 else "rejected")
        rate(clients["Bo"], pair_id, "accepted" if place % 4 else "rejected")
    rows = [{**row, "file": "b", "item": row["id"]} for row in ratings(layout)]
    figures, _ = annotation_figures(pl.DataFrame(rows, schema=RATINGS, strict=False))
    kappa = figures["agreement"][0]
    shown = paragraphs(clients["Ada"].get("/agreement").text)
    assert 0 < kappa["value"] < 0.6
    interval = f"{kappa['low']:.2f} to {kappa['high']:.2f}"
    assert f"Fleiss’ kappa: {kappa['value']:.2f} (95 % interval {interval})" in shown
    assert "Below 0.6: people do not agree well enough." in shown


def test_ratings_are_what_eval_annotators_reads(layout: Layout, people: Open) -> None:
    clients = people(PEOPLE[:2])
    for pair_id in PAIRS[:3]:
        for client in clients.values():
            rate(client, pair_id)
    read = json.loads(invoke("eval", "annotators", layout.out / "ratings", "--json").stdout)
    assert (read["criterion"], read["items"], read["ratings"]) == ("verdict", 3, 6)
    assert not read["left_out"]


def test_a_damaged_file_of_ratings_is_named_and_nothing_is_added_to_it(layout: Layout, people: Open) -> None:
    clients = people()
    layout.ratings("b").parent.mkdir(parents=True)
    layout.ratings("b").write_text("{nothing\n")
    assert f"{layout.ratings('b')} cannot be read; repair it" in paragraphs(clients["Ada"].get("/").text)


def test_a_person_who_left_stays_a_rater_and_no_other_is_asked(layout: Layout, people: Open) -> None:
    clients = people()
    pair_id = PAIRS[0]
    first = raters(clients, pair_id)[0]
    rate(clients[first], pair_id)
    rest = tuple(name for name in PEOPLE if name != first)
    panel = RatingPanel(layout, rest, 1)
    stand = Queue(layout, panel=panel).stand("b", pair_id)
    assert stand.open_for is not None
    assert (len(stand.open_for), {*stand.ratings}) == (1, {first})
    assert Queue(layout).stand("b", pair_id) == Stand()
