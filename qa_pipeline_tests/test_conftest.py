"""The guard that keeps every test off the network, the profiles of laws, and the count of work."""

import os
import socket

import pytest
from hypothesis import settings

from qa_pipeline_tests.support.object_store import is_free
from qa_pipeline_tests.support.work import lines_run


def test_a_connection_to_another_machine_fails_the_test_with_its_address() -> None:
    with (
        socket.socket() as client,
        pytest.raises(pytest.fail.Exception, match=r"reached for the network: 192\.0\.2\.1:80"),
    ):
        client.connect(("192.0.2.1", 80))


def test_looking_up_a_name_on_the_network_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match="looked up a name"):
        socket.create_connection(("example.org", 80))


def test_a_connection_to_this_machine_is_let_through() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_the_hub_is_offline() -> None:
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_the_full_profile_tries_laws_on_more_examples_than_the_short_one_and_neither_has_a_deadline() -> None:
    short, laws = settings.get_profile("short"), settings.get_profile("laws")
    assert (short.max_examples, laws.max_examples) == (15, 300)
    assert short.deadline is laws.deadline is None


def test_work_that_grows_with_the_square_of_its_input_is_told_from_work_in_proportion() -> None:
    def pairs(size: int) -> None:
        for number in range(size):
            for _ in range(number):
                pass

    def numbers(size: int) -> None:
        for _ in range(size):
            pass

    assert lines_run(lambda: pairs(200)) > 3.9 * lines_run(lambda: pairs(100))
    assert lines_run(lambda: numbers(200)) < 2.1 * lines_run(lambda: numbers(100))


def test_a_port_that_a_connection_goes_out_from_is_not_free_for_a_store() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as to,
    ):
        taken = to.getsockname()[1]
        assert not is_free(taken)
