"""One operation's turn in a transaction: what it writes with, and who it acts for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from onetake.clock import Clock
from onetake.domain.quoting import without_texts
from onetake.domain.recipe import Recipe
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.roles import Act
from onetake.engine.members import EMBEDDED, Member, account_for, check_over_all, require
from onetake.store import jobs, journal, recipes
from onetake.store.accounts import EMBEDDED_NAME, EMBEDDED_NAMES, ensure_embedded
from onetake.store.attempts import Attempt
from onetake.store.database import Tx
from onetake.store.steps import Step

JOBS_MAX = 4096
"""Jobs whose recipe is remembered: those of the last seconds, which are written about again and again."""


class RecipeBook:
    """Recipes that jobs were made from, parsed once each. A job's recipe never changes."""

    def __init__(self) -> None:
        self._parsed: dict[str, Recipe] = {}
        self._of_job: dict[str, Recipe] = {}

    def of(self, tx: Tx, job_id: str) -> Recipe:
        """The recipe that the job was made from."""
        found = self._of_job.get(job_id)
        if found is None:
            found = self.get(tx, jobs.get(tx, job_id)["recipe_hash"])
            if len(self._of_job) >= JOBS_MAX:
                self._of_job.clear()
            self._of_job[job_id] = found
        return found

    def get(self, tx: Tx, digest: str) -> Recipe:
        """The recipe whose content has this hash."""
        if digest not in self._parsed:
            self._parsed[digest] = parse_recipe(recipes.get_source(tx, digest), "the stored recipe")
        return self._parsed[digest]


@dataclass(frozen=True, slots=True)
class Told:
    """A line that was appended to a job's journal, without its data; `attempt_no` is None where it is about none."""

    event: str
    job_id: str
    step: str
    attempt_no: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """What an operation is handed: its transaction, the clock for ids and chance, recipes, and the actor.

    Attributes:
        actor: a worker's id or a person's name, for the journal.
        account: the name or id of the account that a person acts in.
        told: what was appended to journals; it happened once the transaction is committed.
    """

    tx: Tx
    clock: Clock
    book: RecipeBook
    actor: str
    account: str = EMBEDDED_NAME
    told: list[Told] = field(default_factory=list)

    def member(self, act: Act) -> Member:
        """The actor as a member of the account, who may do this.

        Raises:
            NotFoundError: there is no such account, or the person has no part in it.
            RoleError: the person's roles don't permit the act.
        """
        found = require(self.tx, self.account, self.actor, act)
        if found is EMBEDDED:
            ensure_embedded(self.tx)
        return found

    def check_over_all(self, act: Act) -> None:
        """Return if the actor may do this for all accounts together.

        Raises:
            RoleError: the person's roles over the installation don't permit the act.
        """
        check_over_all(self.tx, self.actor, act)

    def account_for(self, name: str, act: Act) -> str:
        """The id of the account of that name or id, for which the actor may do this: by a role in it, or over all.

        Raises:
            NotFoundError: there is no such account, or the person has no part in it.
            RoleError: the person's roles don't permit the act.
        """
        if name in EMBEDDED_NAMES:
            ensure_embedded(self.tx)
        return account_for(self.tx, name, self.actor, act)

    def recipe_of(self, job_id: str) -> Recipe:
        """The recipe that the job was made from."""
        return self.book.of(self.tx, job_id)

    def quiet(self, job_id: str, message: str) -> str:
        """A provider's message without the job's own texts."""
        return without_texts(message, jobs.get_inputs(self.tx, job_id).values())

    def tell(
        self,
        event: str,
        about: Attempt | Step | str,
        step: str = "",
        data: Mapping[str, object] | None = None,
    ) -> None:
        """Append a line to a job's journal.

        Args:
            event: a stable name.
            about: an attempt, a step, or a job's id.
            step: the step's name, where `about` doesn't say it.
            data: facts; never prompts, addresses or credentials.
        """
        job_id = about if isinstance(about, str) else about.job_id
        name = about.name if isinstance(about, Step) else step
        no = about.no if isinstance(about, Attempt) else None
        journal.record(self.tx, job_id, event, actor=self.actor, step=name, attempt_no=no, data=data)
        self.told.append(Told(event, job_id, name, no))
