"""Word lists of all languages at once: courtesies, and words that stand for something mentioned before."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from qa_pipeline.text.lexicon.base import phrases, words


@dataclass(frozen=True, slots=True)
class Courtesies:
    """`speakers` are words for writer and reader; `polite` are words that, beside them, state nothing.

    A sentence whose content words are all polite, and that names writer or reader, is no claim. `hedges` are
    whole sentences that commit to nothing; one that says more, like "It may be that the valve opens", is a
    claim of what it says.
    """

    speakers: Set[str]
    polite: Set[str]
    hedges: Set[str]


def phrase_set(text: str) -> Set[str]:
    """Split a list of sentences at its commas."""
    return frozenset(phrases(text))


COURTESIES: Mapping[str, Courtesies] = {
    "en": Courtesies(
        words("i i'm i'd i'll we me us you your please feel"),
        words(
            """hope hopes help helps helped helpful know let note further question questions ask asking feel
            free need information assistance assist glad happy clarify clarifies clarification sure certain
            unsure aware remember follow following understand think believe tell answer anything something
            like more please thank thanks sorry hesitate contact reach best knowledge"""
        ),
        phrase_set("it depends, that depends, maybe, perhaps, possibly, hard to say, it is hard to say"),
    ),
    "sv": Courtesies(
        words("jag vi mig oss du dig ni er gärna vänligen tveka"),
        words(
            """hoppas hjälper hjälpa hjälp vet veta säg säga fråga frågor frågan ytterligare fler gärna svara
            svar svaret säker säkert tror förstår behöver mer information tveka kontakta hör höra notera
            observera vänligen tack tyvärr någonting något känn fri berätta"""
        ),
        phrase_set("det beror på, kanske, möjligen, eventuellt, svårt att säga, det är svårt att säga"),
    ),
    "de": Courtesies(
        words("ich wir mir mich uns sie ihnen ihr dir dich bitte gerne"),
        words(
            """hoffe hoffen hilft helfen hilfe weiß wissen frage fragen weitere weiteren gerne gern beachten
            antwort antworten sicher glaube verstehe brauchen benötigen mehr informationen zögern kontaktieren
            melden bitte danke leider etwas stehe stehen verfügung lassen lass"""
        ),
        phrase_set(
            """das kommt darauf an, es kommt darauf an, vielleicht, möglicherweise, schwer zu sagen, das ist
            schwer zu sagen"""
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Pronouns:
    """`leaning` are first words of a sentence that may lean on what was said; some are articles as well.

    `singular` and `plural` are the pronouns that stand for a thing as a subject ("this" alone mostly stands
    for what a whole sentence says); `articles` may begin a subject; `verbs` are finite verbs that end it;
    `impersonal` come after a pronoun that stands for nothing ("it is important that").
    """

    leaning: Set[str]
    singular: Set[str]
    plural: Set[str]
    articles: Set[str]
    verbs: Set[str]
    impersonal: Set[str]


PRONOUNS: Mapping[str, Pronouns] = {
    "en": Pronouns(
        leaning=words("it they this these those it's he she its their his her"),
        singular=words("it he she"),
        plural=words("they"),
        articles=words("the a an this that these those its their our your"),
        verbs=words(
            """is are was were has have had can could may might will would shall should must does do did
            isn't aren't wasn't weren't hasn't haven't can't cannot won't doesn't don't didn't"""
        ),
        impersonal=words("that to for if whether when how why possible important likely"),
    ),
    "sv": Pronouns(
        leaning=words("den det de denna detta dessa han hon hen dess deras hans hennes"),
        singular=words("den det denna"),
        plural=words("de dessa"),
        articles=words("den det de denna detta dessa en ett vår vårt våra"),
        verbs=words(
            """är var har hade kan kunde ska skall skulle får fick måste bör vill blir blev kommer gäller
            består ingår finns heter"""
        ),
        impersonal=words("att om när hur varför möjligt viktigt finns som krävs"),
    ),
    "de": Pronouns(
        leaning=words("er sie es dies diese dieser dieses"),
        singular=words("er sie es dieser"),
        plural=words("sie"),
        articles=words("der die das den dem ein eine einen dieser diese dieses unser unsere"),
        verbs=words(
            """ist sind war waren hat haben hatte hatten kann können konnte darf dürfen muss müssen soll
            sollen wird werden wurde wurden gilt gelten gibt besteht bestehen"""
        ),
        impersonal=words("dass daß zu ob wenn wie warum möglich wichtig gibt"),
    ),
}
