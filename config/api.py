"""The API object: mounts the routers, gives errors as application/problem+json (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from leaderboard.api import router
from leaderboard.api_data import router as data_router

api = NinjaAPI(
    title="ClinBoard",
    version="1",
    urls_namespace="api",
    description="Boards, runs and models, as far as you may see them. Values are unrounded; shares are fractions of one.",
)
api.add_router("", router)
api.add_router("", data_router)


def problem(status: int, detail: str = "", **more: Any) -> JsonResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = detail
    return JsonResponse({**body, **more}, status=status, content_type="application/problem+json")


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return nothing(request)


def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Also for addresses that no operation has."""
    return problem(404, "There is nothing at this address, or you may not see it.")


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return problem(422, "The request does not fit.", errors=error.errors)


@api.exception_handler(AuthenticationError)
def unknown_person(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem(401, "Sign in first.")


@api.exception_handler(PermissionDenied)
def not_allowed(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return problem(403, str(error))


@api.exception_handler(HttpError)
def refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem(error.status_code, str(error))
