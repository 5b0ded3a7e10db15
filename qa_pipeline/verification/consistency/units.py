"""Units of measure: what dimension a written unit belongs to, and its size in that dimension."""

import re
from typing import NamedTuple

from qa_pipeline.text.lexicon.languages import LEXICONS


class Unit(NamedTuple):
    """A dimension, how many of its base unit this unit is, and where its zero lies on that scale."""

    dimension: str
    factor: float
    offset: float = 0.0

    def base(self, value: float) -> float:
        """Return an amount of this unit in the base unit."""
        return value * self.factor + self.offset


def _table(rows: str) -> dict[str, Unit]:
    """Read lines such as `time 1=s 60=min,minute`."""
    table: dict[str, Unit] = {}
    for row in rows.strip().splitlines():
        dimension, *units = row.split()
        for factor, names in (unit.split("=") for unit in units):
            table.update(dict.fromkeys(names.split(","), Unit(dimension, float(factor))))
    return table


# Symbols whose case tells them apart: MB is not mb, and m (metre) is no M (million).
_SYMBOLS = _table(
    """
    percent 1=%,v.H.
    permille 1=‰
    time 1e-3=ms 1e-6=µs,μs 1=s 3600=h
    length 1e-3=mm 1e-2=cm 1=m 1e3=km
    mass 1e-6=mg 1e-3=g 1=kg 1e3=t
    bytes 1=B 1e3=kB,KB 1e6=MB 1e9=GB 1e12=TB 1024=KiB 1048576=MiB 1073741824=GiB
    volume 1e-3=ml 1e-2=cl 1e-1=dl 1=l,L 1e3=m³,m3
    area 1=m²,m2 1e4=ha 1e6=km²,km2
    pressure 1=Pa 1e2=hPa,mbar 1e3=kPa 1e5=bar 1e6=MPa 6894.757=psi
    current 1e-3=mA 1=A
    resistance 1=Ω
    energy 1=J 1e3=kJ 3.6e6=kWh 3.6e9=MWh
    force 1=N
    torque 1=Nm
    speed 1=km/h
    rotation 1=rpm
    sound 1=dB
    power 1=W 1e3=kW 1e6=MW
    voltage 1=V
    frequency 1=Hz 1e3=kHz 1e6=MHz 1e9=GHz
    usd 1=$,USD
    eur 1=€,EUR
    gbp 1=£,GBP
    sek 1=SEK
    pixels 1=px
    """
)

_UNIT_NAMES = _table(
    """
    percent 1=percent
    time 1e-3=millisecond 1=second 60=minute 3600=hour 86400=day 604800=week
    months 1=month 12=year
    length 1e-3=millimetre 1e-2=centimetre 1=metre 1e3=kilometre 1609.344=mile 0.3048=foot 0.0254=inch
    mass 1e-6=milligram 1e-3=gram 1=kilogram 1e3=ton
    bytes 1=byte 1e3=kilobyte 1e6=megabyte 1e9=gigabyte 1e12=terabyte
    bits 1=bit
    volume 1e-3=millilitre 1e-2=centilitre 1e-1=decilitre 1=litre
    sound 1=decibel
    area 1e4=hectare
    power 1e3=kilowatt 1e6=megawatt 1=watt
    degrees 1=degree
    usd 1=dollar
    eur 1=euro 1e-2=cent
    gbp 1=pound
    current 1=ampere
    voltage 1=volt
    sek 1=krona 1e-2=öre
    pixels 1=pixel
    """
)
_WORDS = _UNIT_NAMES | {
    word: _UNIT_NAMES[name]
    for language in LEXICONS.values()
    for name, words in language.units.items()
    for word in words
}

_SHORT = 2
"""Letters of a symbol whose capitals mean something: MW is not mW."""
_CELSIUS = Unit("temperature", 1.0)
_DEGREES = "|".join(word for word, unit in _WORDS.items() if unit.dimension == "degrees")
_FAHRENHEIT = Unit("temperature", 5 / 9, -160 / 9)
_TEMPERATURE = re.compile(
    rf"[ \u00a0\u2009\u202f]?(?:°\s?|(?:{_DEGREES})\s)?(?:(C(?:elsius)?)|(F(?:ahrenheit)?))(?!\w)",
    re.IGNORECASE,
)
_AFTER = re.compile(r"[ \u00a0\u2009\u202f-]?(%|v\. ?H\.|‰|°[CF]|[€$£]|km/h|[^\W\d_]+[²³23]?(?![\w²³]))")
_BEFORE = re.compile(r"([€$£]|\b(?:USD|EUR|GBP|SEK))[ \u00a0]?$")


def unit_after(text: str, position: int) -> tuple[Unit, int] | None:
    """Return the unit written at `position` and where it ends."""
    warm = _TEMPERATURE.match(text, position)
    if warm and len(warm[0].strip()) > 1:
        return (_CELSIUS if warm[1] else _FAHRENHEIT), warm.end()
    match = _AFTER.match(text, position)
    if not match:
        return None
    written = match[1]
    unit = _SYMBOLS.get(written.replace(" ", "")) or _WORDS.get(written.casefold())
    if unit is None and written.isupper() and len(written) > _SHORT:
        unit = _SYMBOLS.get(written.casefold())  # a text in capitals: no short symbol, MW is not mW
    return (unit, match.end()) if unit else None


def unit_before(text: str, position: int) -> Unit | None:
    """Return the currency written directly before `position`."""
    match = _BEFORE.search(text, max(0, position - 5), position)
    return _SYMBOLS.get(match[1]) if match else None
