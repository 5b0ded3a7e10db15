"""Families of metrics; each registers its own, in the order of reports."""

# isort: off
from qa_pipeline.evaluation.metrics import grounding as grounding
from qa_pipeline.evaluation.metrics import citations as citations
from qa_pipeline.evaluation.metrics import retrieval as retrieval
from qa_pipeline.evaluation.metrics import answers as answers
from qa_pipeline.evaluation.metrics import evidence as evidence
