"""Messages to the places that `monitoring.alerts.urls` names: mail, chats and webhooks, through Apprise."""

import logging
from collections.abc import Sequence

from pydantic import SecretStr

from qa_pipeline.errors import DeliveryError, SettingsError


def notify(urls: Sequence[SecretStr], title: str, body: str) -> list[str]:
    """Send a message to each place; return the numbers of the places that refused it.

    Raises:
        SettingsError: the extra is not installed, or Apprise cannot use an address.
        DeliveryError: no place took it; the caller may try again.
    """
    if not urls:
        return []
    try:
        import apprise
    except ImportError:
        raise SettingsError(
            "monitoring.alerts.urls needs the alerts extra: pip install 'qa-pipeline[alerts]'"
        ) from None
    # its lines hold hosts, and parts of addresses that it cannot read
    logging.getLogger("apprise").disabled = True
    failed = []
    for number, url in enumerate(urls, start=1):
        places = apprise.Apprise()
        if not places.add(url.get_secret_value()):
            raise SettingsError(
                f"Apprise cannot use address {number} of monitoring.alerts.urls; it is not shown, as it may "
                "hold a password; https://github.com/caronc/apprise/wiki lists forms"
            )
        if not places.notify(body, title, body_format=apprise.NotifyFormat.TEXT):
            failed.append(str(number))
    if len(failed) == len(urls):
        raise DeliveryError(
            "no place of monitoring.alerts.urls took the message; check that they can be reached "
            "from here and that their passwords hold"
        )
    return failed
