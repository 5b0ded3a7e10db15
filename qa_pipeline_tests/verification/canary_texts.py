"""Chunks of a small batch in three languages, each with sentences that can be made false."""

from typing import Any

import polars as pl

from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline_tests.curation.rows import chunk

TEXTS = {
    "en": [
        """The boiler holds 36 litres and is filled within 12 minutes by the installer. The pump of the
        model Kestrel was tested in Bergen on 14 March 2019 by Nordvik. The valve must be opened (by
        hand or key) before the tank can be drained. Some customers often ask why the heater stops
        because the sensor reads too much heat. If the outdoor sensor is broken, the control unit
        switches to manual mode at once. The warranty of the unit runs for 24 months and covers pipes
        and valves. The heater may be left on at night if the window of the room is closed.""",
        """The meters were delivered from Trondheim in the year 2015 and are read by Sundby each month. At
        least 5 litres must remain in the tank, and it may not be emptied in winter. The archive is not
        open to visitors who arrive without an invitation from the office. The guests of the house must
        not smoke in the rooms upstairs. The check of the old pump takes 2 hours of work in spring. The
        paint of the cellar needs 3 days to dry in the winter. There are four filters in the tank of
        the boiler. The pump of the tank stops at noon and it sends a message to the office. The share of glue
        in the mix for the wall must be ≥ 20 % of its weight.""",
    ],
    "sv": [
        """Tanken rymmer 36 liter och fylls inom 12 minuter av den som sköter pumpen. Pumpen provades i
        Bergen den 14 mars 2019 av Nordvik och godkändes samma dag. Ventilen ska öppnas innan tanken
        får tömmas av den som ansvarar för driften. Vissa kunder frågar ofta varför värmaren stannar
        när givaren visar för mycket. Om givaren är trasig, ska man genast koppla om styrningen till
        handdrift. Garantin för enheten gäller i 24 månader och omfattar ledningar och ventiler.""",
        """Mätarna levererades från Trondheim år 2015 och läses av Sundby i slutet av månaden. Minst 5
        liter måste finnas kvar i tanken under hela vintern enligt anvisningen. Arkivet är inte öppet
        för besökare som kommer till huset utan inbjudan från kontoret. Gästerna i huset får inte röka
        i rummen på övervåningen. Kontrollen av pumpen tar 2 timmar av arbetet på våren. Färgen i
        källaren behöver 3 dagar för att torka på vintern. Andelen lim i blandningen för väggen ska vara
        ≥ 20 % av vikten. Det finns fyra filter (rostfria) i pannans
        tank i källaren. Pumpen i tanken stannar mitt på dagen och den skickar ett meddelande till
        kontoret.""",
    ],
    "de": [
        """Der Kessel fasst 36 Liter und wird in 12 Minuten vom Installateur langsam gefüllt. Die Pumpe
        wurde am 14. März 2019 mit dem HTTPS und dem FastCGI der Anlage geprüft. Das Ventil muss
        geöffnet werden (von Hand), bevor der Tank geleert werden kann. Einige Kunden fragen oft nach
        dem Grund für den Stillstand der Heizung im Winter. Wenn Sie den Fühler austauschen, können Sie
        die Anlage wieder von Hand einschalten. Die Garantie der Anlage gilt 24 Monate und umfasst alle
        Leitungen und Ventile. Die Heizung darf nachts laufen, wenn das Fenster des Raums geschlossen ist.""",
        """Die Zähler wurden im Jahr 2015 mit dem OpenVPN und dem DHCP der Stadt geliefert. Mindestens 5
        Liter müssen im Winter immer im Tank der Anlage verbleiben. Das Archiv ist nicht für Besucher
        geöffnet, die ohne Einladung ins Haus kommen. Die Gäste dürfen in den Zimmern oben nicht
        rauchen und kochen. Die Prüfung der alten Pumpe dauert 2 Stunden im Frühjahr. Die Farbe im
        Keller braucht 3 Tage zum Trocknen im Winter. Es gibt vier Filter im Tank des alten Kessels.
        Die Pumpe im Tank hält am Mittag an und sie schickt dem Büro eine Meldung.""",
    ],
}
ROWS = {
    "en": "Model: Kestrel | Voltage: 400 V | Fuse: 16 A | Colour: grey | Cover: steel",
    "sv": "Modell: Tornfalk | Spänning: 400 V | Säkring: 16 A | Färg: grå | Hölje: stål",
    "de": "Modell: Turmfalke | Spannung: 400 V | Sicherung: 16 A | Farbe: grau | Deckel: Stahl",
}


def chunks_of(languages: tuple[str, ...] = ("en", "sv", "de")) -> pl.DataFrame:
    """Two documents of one chunk for each language."""
    rows: list[dict[str, Any]] = [
        chunk(
            f"{language}{place}",
            document_id=f"d-{language}{place}",
            language=language,
            text=f"{' '.join(text.split())}\n\n{ROWS[language]}",
        )
        for language in languages
        for place, text in enumerate(TEXTS[language])
    ]
    return CHUNKS.frame(rows)
