"""The form of a new contract: promises nothing yet, and says what to look for on the provider's pages."""

FORM = """\
# What {provider} promises, as its public pages could be read on the day below.
# Whatever isn't stated here is not promised, and onetake acts accordingly: `onetake contract explain` says how.

provider = "{provider}"
verified_on = "{today}"
# The pages, with what each of them says; package versions count too.
evidence = ["https://example.com/docs: not read yet"]
# support = "whom to ask about a lost answer, and what to quote"

# Does the same key buy once? kind: none, replay, replay_fingerprint, reject_on_reuse or client_id.
[idempotency]
kind = "none"
# header = "Idempotency-Key"      # or field = "request_id"
# window_s = 3600                 # how long a key is remembered
# reuse_codes = ["key_reused"]    # answers that prove that a key was used before
# refusal_is_proof = false        # a known key is answered before anything else is looked at

# Can a task be found whose id was lost? kind: none, client_reference, list_echo or list_time.
[lookup]
kind = "none"
# path = "/v1/tasks?reference={{reference}}"
# items_path = "data[]"
# visible_after_s = 60            # until an accepted task is certainly shown
# window_s = 86400
# is_conclusive = false           # what isn't shown by then was never accepted

[key]
header = "Authorization"
format = "Bearer {{key}}"

[models]
path = "/v1/models"
item_path = "data[].id"

[operations.image]
path = "/v1/images"
address_paths = ["output.urls[]"]
required = ["model", "prompt"]

[accept]
ref_paths = ["id"]

# Answers that prove that nothing was bought, given in the provider's own JSON.
[refuse]
statuses = [400, 401, 402, 403, 404, 422]
later = []                        # 429, where the pages say that it is given before anything starts
shape_path = "error"
code_path = "error.code"
message_path = "error.message"
auth = [401, 403]

[poll]
path = "/v1/tasks/{{ref}}"
status_path = "status"
missing = [404]
auth = [401, 403]
code_path = "error.code"
message_path = "error.message"
charged_on_failure = "unknown"

[poll.statuses]
queued = "queued"
running = "working"
succeeded = "finished"
failed = "failed"
"""


def new_contract(provider: str, today: str) -> str:
    """The text of a contract file for a provider, in which nothing is promised yet.

    Args:
        provider: its name: small letters, digits and underscores.
        today: the day, as YYYY-MM-DD.
    """
    return FORM.format(provider=provider, today=today)
