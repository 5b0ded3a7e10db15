"""Texts of kinds that hold little to ask: few rows or none come of them, and each section says why."""

import json

import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline.curation.duplicates import MOST_OF_ONE_WORDING
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace

DIALOGUE = """ANNA: Did you feed the cat?
BERT: I thought you did. It was your turn.
ANNA: It always is my turn, isn't it?
BERT: If you say so. I will go and look for her.
ANNA: She must be in the cellar. Take the torch.
"""
POEM = """The Wreck

The moon was a ghostly galleon
tossed upon cloudy seas,
and if the night had an answer,
it was lost among the trees.

O tell me, who must carry
the lantern when I am gone?
The sea is a silent sister
who waits for the break of dawn.
"""
CODE = '''"""Read a table."""
import csv

LIMIT = 30  # seconds


def read(path):
    """Return the rows. If the file is missing, an error is raised."""
    # The limit is 30 seconds.
    with open(path) as file:
        return list(csv.reader(file))
'''
LOG = """2026-05-01 12:00:01 INFO  server: Listening on port 8080
2026-05-01 12:00:07 WARN  pool: 3 of 20 connections are open
2026-05-01 12:01:13 ERROR job 17 failed: the disk is full
2026-05-01 12:01:14 INFO  job 17 is retried in 30 seconds
2026-05-01 12:02:44 INFO  server: Request took 321 ms
"""
MINUTES = """# Minutes of 12 May

Present: Anna, Bert, Carla. Absent: Dora.

1. Anna opened the meeting at 10:05.
2. Bert reported that the roof leaks. It was decided to ask for two offers.
3. Carla will ask the bank until Friday.
4. The meeting was closed at 10:40.
"""
FORM = """Application

Name: ______________________
Street: ____________________
Date of birth: __ . __ . ____
[ ] I have read the conditions.
[ ] Please send me the newsletter.
Signature: _________________
"""
CHANGELOG = """# Changelog

## 2.4.1 - 2026-03-02

- Fixed a crash when the file is empty.
- Bumped requests to 2.31.
- Thanks to @octo for the report.

## 2.4.0 - 2026-02-11

- Added `--quiet`.
- Removed Python 3.8.
"""
NUMBERS = "\n".join(";".join(str(row * column) for column in range(1, 7)) for row in range(1, 21)) + "\n"
FINNISH = """# Pumppu

Pumppu käynnistyy kello kuusi aamulla. Jos paine laskee alle kahden baarin, pumppu pysähtyy. Huolto tehdään
kerran vuodessa, ja sen saa tehdä vain valtuutettu asentaja.
"""
GERMAN_MINUTES = """# Protokoll der Sitzung vom 12. Mai

Anwesend: Anna, Bert, Carla. Entschuldigt: Dora.

1. Anna eröffnete die Sitzung um 10.05 Uhr.
2. Bert berichtet, dass das Dach undicht ist. Es wird beschlossen, zwei Angebote einzuholen.
3. Carla fragt bis Freitag bei der Bank nach.
4. Die Sitzung wurde um 10.40 Uhr geschlossen.
"""
SWEDISH_MINUTES = """# Protokoll fört vid möte den 12 maj

Närvarande: Anna, Bert, Carla. Frånvarande: Dora.

1. Anna öppnade mötet klockan 10.05.
2. Bert rapporterade att taket läcker. Mötet beslutade att begära in två offerter.
3. Carla frågar banken senast på fredag.
4. Mötet avslutades klockan 10.40.
"""
NEAR_EQUAL = "# Rooms of Fjell 8\n\n" + "\n\n".join(
    f"FJ{number} is a room that has the door {number} and a lamp of floor 9." for number in range(1, 201)
)
TEXTS: dict[str, str | bytes] = {
    "dialogue.txt": DIALOGUE,
    "poem.txt": POEM,
    "reader.py.txt": CODE,
    "server.log.txt": LOG,
    "minutes.md": MINUTES,
    "form.txt": FORM,
    "CHANGELOG.md": CHANGELOG,
    "numbers.csv": NUMBERS,
    "line.txt": "Closed on Mondays.\n",
    "pumppu.md": FINNISH,
    "protokoll.md": GERMAN_MINUTES,
    "protokoll-sv.md": SWEDISH_MINUTES,
    "rooms.md": NEAR_EQUAL,
}
FILLED_IN = "rooms.md"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, set[str]]]:
    """Accepted rows and reasons of each file."""
    with pytest.MonkeyPatch.context() as patch:
        workspace: Workspace = new_workspace(tmp_path_factory.mktemp("unsuitable"), patch)
        workspace.write({f"b/{name}": text for name, text in TEXTS.items()})
        assert workspace.run().code == OK
        said = invoke("status", "--out", workspace.out, "--coverage", "--json")
    found: dict[str, tuple[int, set[str]]] = {name: (0, set()) for name in TEXTS}
    for row in json.loads(said.stdout)["sections"]:
        accepted, reasons = found[row["path"]]
        found[row["path"]] = (accepted + row["accepted"], reasons | ({row["reason"]} - {None}))
    return found


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {FILLED_IN}))
def test_a_text_with_nothing_to_ask_gives_no_row_and_says_why(
    name: str, outcomes: dict[str, tuple[int, set[str]]]
) -> None:
    accepted, reasons = outcomes[name]
    assert accepted == 0
    assert reasons


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pumppu.md", "language_not_handled"),
        ("numbers.csv", "not_written"),
        ("line.txt", "no_sentence"),
        ("dialogue.txt", "not_written"),
    ],
)
def test_the_reason_is_the_one_that_a_person_would_give(
    name: str, reason: str, outcomes: dict[str, tuple[int, set[str]]]
) -> None:
    assert outcomes[name][1] == {reason}


def test_a_form_filled_in_hundreds_of_times_gives_few_rows(outcomes: dict[str, tuple[int, set[str]]]) -> None:
    assert 0 < outcomes[FILLED_IN][0] <= MOST_OF_ONE_WORDING
