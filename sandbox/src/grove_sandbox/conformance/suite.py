"""The tests that every backend must pass, without a cluster.

They do not demand features: a scheduler without queues, or without objects, passes too. They demand that nothing is
lost silently. A gang's minimum, priority, queue and topology must reach the scheduler, through objects or pods, or the
backend must report that they do not: by a Refusal, a shortfall or a Problem.

A method that keeps the default of `Backend` is tested like any other, except where the default leaves nothing to check.
"""

from grove_sandbox.conformance.identity import IdentityTests
from grove_sandbox.conformance.optional import OptionalMethodTests
from grove_sandbox.conformance.pods import PodTests
from grove_sandbox.conformance.translation import TranslationTests
from grove_sandbox.conformance.user_intent import UserIntentTests


class BackendConformance(IdentityTests, TranslationTests, PodTests, UserIntentTests, OptionalMethodTests):
    """Subclass it as `class TestMine(BackendConformance)` and set the class attributes of `ConformanceSetup`."""
