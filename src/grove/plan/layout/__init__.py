"""What a PodCliqueSet consists of.

set_layout         cliques, scaling groups and start order of a set, computed once per version
clique_position    where a PodClique stands in its set
template_hash      when two pod templates are the same
"""
