"""Tests of sets of manifests: cases and their verdicts, `runtime test`, the plugin of pytest, and tests in Python.

    from runtime.testing import run_manifest, scripted_model, scripted_server

Recording and replaying are in `runtime.cassette`. Names are imported when they are first used, so that a kind that
knows of the contract pays for nothing else.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.testing.manifests import ManifestRun, run_manifest, scripted_model, scripted_server

__all__ = ["ManifestRun", "run_manifest", "scripted_model", "scripted_server"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f'module "runtime.testing" has no attribute "{name}"')
    return getattr(__import__("runtime.testing.manifests", fromlist=[name]), name)
