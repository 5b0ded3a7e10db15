"""The files of deploy/ for several machines agree with each other and with what Dagster and Docker accept."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

from qa_pipeline_tests.defs.project import DAGSTER_YAML

DEPLOY = DAGSTER_YAML.parent


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    return content


COMPOSE = read("compose.yaml")["services"]
ONE_MACHINE, PRODUCTION = read("dagster.yaml"), read("dagster-production.yaml")
SERVICES = sorted(COMPOSE)
OURS = sorted({*SERVICES} - {"postgres", "proxy"})


@pytest.mark.parametrize("launcher", ["", "run-launcher-ray"])
def test_dagster_takes_the_instance_settings(launcher: str, tmp_path: Path) -> None:
    parts = filter(None, ("dagster-production", launcher))
    text = "".join((DEPLOY / f"{part}.yaml").read_text(encoding="utf-8") for part in parts)
    (tmp_path / "dagster.yaml").write_text(text, encoding="utf-8")
    config, _ = dagster_instance_config(str(tmp_path))
    assert {"storage", "run_monitoring", "run_retries"} <= set(config)
    assert ("run_launcher" in config) == bool(launcher)
    assert config["storage"]["postgres"]["postgres_db"]["scheme"] == "postgresql+psycopg2"


def test_limits_and_retention_are_those_of_one_machine() -> None:
    assert PRODUCTION["concurrency"] == ONE_MACHINE["concurrency"]
    assert PRODUCTION["retention"] == ONE_MACHINE["retention"]


def test_only_crashed_runs_start_anew() -> None:
    assert PRODUCTION["run_retries"]["retry_on_asset_or_op_failure"] is False


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_health_check_and_comes_back(name: str) -> None:
    assert COMPOSE[name]["healthcheck"]["test"][0] == "CMD"
    assert COMPOSE[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", sorted({*SERVICES} - {"proxy"}))
def test_no_service_but_the_proxy_is_reached_from_other_machines(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in COMPOSE[name].get("ports", []))


@pytest.mark.parametrize("name", OURS)
def test_our_services_gain_no_rights(name: str) -> None:
    assert COMPOSE[name]["cap_drop"] == ["ALL"]
    assert COMPOSE[name]["security_opt"] == ["no-new-privileges:true"]


def test_the_workspace_names_the_location_as_on_one_machine() -> None:
    (local,) = read("../workspace.yaml")["load_from"]
    (remote,) = read("workspace-grpc.yaml")["load_from"]
    assert remote["grpc_server"]["location_name"] == local["python_module"]["location_name"]
    assert local["python_module"]["module_name"] in COMPOSE["code"]["command"]


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DEPLOY / "Dockerfile"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
