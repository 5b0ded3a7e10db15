"""An instance of Dagster whose webserver is asked what a browser would ask of it."""

import json
import shutil
import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qa_pipeline_tests.defs.project import DAGSTER_YAML

LIMIT = 900.0
"""Seconds after which a wait is given up; a busy machine never comes near."""

Json = dict[str, Any]

ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}
"""States of a backfill of which nothing more comes."""

LAUNCH = """mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on Error { message } } }"""
BACKFILL = """query($id: String!) {
  partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"""
LAUNCH_RUN = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on Error { message } } }"""
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
RUNS = "{ runsOrError { ... on Runs { results { runId status tags { key value } } } } }"
PARTITIONED = "{ assetNodes { assetKey { path } isPartitioned } }"
STALE = """query($batch: String!, $assets: [AssetKeyInput!]!) { assetNodes(assetKeys: $assets) {
  assetKey { path } staleStatus(partition: $batch)
  staleCauses(partition: $batch) { key { path } partitionKey reason } } }"""
START = """mutation($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) {
  __typename ... on Error { message } } }"""
REGISTERED = (
    """{ assetNodeOrError(assetKey: {path: ["documents"]}) { ... on AssetNode { partitionKeys } } }"""
)
ADD = """mutation($repository: RepositorySelector!, $batch: String!) {
  addDynamicPartition(repositorySelector: $repository, partitionsDefName: "document_batches",
    partitionKey: $batch) { __typename } }"""
STEPS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { stepStats { stepKey } } } }"
REPOSITORIES = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def accepts(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """One instance and the ports of its webserver and code server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "dagster"
        self.home.mkdir()
        shutil.copy(DAGSTER_YAML, self.home / "dagster.yaml")
        self.port, self.code_port = free_port(), free_port()

    @property
    def address(self) -> str:
        """The address of the webserver."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, query: str, **variables: Any) -> Json:
        """The answer to a GraphQL query."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self.address}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=LIMIT) as response:
            answer: Json = json.load(response)
        assert "errors" not in answer, answer
        data: Json = answer["data"]
        return data

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        """Until something holds."""
        end = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < end, f"waited in vain: {what}; see {self.folder}/*.log"
            time.sleep(1)  # a question to the webserver can take it half a second

    def backfill(self, assets: list[str], batches: list[str]) -> str:
        """Launch a backfill as the button Materialize does; its id."""
        keys = [{"path": [name]} for name in assets]
        launched = self.ask(LAUNCH, params={"assetSelection": keys, "partitionNames": batches})
        answer = launched["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return str(answer["backfillId"])

    def backfill_status(self, backfill: str) -> str:
        return str(self.ask(BACKFILL, id=backfill)["partitionBackfillOrError"]["status"])

    def runs(self) -> dict[str, list[str]]:
        """States of the runs of each batch, newest first."""
        found: dict[str, list[str]] = {}
        for run in self.ask(RUNS)["runsOrError"]["results"]:
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            if "dagster/partition" in tags:
                found.setdefault(tags["dagster/partition"], []).append(run["status"])
        return found

    def registered(self) -> set[str]:
        """The batches that are partitions."""
        return set(self.ask(REGISTERED)["assetNodeOrError"].get("partitionKeys", ()))

    def register(self, *batches: str) -> None:
        """Make batches partitions, as the button of the UI does."""
        for batch in batches:
            self.ask(ADD, repository=self._repository(), batch=batch)

    def run_of(self, batch: str) -> str:
        """The id of the newest run of a batch."""
        for run in self.ask(RUNS)["runsOrError"]["results"]:
            if {"key": "dagster/partition", "value": batch} in run["tags"]:
                return str(run["runId"])
        raise AssertionError(f"{batch} has no run")

    def steps_of(self, run: str) -> set[str]:
        """The steps of a run that were begun."""
        return {step["stepKey"] for step in self.ask(STEPS, id=run)["runOrError"]["stepStats"]}

    def retried(self) -> int:
        """The number of runs that Dagster began anew."""
        runs = self.ask(RUNS)["runsOrError"]["results"]
        return sum(tag["key"] == "dagster/retry_number" for run in runs for tag in run["tags"])

    def stale(self, batch: str) -> dict[str, list[tuple[str, str, str]]]:
        """The assets that the UI shows as stale for a batch, each with what changed: asset, batch, how."""
        nodes = self.ask(PARTITIONED)["assetNodes"]
        assets = [node["assetKey"] for node in nodes if node["isPartitioned"]]
        return {
            node["assetKey"]["path"][-1]: [
                (cause["key"]["path"][-1], cause["partitionKey"], cause["reason"])
                for cause in node["staleCauses"]
            ]
            for node in self.ask(STALE, batch=batch, assets=assets)["assetNodes"]
            if node["staleStatus"] == "STALE"
        }

    def launch(self, job: str, run_config: Json, **tags: str) -> str:
        """Launch a job; the id of its run."""
        parameters = {
            "selector": self._repository() | {"jobName": job},
            "mode": "default",
            "runConfigData": run_config,
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        }
        answer = self.ask(LAUNCH_RUN, params=parameters)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return str(answer["run"]["runId"])

    def launch_batch(self, batch: str) -> str:
        """Launch the job that builds a batch as its page does for one partition; the id of its run."""
        return self.launch("build_batch", {}, **{"dagster/partition": batch})

    def status_of(self, run: str) -> str:
        return str(self.ask(STATUS, id=run)["runOrError"].get("status"))

    def repositories(self) -> list[Json]:
        """The code locations that are loaded."""
        return list(self.ask(REPOSITORIES)["repositoriesOrError"].get("nodes", ()))

    def _repository(self) -> Json:
        (repository,) = self.repositories()
        return {
            "repositoryName": repository["name"],
            "repositoryLocationName": repository["location"]["name"],
        }

    def start_sensor(self, name: str) -> None:
        """Turn a sensor on."""
        answer = self.ask(START, sensor=self._repository() | {"sensorName": name})["startSensor"]
        assert answer["__typename"] == "Sensor", answer
