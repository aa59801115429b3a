"""What learners share: tables as sufficient statistics, pair statistics, clusters, forests and mixtures."""
