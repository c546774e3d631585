"""Routes of the pages."""

from django.urls import path, re_path

from leaderboard import breakdown_views, downloads, freeze_views, item_views, views

FIGURE = r"(?P<form>svg|pdf|png)"

urlpatterns = [
    path("", views.home, name="home"),
    path("boards/<slug:slug>/", views.board, name="board"),
    path("boards/<slug:slug>/evaluators/", views.moves, name="moves"),
    re_path(rf"^boards/(?P<slug>[-\w]+)/figure\.{FIGURE}$", freeze_views.board_figure, name="board-figure"),
    path("boards/<slug:slug>/cite.bib", freeze_views.board_cite, name="board-cite"),
    path("boards/<slug:slug>/freeze/", freeze_views.board_freeze, name="board-freeze"),
    path("freezes/", freeze_views.freezes, name="freezes"),
    path("freezes/<slug:address>/", freeze_views.freeze_one, name="freeze"),
    path("freezes/<slug:address>/content.json", freeze_views.freeze_content, name="freeze-content"),
    path("freezes/<slug:address>/cite.bib", freeze_views.freeze_cite, name="freeze-cite"),
    path("freezes/<slug:address>/table.<slug:form>", freeze_views.freeze_table, name="freeze-table"),
    re_path(rf"^freezes/(?P<address>\w+)/figure\.{FIGURE}$", freeze_views.freeze_figure, name="freeze-figure"),
    path("freezes/<slug:before>/diff/<slug:after>/", freeze_views.freeze_diff, name="freeze-diff"),
    path("boards/<slug:slug>/by/", breakdown_views.by_first, name="board-breakdowns"),
    path("boards/<slug:slug>/by/<str:dimension>/", breakdown_views.by, name="board-by"),
    path("boards/<slug:slug>/by/<str:dimension>/<str:key>/", breakdown_views.facet, name="board-facet"),
    path("boards/<slug:slug>/mix/", breakdown_views.mix, name="board-mix"),
    path("boards/<slug:slug>/mix/csv/", breakdown_views.mix_csv, name="board-mix-csv"),
    path("benchmarks/<slug:slug>/", views.benchmark, name="benchmark"),
    path("benchmarks/<slug:slug>/<path:name>/", views.release, name="release"),
    path("how/<slug:slug>/", views.how, name="how"),
    path("boards/<slug:slug>/table.<slug:form>", views.board_as_file, name="board-file"),
    path("tables/", views.tables, name="tables"),
    path("runs/<slug:key>/", views.run, name="run"),
    path("runs/<slug:key>/evaluators/", views.run_evaluators, name="run-evaluators"),
    path("boards/<slug:slug>/archive.zip", downloads.board_archive, name="board-archive"),
    path("boards/<slug:slug>/items.<str:form>", downloads.board_items, name="board-items"),
    path("runs/<slug:key>/eee.json", downloads.run_document, name="run-eee"),
    path("runs/<slug:key>/eee.jsonl", downloads.run_instances, name="run-eee-instances"),
    path("runs/<slug:key>/items.<str:form>", downloads.run_items, name="run-items"),
    path("runs/<slug:key>/items/", item_views.run_items, name="run-answers"),
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
