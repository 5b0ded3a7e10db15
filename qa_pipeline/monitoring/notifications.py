"""Messages to the places that `monitoring.alerts.urls` names: mail, chats and webhooks, through Apprise."""

import logging
from collections.abc import Sequence
from importlib.util import find_spec

from pydantic import SecretStr

from qa_pipeline.errors import DeliveryError, SettingsError


def notify(urls: Sequence[SecretStr], title: str, body: str) -> list[str]:
    """Send a message to each place.

    Args:
        urls: addresses as Apprise reads them; they hold passwords, so nothing here names them.
        title: of the message.
        body: plain text.

    Returns:
        The places that did not take it, each by its number and its service.

    Raises:
        SettingsError: the extra is not installed, or an address is none that Apprise can use.
        DeliveryError: no place took it; the caller may try again.
    """
    if not urls:
        return []
    if find_spec("apprise") is None:
        raise SettingsError(
            "monitoring.alerts.urls needs the alerts extra: pip install 'qa-pipeline[alerts]'"
        )
    import apprise

    # its lines hold hosts, and parts of addresses that it cannot read
    logging.getLogger("apprise").disabled = True
    services = []
    for number, url in enumerate(urls, start=1):
        service = apprise.Apprise.instantiate(url.get_secret_value())
        if service is None:
            raise SettingsError(
                f"address {number} of monitoring.alerts.urls is none that Apprise can use, and is not shown, "
                "since it may hold a password; https://github.com/caronc/apprise/wiki lists forms"
            )
        services.append(service)
    failed = []
    for number, service in enumerate(services, start=1):
        places = apprise.Apprise()
        places.add(service)
        if not places.notify(body, title, body_format=apprise.NotifyFormat.TEXT):
            failed.append(f"{number} ({service.service_name})")
    if len(failed) == len(services):
        raise DeliveryError(
            f"no place of monitoring.alerts.urls took the message: {', '.join(failed)}; check that they can "
            "be reached from here and that their passwords hold"
        )
    return failed
