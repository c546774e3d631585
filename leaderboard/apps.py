from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    name = "leaderboard"

    def ready(self) -> None:
        from evaluation.signals import run_loaded
        from leaderboard.receivers import open_board

        run_loaded.connect(open_board, dispatch_uid="leaderboard.open_board")
