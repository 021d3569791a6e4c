"""The program of the init container `grove-initc`: it holds a pod back until the cliques before it are ready.

waiting   pure: which parents are awaited, what is known of them, whether the wait is over
pods      one list and one watch of pods, over one connection
program   the loop: list, watch, resume; what it prints; exit codes

It runs in every pod that has to wait, so it imports nothing but small modules of the standard library, and nothing of
Grove: no dataclasses, typing, logging, asyncio or argparse. The operator's image contains it; the entry point of
`grove` starts it if the first argument is `--podcliques`, as the operators of either language write it into pods.
"""
