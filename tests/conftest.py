"""Fixtures for all tests: the folder of specifications, and the people that rights are about."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User

from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder (CLINBOARD_SHARED, else ../shared); a test that asks for it is skipped where there is none."""
    folder = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
    need("shared", folder.is_dir(), f"{folder} is not here")
    return folder


@dataclass(frozen=True)
class People:
    """`member` is in the data-access group of every benchmark, `mate` in `team`; both own nothing, nor does `stranger`."""

    anonymous: AnonymousUser
    member: User
    owner: User
    mate: User
    stranger: User
    staff: User
    team: Group

    def __getitem__(self, name: str) -> User | AnonymousUser:
        return getattr(self, name)


ROLES = tuple(field.name for field in fields(People) if field.name != "team")


@pytest.fixture
def people(db: None) -> People:
    from evaluation.models import Benchmark

    readers, team = Group.objects.create(name="readers"), Group.objects.create(name="team")
    Benchmark.objects.update(data_group=readers)
    named = {name: User.objects.create_user(name, is_staff=name == "staff") for name in ROLES if name != "anonymous"}
    named["member"].groups.add(readers)
    named["mate"].groups.add(team)
    return People(anonymous=AnonymousUser(), team=team, **named)
