"""The one partitions definition: a document batch is a folder or archive of the corpus.

What belongs here: the definition. What does not: finding batches (`corpus.py`).

Partitions are dynamic, because folders come at any time. They are only ever added: deleting a key would
orphan the runs in flight for it and hide the tables it already has.
"""

import dagster as dg

PARTITIONS_NAME = "document_batches"

document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)
