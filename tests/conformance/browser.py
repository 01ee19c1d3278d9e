"""A browser without a person: opens the authorization address and follows it back to the client."""

import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
    answer.read()
