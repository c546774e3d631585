"""Settings, URLs, the Celery application and the API object."""
