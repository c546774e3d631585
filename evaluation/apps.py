from django.apps import AppConfig
from django.db.models.signals import post_migrate


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from evaluation.registry import sync_registry

        post_migrate.connect(sync_registry, sender=self, dispatch_uid="evaluation.registry")
