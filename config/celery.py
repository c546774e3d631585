"""The Celery application. Workers must use `--pool threads` or `solo`: Polars and fork do not go together.

Web server and workers load it; commands that read trees do not, for it takes 20 MB. What queues a task elsewhere imports it.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("clinboard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
