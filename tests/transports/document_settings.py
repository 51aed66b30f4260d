"""Settings of a server that may ask the site of an app on this machine."""

import os
import ssl

from bigmind.settings import *  # noqa: F403

OAUTH_DOCUMENTS = {
    "may_be_private": True,
    "verify": ssl.create_default_context(cafile=os.environ["DOCUMENTS_CERTIFICATE"]),
}
