"""Routes of the pages."""

from django.urls import path

from leaderboard import item_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("boards/<slug:slug>/", views.board, name="board"),
    path("how/<slug:slug>/", views.how, name="how"),
    path("boards/<slug:slug>/table.<slug:form>", views.board_as_file, name="board-file"),
    path("tables/", views.tables, name="tables"),
    path("runs/<slug:key>/", views.run, name="run"),
    path("runs/<slug:key>/evaluators/", views.run_evaluators, name="run-evaluators"),
    path("runs/<slug:key>/items/", item_views.run_items, name="run-items"),
    path("runs/<slug:key>/items/<int:ordinal>/", item_views.response, name="response"),
    path("compare/", views.compare, name="compare"),
    path("items/<slug:slug>/", item_views.item, name="item"),
    path("cases/<slug:slug>/", item_views.case, name="case"),
    path("cases/<slug:slug>/figure/", item_views.figure, name="figure"),
    path("models/", views.models, name="models"),
    path("models/<str:slug>/", views.model, name="model"),
    path("sources/", views.sources, name="sources"),
    path("sources/<int:pk>/", views.source, name="source"),
    path("findings/", views.findings, name="findings"),
    path("findings.csv", views.findings_as_csv, name="findings-csv"),
    path("healthz", views.healthz, name="healthz"),
    path("robots.txt", views.robots, name="robots"),
]
