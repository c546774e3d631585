"""Routes of the pages."""

from django.urls import path

from leaderboard import breakdown_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("boards/<slug:slug>/", views.board, name="board"),
    path("boards/<slug:slug>/evaluators/", views.moves, name="moves"),
    path("boards/<slug:slug>/by/", breakdown_views.by_first, name="board-breakdowns"),
    path("boards/<slug:slug>/by/<str:dimension>/", breakdown_views.by, name="board-by"),
    path("boards/<slug:slug>/by/<str:dimension>/<str:key>/", breakdown_views.facet, name="board-facet"),
    path("boards/<slug:slug>/mix/", breakdown_views.mix, name="board-mix"),
    path("boards/<slug:slug>/mix/csv/", breakdown_views.mix_csv, name="board-mix-csv"),
    path("how/<slug:slug>/", views.how, name="how"),
    path("boards/<slug:slug>/table.<slug:form>", views.board_as_file, name="board-file"),
    path("tables/", views.tables, name="tables"),
    path("runs/<slug:key>/", views.run, name="run"),
    path("runs/<slug:key>/evaluators/", views.run_evaluators, name="run-evaluators"),
    path("models/", views.models, name="models"),
    path("models/<str:slug>/", views.model, name="model"),
    path("sources/", views.sources, name="sources"),
    path("sources/<int:pk>/", views.source, name="source"),
    path("findings/", views.findings, name="findings"),
    path("findings.csv", views.findings_as_csv, name="findings-csv"),
    path("healthz", views.healthz, name="healthz"),
    path("robots.txt", views.robots, name="robots"),
]
