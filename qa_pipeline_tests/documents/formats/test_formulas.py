import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import Omissions, assemble
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, STRUCK, settle
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.text.words import clean
from qa_pipeline_tests.documents.builders import SETTINGS, doubted, source
from qa_pipeline_tests.documents.formats.office.builders import left_out, read_docx, run

SIGNS = {"{^": RAISED, "{_": LOWERED, "{~": STRUCK, "}": LEVEL}


def marked(text: str) -> str:
    """A text in which {^…} is raised, {_…} lowered and {~…} struck out."""
    for written, sign in SIGNS.items():
        text = text.replace(written, sign)
    return text


@given(st.text("ab1 .({^_~}[*" + "".join(SIGNS.values()), max_size=60))
def test_no_sign_of_a_place_is_ever_left(text: str) -> None:
    assert not set(SIGNS.values()) & set(clean(settle(text)))


@pytest.mark.parametrize(
    ("raised", "written"),
    [
        ("10{^6} litres and 10{^-3} m", "10^6 litres and 10^-3 m"),
        ("(a+b){^2} is x{^n+1}", "(a+b)^2 is x^(n+1)"),
        ("SO{_4}{^2−} and Ca{^2+}", "SO4^2− and Ca^2+"),
        ("Carbon {^14}C decays", "Carbon ^14C decays"),
        ("1010{_2}, log{_10} 100, x{_1}y", "1010_2, log_10 100, x_1 y"),
        ("x{^a{_1}}", "x^(a_1)"),
        ("the 1{^st} of May and the n{^th} term", "the 1st of May and the nth term"),
    ],
)
def test_raised_and_lowered_text_keeps_its_meaning(raised: str, written: str) -> None:
    assert settle(marked(raised)) == written


@pytest.mark.parametrize(
    ("raised", "written", "marks"),
    [
        ("The dose is 25 mg{^1} until 2030{^3}.", "The dose is 25 mg until 2030.", "13"),
        ("1,250{^a} people", "1,250 people", "a"),
        ("12 %{^1,2} by then{^[3]}", "12 % by then", "1,2[3]"),
        ("City: Lund{^1} | {^2}People: 5", "City: Lund | People: 5", "12"),
    ],
)
def test_marks_of_notes_never_touch_a_word_or_number(raised: str, written: str, marks: str) -> None:
    omissions = Omissions()
    assert settle(marked(raised), omissions) == written
    assert omissions.characters == {"footnote_mark": len(marks)}


SUM = "<mi>a</mi><mo>+</mo><mi>b</mi>"


@pytest.mark.parametrize(
    ("maths", "written"),
    [
        (f"<msup><mrow><mo>(</mo>{SUM}<mo>)</mo></mrow><mi>n</mi></msup>", "(a+b)^n"),
        ("<msup><mfrac><mi>a</mi><mi>b</mi></mfrac><mn>2</mn></msup>", "(a/b)^2"),
        ("<mfrac><mn>1</mn><mrow><mn>2</mn><mi>y</mi></mrow></mfrac><mi>x</mi>", "(1/(2y))x"),
        ("<mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi>", "1 1/2 m"),
        ("<msup><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></msup>", "(ab)^2"),
        ("<msub><mi>x</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mi>y</mi>", "x_ij y"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "x^(1/3)"),
        ("<msup><mi>e</mi><mrow><mo>-</mo><mi>k</mi><mi>t</mi></mrow></msup>", "e^(-kt)"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>i</mi>", "∑_i^n i"),
        ('<semantics><mi>x</mi><annotation encoding="TeX">x</annotation></semantics>', "x"),
        ('<mi>a</mi><mo>=</mo><mi>b</mi><mspace width="1em"/><mi>c</mi><mo>=</mo><mi>d</mi>', "a=b c=d"),
        ("<msup><mi>x</mi><mrow><mspace/><mi>n</mi></mrow></msup><mspace/>", "x^n"),
    ],
)
def test_formulas_of_pages_mean_the_same_on_one_line(maths: str, written: str) -> None:
    parsed = html.parse(source(f"<p>So <math>{maths}</math>.</p>"), SETTINGS)
    assert assemble(parsed.blocks).text == f"So {written}."


def signs(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("maths", "written"),
    [
        (f"<m:f><m:num>{signs('a')}</m:num><m:den>{signs('bc')}</m:den></m:f>", "a/(bc)"),
        (f"<m:rad><m:deg>{signs('3')}</m:deg><m:e>{signs('x')}</m:e></m:rad>", "x^(1/3)"),
        (f'<m:d><m:dPr><m:begChr m:val="["/></m:dPr><m:e>{signs("a")}</m:e></m:d>', "[a)"),
        (f'<m:d><m:dPr><m:endChr m:val=""/></m:dPr><m:e>{signs("a")}</m:e></m:d>', "(a"),
        (f'<m:d><m:dPr><m:begChr m:val=""/></m:dPr><m:e>{signs("a")}</m:e></m:d>', "a)"),
    ],
)
def test_formulas_of_office_files_mean_the_same_on_one_line(maths: str, written: str) -> None:
    parsed = read_docx(f"<w:p>{run('So ')}<m:oMath>{maths}</m:oMath></w:p>")
    assert assemble(parsed.blocks).text == f"So {written}"


@pytest.mark.parametrize(
    ("maths", "characters"),
    [
        ("<mmultiscripts><mi>X</mi><mi>a</mi><mi>b</mi></mmultiscripts>", 3),
        ('<mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac>', 2),
        ("<mrow>lost<mi>a</mi></mrow>", 5),
        ('<menclose notation="updiagonalstrike"><mi>a</mi></menclose>', 1),
        ("<mrow>" * 4_000 + "<mi>x</mi>" + "</mrow>" * 4_000, 1),
    ],
)
def test_formulas_that_no_line_can_hold_are_left_out_and_counted(maths: str, characters: int) -> None:
    parsed = html.parse(source(f"<p>So <math>{maths}</math> it is.</p>"), SETTINGS)
    assert assemble(parsed.blocks).text == "So it is."
    assert left_out(parsed) == {"formula": (1, characters)}
    assert doubted(parsed) == [("formula", "So it is.")]
