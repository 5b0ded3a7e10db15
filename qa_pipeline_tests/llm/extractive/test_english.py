"""English rules: the question each kind of sentence answers, and the sentences left alone."""

import pytest

from qa_pipeline.llm.extractive.english import find
from qa_pipeline.records import Passage

TITLE = "Harbour: a course on small boats"


def questions(sentence: str, *path: str, title: str = TITLE) -> list[str]:
    path = path or ("Chapter",)
    passage = Passage("chunk", title, path, f"## {path[-1]}\n\n{sentence}", "en")
    return [candidate.question for candidate in find(passage)]


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("A worker is a process that answers requests from the queue.", "What is a worker?"),
        ("Every pool lends a Worker object, and Worker is a class that answers requests.", None),
        ("SAIL is a protocol for boats that talk to harbours.", "What is SAIL?"),
        ("WASM stands for WebAssembly, a format for portable programs.", "What does WASM stand for?"),
        ("The purpose of RateLimiter is to slow down clients that ask too often.",
         "What is the purpose of RateLimiter?"),
        ("The difference between HTTP/1 and HTTP/2 is how requests share a connection.",
         "What is the difference between HTTP/1 and HTTP/2?"),
        ("PoolGuard can be used to close idle connections after a while.", "What can PoolGuard be used for?"),
    ],
)  # fmt: skip
def test_definitions(sentence: str, question: str | None) -> None:
    assert questions(sentence)[:1] == ([question] if question else [])


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("To restart the Harbour server, run harbour restart as root.",
         "How do you restart the Harbour server?"),
        ("To create a worker you use the spawn function of the pool:", "How do you create a worker?"),
        ("If you want to silence all warnings, you can pass --quiet to Harbour.",
         "How can you silence all warnings?"),
        ("You can encrypt stored passwords by setting the vault option of Harbour.",
         "How can you encrypt stored passwords?"),
        ("Use WorkerPool to run several jobs at once.", "What can you use to run several jobs at once?"),
        ("The PoolGuard door can be locked by using a list.", "How can the PoolGuard door be locked?"),
        ("Use fetch_all instead of fetch_one.", None),
        ("You should use PoolGuard instead of LegacyGuard.", "What should you use instead of LegacyGuard?"),
        ("The recommended way to back up a harbour is to copy its ledger.",
         "What is the recommended way to back up a harbour?"),
        ("You must stop all workers before you replace a running WorkerPool.",
         "What must you do before you replace a running WorkerPool?"),
    ],
)  # fmt: skip
def test_instructions(sentence: str, question: str | None) -> None:
    found = questions(sentence)
    assert (question in found) if question else not found


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("mod_spell should not be enabled on WebDAV servers because it renames new files.",
         "Why should mod_spell not be enabled on WebDAV servers?"),
        ("You need to restart Harbour because settings are only read once.",
         "Why do you need to restart Harbour?"),
        ("If a worker of the WorkerPool crashes, a new worker is started.",
         "What happens if a worker of the WorkerPool crashes?"),
        ("If the HARBOUR_HOME variable is missing, use the --home option.",
         "What should you do if the HARBOUR_HOME variable is missing?"),
        ("The WorkerPool class keeps a number of workers ready for new jobs.",
         "What does the WorkerPool class do?"),
        ("The --quiet option suppresses all warnings on the terminal.", "What does the --quiet option do?"),
    ],
)  # fmt: skip
def test_reasons_and_effects(sentence: str, question: str) -> None:
    assert question in questions(sentence)


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("WorkerPool was introduced in version 2.4 of the server.",
         "In which version was WorkerPool introduced?"),
        ("The Harbour Foundation was founded in 1998 by four sailors.",
         "When was the Harbour Foundation founded?"),
        ("The Harbour Foundation was founded in Malmö in 1998 by four sailors.",
         "When was the Harbour Foundation founded in Malmö?"),
        ("The default value of PoolSize is 8 on most machines.", "What is the default value of PoolSize?"),
        ("PoolSize defaults to the number of processor cores.", "What does PoolSize default to?"),
        ("The tank of the HarbourBench holds 36 litres of water.",
         "How many litres of water does the tank of the HarbourBench hold?"),
        ("The safety valve opens at 3 bar.", f'In "{TITLE}", at what pressure does the safety valve open?'),
        ("HarbourBench contains about 120 small tasks for one evening.",
         "How many small tasks does HarbourBench contain?"),
    ],
)  # fmt: skip
def test_figures_and_dates(sentence: str, question: str) -> None:
    assert question in questions(sentence)


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("HarbourBench requires a terminal with at least eighty columns.", "What does HarbourBench require?"),
        ("The HarbourBench results are stored in the ledger folder of each user.",
         "Where are the HarbourBench results stored?"),
        ("HarbourBench was developed by two students of the sailing school.", "Who developed HarbourBench?"),
        ("HarbourBench is designed to find slow workers early.", "What is HarbourBench designed to do?"),
        ("The target audience of HarbourBench is anyone who runs a server.",
         "What is the target audience of HarbourBench?"),
    ],
)  # fmt: skip
def test_relations(sentence: str, question: str) -> None:
    assert question in questions(sentence)


