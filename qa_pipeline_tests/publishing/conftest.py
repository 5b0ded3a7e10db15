import shutil
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline_tests.end_to_end import Workspace, new_workspace
from qa_pipeline_tests.publishing.plants import NAMES, SUBJECTS, guide, release


@pytest.fixture(autouse=True)
def _light(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_workspace(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two batches of eight documents each, run and released."""
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("release"), patch)
        made.write({f"b{n % 2}/{name}.md": guide(name, SUBJECTS[n % 5 :]) for n, name in enumerate(NAMES)})
        assert made.run().code == OK
        assert release(made).code == OK
    return made


@pytest.fixture
def republished(published: Workspace, tmp_path: Path) -> Workspace:
    """The same, in a folder of its own, to release anew."""
    return Workspace(published.corpus, Path(shutil.copytree(published.out, tmp_path / "out")))
