"""An asyncio controller runtime for Kubernetes: client, informers, work queues, leader election.

It knows no Grove kind.
"""
