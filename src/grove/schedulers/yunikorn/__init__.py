"""YuniKorn.

backend               translates gangs into labels and annotations of their pods
applications          the application of a gang, and when it needs a new one: the dialect
placeholders          what the placeholder pods of a gang look like
policy_parameters     the placeholder time-out and the gang scheduling style
"""

from grove.schedulers.yunikorn.backend import YuniKorn

__all__ = ["YuniKorn"]
