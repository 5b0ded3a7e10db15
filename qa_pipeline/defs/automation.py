"""When assets run by themselves: the condition they all share, and the sensor that acts on it.

What belongs here: reacting to changed content. What does not: noticing it (`corpus.py`), the job and the
nightly schedule (`jobs.py`).

Nothing here may buy a batch twice. `AutomationCondition.on_cron` requests every partition at every tick,
changed or not, and a condition that fires on failure starts the same failing run for ever; neither is used.
"""

from typing import Any

import dagster as dg


def when_content_changes() -> dg.AutomationCondition[Any]:
    """Request a batch that is new or whose inputs hold other data, once, and only behind passed gates.

    Three changes to Dagster's `eager`:

    - it reacts to a changed data version, not to any new materialization: making a table again with equal
      content asks nothing of the steps after it;
    - it waits for the blocking checks of all inputs, which `eager` ignores;
    - an input requested in the same tick needs no passed check yet, because it shares the run, and the run
      itself stops at a failed check. So a new batch is one run, not one for each gate.

    A content change reported in the same tick interval as, but after, a run of the same batch is taken for
    handled (Dagster loses the order of the two); the nightly schedule finds it.
    """
    condition = dg.AutomationCondition
    changed = condition.data_version_changed() & ~condition.executed_with_root_target()
    passed = condition.all_checks_match(condition.check_passed(), blocking_only=True)
    return (
        condition.eager().replace("newly_updated_without_root", changed.with_label("content_changed"))
        & condition.all_deps_match(passed | condition.will_be_requested()).with_label("gates_passed")
    ).with_label("when_content_changes")


automation_sensor = dg.AutomationConditionSensorDefinition(
    "automation_sensor",
    target=dg.AssetSelection.all(),
    description="Starts a run for each new or changed batch. Off until turned on: runs may cost money.",
    default_status=dg.DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    emit_backfills=False,  # a run a batch, so that a bad batch fails alone and is seen alone
)
