"""Botzone's two Dou Dizhu games in the platform's JSON: judges, requests and answers, and logs."""
