"""What judges that are models owe a manifest: questions without verdicts, by the last judgements and the ledger."""

from __future__ import annotations

from pathlib import Path

from lic_pipeline.lake.tables import read_partition
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE
from lic_pipeline.simulation.judge.pending_questions import JUDGED
from lic_pipeline.tables.runs import JUDGEMENTS
from lic_pipeline.verification.bookkeeping.manifests import manifest_partition
from lic_pipeline.verification.bookkeeping.status import Partition


def missing_verdicts(lake: Path, ledger: Ledger, partition: Partition) -> dict[str, str]:
    """State (unusable, error:<class>) by judgement id; what was answered since, for whichever manifest, is left out."""
    rows = read_partition(lake, JUDGEMENTS, manifest_partition(*partition)) or []
    missing = {row["judgement_id"]: row["state"] for row in rows if row["state"] != JUDGED}
    states = ledger.states(list(missing))
    return {key: state for key, state in missing.items() if states.get(key) != DONE}
