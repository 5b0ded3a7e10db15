"""The guard that keeps every test off the network."""

import os
import socket

import pytest


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
