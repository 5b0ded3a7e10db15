import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats import markdown
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, source, unaccounted


def read(text: str) -> ParsedFile:
    return markdown.parse(source(text), SETTINGS)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('[the guide]({% link "guide/a b.md" %}) tells', "the guide tells"),
        ('[the guide]({{< ref "guide.md" >}}) tells', "the guide tells"),
        ("[the guide]({{ site.baseurl }}/guide) tells", "the guide tells"),
        ("{% hint style='info' %}\nMind the pump.\n{% endhint %}", "Mind the pump."),
        ("{{< note >}}\nMind the pump.\n{{< /note >}}", "Mind the pump."),
        ("{{% alert %}}Mind the pump.{{% /alert %}}", "Mind the pump."),
        ("The {{ product.name }} pump", "The pump"),
        ("The {{product.name | upcase}} pump", "The pump"),
        ("One {% comment %}two{% endcomment %} three", "One three"),
        ("One\n\n{%- comment -%}\ntwo\n{%- endcomment -%}\n\nthree", "One\n\nthree"),
        ("One {# two\nthree #} four", "One four"),
        ("One {{/* two */}} three", "One three"),
        ("Write {% raw %}{{ name }}{% endraw %} there", "Write {{ name }} there"),
        ("Text {%- include 'x.md' -%} more", "Text more"),
        ('`{% page "x" %}` and ``{{ x.y }}``', '{% page "x" %} and {{ x.y }}'),
        ("```\n{% comment %}\n{{ x.y }}\n```", "```\n{% comment %}\n{{ x.y }}\n```"),
        ("Text\n\n    {% if x %}\n\nMore {% if y %}", "Text\n\n```\n{% if x %}\n```\n\nMore"),
        ("- one\n\n    two {% if x %}", "- one\n\ntwo"),
        ("# Title {#id}\n\nA set {{1, 2}, {3}}", "# Title\n\nA set {{1, 2}, {3}}"),
        ("50 {% off", "50 {% off"),
        ("One {# two\n\nthree", "One {# two\n\nthree"),
    ],
)
def test_template_tags_go_and_the_words_of_blocks_stay(written: str, text: str) -> None:
    assert assemble(read(written).blocks).text == text


def test_tags_comments_and_includes_are_counted() -> None:
    parsed = read(
        '{% hint %}A{% endhint %} {% comment %}secret{% endcomment %} {% include "x" %} {% page "Y" %}'
    )
    assert {part.what: part.pieces for part in parsed.left_out} == {
        "template_tag": 3,
        "template_comment": 1,
        "include": 1,
    }


@given(
    st.lists(
        st.sampled_from(
            ["{%", "%}", "{{", "}}", "{#", "#}", "{{<", ">}}", " comment ", " endcomment ", "raw", "endraw",
             " AB ", "\n", "`", "```\n", "    ", "- ", "page \"CD\"",
             "/*", "*/", "{::comment}", "{:/comment}"]
        ),
        max_size=30,
    ).map("".join)
)  # fmt: skip
def test_every_letter_is_in_the_text_or_counted(text: str) -> None:
    assert unaccounted(text, read(text)) <= 0


@pytest.mark.parametrize(
    "piece", ["{%", "{{ ", "{% raw %}", "{% comment %}", "{#", "`{% x %}", "{{< a ", "{% a '", "{% page "]
)
def test_a_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    read(piece * (60_000 // len(piece)))
