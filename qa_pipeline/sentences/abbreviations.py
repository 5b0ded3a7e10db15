"""What the sentence splitter knows about each language: abbreviations, months, words that open sentences.

What belongs here: data. What does not: the rules that read it (`boundaries.py`). Abbreviations are written
lower case, without inner spaces and without the final stop, so that "z. B.", "z.B." and "Z.B." are one entry.
"""

from collections.abc import Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conventions:
    """The written conventions of one language.

    `never_final` never ends a sentence. `often_final` ends one when the next word opens a sentence.
    `closing` ends a list and so ends a sentence before any capital. `before_number` belongs to the number,
    letter or § sign after it, and is an ordinary word before anything else. `openers` are words that open
    sentences and are no names. `ordinal_leads` are words after which "3." is an ordinal.
    """

    never_final: Set[str]
    often_final: Set[str]
    closing: Set[str]
    before_number: Set[str]
    openers: Set[str]
    months: Set[str]
    ordinal_leads: Set[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = Conventions(
    never_final=_words(
        """dr mr mrs ms prof rev hon capt col gen lt sgt sen rep gov pres mx messrs st mt ft e.g eg i.e ie
        viz vs cf ca approx resp esp incl excl a.k.a n.b"""
    ),
    often_final=_words(
        "al inc ltd co corp jr sr bros dept univ assn ave blvd rd ph.d b.sc m.sc a.m p.m est max min"
    ),
    closing=_words("etc"),
    before_number=_words(
        """no nos nr fig figs eq eqs sec secs ch chap vol vols art arts p pp par para app tab ref refs ver v
        jan feb mar apr jun jul aug sep sept oct nov dec rel rev iss ed pt"""
    ),
    openers=_words(
        """the a an this that these those it he she they we you i in on at by for from with to as if when
        while although though because since after before until once however therefore thus also and but
        or so yet there here its his her their our your my all both each every any some no not only then
        now what why how where who which please note see use do does is are was were it's that's don't
        let"""
    ),
    months=_words("january february march april may june july august september october november december"),
)

SWEDISH = Conventions(
    never_final=_words(
        """t.ex bl.a d.v.s dvs s.k p.g.a pga fr.o.m f.d f.n fn f.ö m.a.o v.g ang avs bl ca c:a dr e.kr f.kr
        egentl ev exkl fr förf hr i.s.f inkl jfr jmf med.dr nuv näml ordf prof resp sk t.v t.h t.om t.o.m
        urspr utg v.v äv övers s:t s:ta kungl dåv enl forts föreg"""
    ),
    often_final=_words("a.a a.st d.y d.ä e.d e.dyl o.d o.dyl o.l e.l jr sr f ff m.fl tr a.m p.m u.a mom"),
    closing=_words("m.m mm osv o.s.v etc m.m.m"),
    before_number=_words(
        """kap nr s sid st p punkt art prop bet rskr dir ds fig tab bil avd avsn vol kl tel kv mom t v uppl
        ref ver jan feb mar apr jun jul aug sep sept okt nov dec"""
    ),
    openers=_words(
        """det den de detta denna dessa han hon vi ni jag du man en ett i på av för från med till om när då
        där här som att men och eller så dock också även efter före innan under över enligt vid hos
        mellan genom utan inom mot trots därför eftersom medan sedan vad vem vilka vilken vilket hur
        varför ingen inget inga alla varje någon något några sådan sådant sådana samma lagen förordningen
        vidare dessutom bestämmelser har är kan ska skall får bör"""
    ),
    months=_words("januari februari mars april maj juni juli augusti september oktober november december"),
    ordinal_leads=_words("den till från"),
)

GERMAN = Conventions(
    never_final=_words(
        """z.b zb d.h dh i.d.r idr u.a ua u.u uu u.ä z.t zt z.zt bzw vgl ggf ggfs evtl ca dr prof hr fr frl
        st sog inkl exkl einschl bspw insb insbes i.a i.allg m.e m.w n.chr v.chr s.o s.u o.g og geb gest
        mind max min jew resp ehem allg entspr vs dipl ing dipl.-ing hrsg verf zit zzgl abzgl abk d.i i.e
        e.g i.v.m ivm i.s.d i.d.f eigtl gem lt mr mrs phil rer urspr"""
    ),
    often_final=_words("o.ä u.ä.m f ff jr co inc ltd corp al a.d a.m v.m n.m h.c"),
    closing=_words("usw etc u.a.m u.v.m uvm usf o.dgl dgl u.dgl"),
    before_number=_words(
        """nr nrn abs art artt ziff buchst s seite kap abb tab abschn bd bde aufl rn rz rdnr anm anl anh p
        lit satz tel vers v jan feb mär mrz apr jun jul aug sep sept okt nov dez unterabs"""
    ),
    openers=_words(
        """der die das den dem des ein eine einen einem einer es er sie wir ihr ich man dies diese dieser
        dieses diesem jeder jede jedes alle beide kein keine in im an am auf aus bei beim bis durch für
        gegen mit nach ohne seit um unter über von vom vor während wegen zu zum zur zwischen wenn falls
        weil da dass damit obwohl als ob wie was wer wo wann warum welche welcher welches hier dort dann
        danach daher deshalb dabei dadurch dazu jedoch aber und oder denn doch auch nur nun so somit
        sonst außerdem zudem beachten ist sind hat haben wird werden kann können soll sollte sollten muss
        müssen sein ihre ihr seine unser unsere"""
    ),
    months=_words(
        "januar jänner februar märz april mai juni juli august september oktober november dezember"
    ),
    ordinal_leads=_words(
        """der die das den dem des am im zum zur vom beim bis ab seit und jeder jede jedes ihr ihre ihren
        seine seinen sein im ein eine einen einem einer"""
    ),
)

CONVENTIONS = {"en": ENGLISH, "sv": SWEDISH, "de": GERMAN}