def test_the_course_of_a_paper_is_named_by_the_papers_title() -> None:
    asked = questions("The course consists of eight evenings on the water.")
    assert asked == [f'In "{TITLE}", what does the course consist of?']
    assert not questions("The course consists of eight evenings on the water.", title="notes")


def test_a_condition_is_tied_to_the_thing_its_section_is_about() -> None:
    asked = questions("If no status is given, the reply is temporary and never stored.", "Redirect Directive")
    assert asked == ["With the Redirect directive, what happens if no status is given?"]


def test_an_instruction_is_tied_to_the_product_of_its_document() -> None:
    asked = questions("To drain the tank, open the lower valve.", "Service", title="Tank 8 service manual")
    assert asked == ["With Tank 8, how do you drain the tank?"]


def test_an_acronym_is_asked_for_when_the_passage_uses_it_again() -> None:
    once = "Boats talk over the Small Boat Protocol (SBP)."
    assert not questions(once)
    assert "What does SBP stand for?" in questions(f"{once} Harbours speak SBP, too.")


def test_a_heading_that_is_a_question_is_answered_by_its_section() -> None:
    opening = "Workers share one log, so their lines arrive in the order they were written."
    assert "Why do lines arrive late?" in questions(opening, "Why do lines arrive late?")


def test_a_heading_that_is_an_instruction_is_answered_by_the_sentence_that_follows_it() -> None:
    assert "How do you hide worker names?" in questions(
        "You can hide the names of workers with --quiet.", "Hide worker names"
    )
    assert not questions("Harbours are quiet at night and busy at noon.", "Hide worker names")


def test_a_list_of_named_options_is_asked_for_item_by_item() -> None:
    found = questions(
        "- max_age - Sets how long a browser may keep a reply.\n- pool_size: The number of workers."
    )
    assert found == ["What does max_age do?", "What is pool_size?"]


@pytest.mark.parametrize(
    "sentence",
    [
        "It is a process that answers requests from the queue.",
        "However, PoolGuard is a class that closes idle connections.",
        "As described above, PoolGuard is a class that closes connections.",
        "To learn more about workers, read the official documentation.",
        "The file is a list that holds the names of all workers.",
        "If it fails, the request is sent to the next worker.",
        "If the file does not exist, a new file is written.",
        "PoolGuard is a class that does the following:",
        "PoolGuard is a good idea for servers with many clients.",
        "This is because PoolGuard is a class.",
        "To do this, use the --quiet option.",
        "PoolGuard is a class = that(closes) connections;",
        "See PoolGuard, which is a class that closes connections.",
        "PoolGuard is a class that closes",
    ],
)
def test_sentences_that_lean_on_others_are_left_alone(sentence: str) -> None:
    assert not questions(sentence)


@pytest.mark.parametrize("heading", ["References", "Acknowledgements", "License"])
def test_sections_without_facts_are_left_alone(heading: str) -> None:
    assert not questions("SAIL is a protocol for boats that talk to harbours.", heading)
