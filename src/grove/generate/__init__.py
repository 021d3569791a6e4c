"""Generates the files of the repository that are derived from the code; `make docs` writes them.

__main__          `python -m grove.generate ROOT` writes all files below
                  deploy/crds/*.yaml, from `grove.api.serialization.crds`
api_reference     docs/api-reference.md, from the models
scheduler_table   the table in docs/choosing-a-scheduler.md, from the backends and the recorded results of real tests
"""
