"""The same issuer and team as for members."""

from tests.features.members.conftest import issuer, team

__all__ = ["issuer", "team"]
