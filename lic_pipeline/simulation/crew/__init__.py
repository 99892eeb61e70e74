"""A crew: further processes that work through the same plan, where one cannot make calls fast enough.

They share nothing but the ledger and the lake, as two ``lic run`` on one plan do; ``order`` is what each is told,
``member`` what it does, ``crew`` how the first process starts, hears and ends them.
"""

from lic_pipeline.simulation.crew.crew import Crew as Crew
