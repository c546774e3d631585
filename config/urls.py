"""All routes."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from config.api import api, nothing

urlpatterns = [
    path("", include("leaderboard.urls")),
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/v1/", api.urls),
    path("api/<path:rest>", nothing, name="api-nothing"),
    path("admin/", admin.site.urls),
]
