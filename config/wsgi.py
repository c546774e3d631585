"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# One BLAS thread a web worker: a breakdown of 6 ms took 19 ms when two workers shared two cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

application = get_wsgi_application()
