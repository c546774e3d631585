"""Settings, URLs, the Celery application and the API object."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
