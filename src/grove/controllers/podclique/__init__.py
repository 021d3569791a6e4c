"""PodCliques.

controller            reconciles a clique; the rules are in `plan.clique_pods` and `plan.gangs.gates`
observed_clique       what one reconcile has read about a clique
pods                  creates and deletes pods
adoption              takes over orphaned pods, restores edited labels
claims                keeps the resource claims of a clique and its pods
gates                 opens gates
release_pacing        which gang may be released next
replacement_backoff   when a failed pod may be replaced
"""
