"""Bombs written as text: Markdown, HTML, reStructuredText, tables, lines of JSON, e-mail."""

import json
from collections.abc import Callable
from functools import partial

from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import HTML

Build = Callable[[], bytes]

LONG = 50_000_000
"""As long as a file may be by default."""
_PIECES = (
    "x",
    "word ",
    "a, b; c. ",
    "\n",
    " ",
    "å",
    "a\n\n",
    "1.5,",
    "<b>",
    "&amp;",
    "|",
    "*a_",
    "\u0301",
    "\t",
)


def of_any_text() -> dict[str, Build]:
    """What is hard on a parser of any text: long lines, repetition, openings without an end."""
    long = {"one-line-50mb": lambda: b"x" * LONG, "words-50mb": lambda: b"pump valve " * (LONG // 11)}
    repeated = {f"repeated-{number}": partial(_repeated, piece) for number, piece in enumerate(_PIECES)}
    return {**long, **repeated, **{f"nested-{name}": build for name, build in _nested().items()}}


def _repeated(piece: str) -> bytes:
    return (piece * 300_000).encode()


def _nested() -> dict[str, Build]:
    """Openings without an end, for every text format that may take one for markup."""
    return {
        "quotes": lambda: b">" * 100_000 + b"x",
        "quotes-spaced": lambda: b"> " * 3_000 + b"x",
        "lists": lambda: b"\n".join(b" " * (2 * depth) + b"- x" for depth in range(3_000)),
        "brackets": lambda: b"[" * 200_000,
        "links": lambda: b"[a](" * 50_000,
        "images": lambda: b"![" * 50_000 + b"](a)" * 50_000,
        "stars": lambda: b"*a **b " * 30_000,
        "underscores": lambda: b"_" * 200_000 + b"a" + b"_" * 200_000,
        "ticks": lambda: b" ".join(b"`" * count for count in range(1, 1_500)),
        "divs": lambda: b"<div>" * 200_000,
        "spans": lambda: b"<b><i>" * 30_000,
        "tables": lambda: b"<table><tr><td>" * 5_000,
        "comments": lambda: b"<!--" * 100_000,
        "cdata": lambda: b"<![CDATA[" * 100_000,
        "declarations": lambda: b"<!DOCTYPE " * 100_000,
        "entities": lambda: b"&" * 500_000,
        "parentheses": lambda: b"(" * 500_000,
        "braces": lambda: b"{" * 500_000,
    }


def markdown() -> dict[str, Build]:
    """Markdown."""
    return {
        "table-100000-rows": lambda: b"|a|b|c|\n|-|-|-|\n" + b"|1|2|3|\n" * 100_000,
        "table-10000-columns": lambda: (
            b"|a" * 10_000 + b"|\n" + b"|-" * 10_000 + b"|\n" + b"|1" * 10_000 + b"|\n"
        ),
        "headings": lambda: b"# a\n\n" * 200_000,
        "heading-paths": _deep_paths,
        "references": lambda: b"".join(b"[a%d]: /x\n" % n for n in range(50_000)) + b"[a1]" * 50_000,
        "front-matter-deep": lambda: b"---\na: " + b"[" * 50_000 + b"\n---\ntext\n",
        "front-matter-aliases": lambda: b"---\n" + _yaml_laughs() + b"---\ntext\n",
        "front-matter-long": lambda: b"---\ntitle: " + b"x" * 10_000_000 + b"\n---\ntext\n",
        "fences": lambda: b"```\n" * 100_001,
        "code-line": lambda: b"```\n" + b"x" * 8_000_000 + b"\n```\n",
        "backslashes": lambda: b"\\" * 1_000_000,
        "html-blocks": lambda: b"<div>\n\n" * 20_000,
        "emphasis-pairs": lambda: b"**a*" * 50_000,
        "autolinks": lambda: b"<http://a" * 50_000,
    }


def _deep_paths() -> bytes:
    """Six long headings, and below them many short ones that each repeat the path."""
    above = b"".join(b"#" * level + b" " + b"%d" % level * 290 + b"\n\n" for level in range(1, 6))
    return above + b"###### a\n\nb\n\n" * 100_000


def _yaml_laughs() -> bytes:
    lines = [b"a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [b"a%d: &a%d [" % (n, n) + b",".join([b"*a%d" % (n - 1)] * 9) + b"]" for n in range(1, 12)]
    return b"\n".join([*lines, b"title: *a11", b""])


def html() -> dict[str, Build]:
    """HTML."""
    page = HTML.encode()
    return {
        "attribute-20mb": lambda: b'<p title="' + b"x" * 20_000_000 + b'">text</p>',
        "attributes-1000000": lambda: (
            b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">text</p>"
        ),
        "table-100000-rows": lambda: b"<table>" + b"<tr><td>1<td>2<td>3" * 100_000,
        "table-spans": lambda: b"<table>" + b"<tr><td rowspan=65534 colspan=1000>a" * 3_000,
        "table-one-row": lambda: b"<table><tr>" + b"<td>x" * 300_000,
        "paragraphs": lambda: b"<p>a" * 1_000_000,
        "formatting": lambda: b"<p><b><i><u><s>" * 20_000 + b"text",
        "formatting-misnested": lambda: b"<b><p><i></b></p>" * 20_000,
        "select": lambda: b"<select>" + b"<option>x" * 500_000,
        "svg": lambda: b"<svg>" * 4_000 + b"text",
        "template": lambda: b"<template>" * 4_000 + b"text",
        "unclosed-script": lambda: b"<p>text<script>" + b"x" * 10_000_000,
        "unclosed-title": lambda: b"<title>" + b"x" * 10_000_000,
        "entities": lambda: b"<p>" + b"&amp;&#x41;&nbsp;" * 500_000,
        "laughs": lambda: entity_laughs() + page,
        "declared-utf7": lambda: page.replace(b"utf-8", b"utf-7"),
        "ids": lambda: b"".join(b"<p id=%d>x</p>" % n for n in range(200_000)),
        "links": lambda: b"<a href=#>x</a> " * 300_000,
        "lists": lambda: b"<ul><li>x" * 4_000,
        "definitions": lambda: b"<dl><dt>x<dd>y" * 4_000,
        "pre-long": lambda: b"<pre>" + b"x" * 9_000_000 + b"</pre>",
        "forms": lambda: b"<form><input value=x><textarea>y</textarea></form>" * 50_000,
    }


def entity_laughs() -> bytes:
    """Entities that grow tenfold each: the billion laughs."""
    lines = [b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY a0 'laugh'>"]
    lines += [b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12)]
    return b"\n".join([*lines, b"]>"])


def rst() -> dict[str, Build]:
    """reStructuredText, also such as reaches for other files."""
    grid = b"+---+---+\n| a | b |\n"
    return {
        "include": lambda: b".. include:: /etc/passwd\n\n.. literalinclude:: /etc/passwd\n\ntext\n",
        "raw": lambda: (
            b".. raw:: html\n   :file: /etc/passwd\n\n.. raw:: html\n   :url: http://127.0.0.1/\n\ntext\n"
        ),
        "csv-file": lambda: b".. csv-table::\n   :file: /etc/passwd\n\ntext\n",
        "substitutions": _rst_laughs,
        "substitution-loop": lambda: b".. |a| replace:: |b|\n.. |b| replace:: |a|\n\n|a|\n",
        "sections": lambda: b"".join(b"T%05d\n======\n\nx\n\n" % n for n in range(10_000)),
        "section-levels": lambda: (
            b"".join(
                b"T\n" + mark * 5 + b"\n\n"
                for mark in (b"=", b"-", b"~", b"^", b"'", b'"', b"`", b"#", b"*", b"+", b":", b".", b"_")
            )
            + b"x\n"
        ),
        "grid-rows": lambda: grid * 20_000 + b"+---+---+\n",
        "grid-columns": lambda: (
            b"+---" * 2_000 + b"+\n" + b"| a " * 2_000 + b"|\n" + b"+---" * 2_000 + b"+\n"
        ),
        "simple-rows": lambda: b"=== ===\n" + b"a   b\n" * 100_000 + b"=== ===\n",
        "list-tables": lambda: b".. list-table::\n\n" + b"   * - a\n     - b\n" * 20_000,
        "nested-directives": lambda: b"".join(b"   " * n + b".. note::\n\n" for n in range(1_000)),
        "nested-lists": lambda: b"".join(b"  " * n + b"- x\n\n" for n in range(1_000)),
        "quotes": lambda: b"".join(b" " * n + b"x\n\n" for n in range(2_000)),
        "footnotes": lambda: b"".join(b"[#]_ " for _ in range(5_000)) + b"\n\n" + b".. [#] x\n" * 5_000,
        "targets": lambda: b"".join(b".. _t%d: t%d_\n" % (n, n + 1) for n in range(5_000)) + b"\nt0_\n",
        "stars": lambda: b"*" * 300_000,
        "ticks": lambda: b"`a " * 50_000,
        "roles": lambda: b":a:`" * 20_000,
        "fields": lambda: b":a: b\n" * 100_000,
        "errors": lambda: b".. nothing::\n\n" * 20_000,
        "math": lambda: b".. math::\n\n   " + b"{" * 20_000 + b"\n",
        "line-block": lambda: b"".join(b"| " + b" " * n + b"x\n" for n in range(2_000)),
    }


def _rst_laughs() -> bytes:
    lines = [b".. |a0| replace:: laugh"]
    lines += [b".. |a%d| replace:: " % n + b"|a%d| " % (n - 1) * 10 for n in range(1, 10)]
    return b"\n".join([*lines, b"", b"|a9|", b""])


def tables() -> dict[str, Build]:
    """Rows of values between commas."""
    return {
        "rows-100000": lambda: b"a,b,c,d\n" + b"1,2,3,4\n" * 100_000,
        "rows-3000000": lambda: b"a,b\n" + b"1,2\n" * 3_000_000,
        "columns-1000000": lambda: b"a," * 1_000_000 + b"\n" + b"1," * 1_000_000 + b"\n",
        "wide-header": lambda: b"h" * 100_000 + b",b\n" + b"1,2\n" * 10_000,
        "quote-open": lambda: b'a,b\n"' + b"x,\n" * 5_000_000,
        "quotes": lambda: b'"' * 5_000_001,
        "cell-20mb": lambda: b"a,b\n1," + b"x" * 20_000_000 + b"\n",
        "zeros": lambda: b"a,b\n1,\0\n" * 1_000,
        "returns": lambda: b"a,b\r" * 500_000,
        "formulas": lambda: b"a,b\n=cmd|'/c calc'!A0,2\n" * 1_000,
    }


def json_lines() -> dict[str, Build]:
    """Lines of JSON."""
    return {
        "deep-lists": lambda: b'{"text": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}\n",
        "deep-objects": lambda: b'{"a":' * 500_000 + b"1" + b"}" * 500_000 + b"\n",
        "digits": lambda: b'{"text": "x", "n": ' + b"1" * 3_000_000 + b"}\n",
        "lines-1000000": lambda: b'{"text": "a"}\n' * 1_000_000,
        "line-40mb": lambda: json.dumps({"text": "x " * 20_000_000}).encode(),
        "keys": lambda: json.dumps({f"k{n}": "v" for n in range(500_000)}).encode(),
        "surrogates": lambda: b'{"text": "\\ud800 a \\udc00"}\n' * 1_000,
        "numbers": lambda: b'{"text": NaN}\n{"text": 1e999}\n[]\n"a"\n1\nnull\n' * 1_000,
        "same-keys": lambda: b"{" + b'"text": "a", ' * 300_000 + b'"text": "b"}\n',
    }


def mails() -> dict[str, Build]:
    """E-mail."""
    head = b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\n"
    return {
        "multiparts": lambda: head + _multiparts(3_000),
        "multiparts-30": lambda: head + _multiparts(30),
        "messages": lambda: (head + b"Content-Type: message/rfc822\n\n") * 3_000 + b"text",
        "headers-100000": lambda: head + b"".join(b"X-%d: y\n" % n for n in range(100_000)) + b"\ntext",
        "header-10mb": lambda: head + b"X-A: " + b"y" * 10_000_000 + b"\n\ntext",
        "subject-encoded": lambda: b"Subject: " + b"=?utf-8?b?w6U=?= " * 50_000 + b"\n\ntext",
        "subject-broken": lambda: b"Subject: =?utf-8?b?" + b"(" * 100_000 + b"?=\n\ntext",
        "address": lambda: b"From: " + b"(" * 50_000 + b"\nTo: " + b"<a@b>, " * 50_000 + b"\n\ntext",
        "base64-40mb": lambda: head + b"Content-Transfer-Encoding: base64\n\n" + b"YWFh" * 10_000_000,
        "quoted-printable": lambda: (
            head + b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=\n" * 2_000_000
        ),
        "boundaries": lambda: (
            head + b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\na\n" * 50_000
        ),
        "boundary-empty": lambda: head + b'Content-Type: multipart/mixed; boundary=""\n\n' + b"--\n" * 10_000,
        "parameters": lambda: head + b"Content-Type: text/plain" + b"; a*0*=x" * 50_000 + b"\n\ntext",
        "charset": lambda: head + b"Content-Type: text/plain; charset=zip\n\ntext",
        "dates": lambda: b"Date: " + b"1" * 100_000 + b"\nSubject: x\n\ntext",
        "quotes": lambda: head + b"\n" + b">" * 200_000 + b" text\n" + b"> a\n" * 100_000,
        "html-deep": lambda: head + b"Content-Type: text/html\n\n" + b"<div>" * 100_000,
    }


def _multiparts(depth: int) -> bytes:
    parts = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    return b"".join(parts) + b"\ntext\n"
