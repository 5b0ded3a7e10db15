"""Read untrusted YAML, with limits on nesting, aliases and the length of numbers."""

from collections.abc import Hashable
from typing import Any

import yaml
from yaml import SafeLoader

MOST_LEVELS = 50
"""Most nested levels. PyYAML's compiled reader recurses without a limit: 40,000 open brackets ended the
process."""
MOST_ALIASES = 16
"""Most aliases, since they multiply: 9 levels of 9 merged aliases give 387 million entries, and 16 aliases a
factor of 350."""
LONGEST_NUMBER = 400
"""Most characters of a number; Python refuses to print integers above 4,300 digits."""


class PlainLoader(SafeLoader):
    """A YAML loader for plain values that refuses repeated names."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping, or raise an error for a repeated name."""
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    raise _problem(f"{key.value[:100]!r} appears twice", key.start_mark)
                names.add(key.value)
        return super().construct_mapping(node, deep)


def _construct_number(loader: SafeLoader, node: yaml.ScalarNode) -> Any:
    if len(node.value) > LONGEST_NUMBER:
        raise _problem(f"a number of {len(node.value)} characters", node.start_mark)
    is_int = node.tag.endswith(":int")
    return loader.construct_yaml_int(node) if is_int else loader.construct_yaml_float(node)


for _kind in ("int", "float"):
    PlainLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _construct_number)


def read_yaml(text: str, loader: Any = PlainLoader) -> Any:
    """Return the value of a YAML text.

    Args:
        text: the text; callers limit its length.
        loader: PyYAML's loader class; with `BaseLoader` all values are strings, lists and mappings.

    Raises:
        yaml.YAMLError: the text is not YAML or exceeds a limit; a `MarkedYAMLError` names the line.
    """
    levels = aliases = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            levels += isinstance(event, yaml.CollectionStartEvent)
            levels -= isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            if levels > MOST_LEVELS:
                raise _problem(f"nested deeper than {MOST_LEVELS} levels", event.start_mark)
            if aliases > MOST_ALIASES:
                raise _problem(f"more than {MOST_ALIASES} aliases", event.start_mark)
        return yaml.load(text, Loader=loader)  # noqa: S506 - safe loaders only
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # raised by PyYAML for values such as `!!int ""`, `!!bool x` and the date 2024-13-45
        raise yaml.YAMLError(f"a value does not fit its type: {error}") from error


def _problem(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)
