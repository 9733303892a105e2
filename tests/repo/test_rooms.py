"""Who may touch what, and how large a room may grow."""

import ast

from tests.repo.tree import ROOT, SRC, find, listed, outside, place, sources, strings, tree_of

FILE_LINES_MAX = 500  # STYLE: files of about 150 lines; past this there are two things in one room
FUNCTION_LINES_MAX = 60  # functions of about 8; past this nobody holds one in the head
FROZEN = "store/migrations/versions"  # written by Alembic from the schema, never edited afterwards
CLOCKS = {"time", "random", "secrets", "uuid"}
NOW = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "asyncio.sleep", "os.urandom"}
DATABASES = {"sqlalchemy", "alembic", "sqlite3", "pysqlite3"}
STEPS = {"image", "video"}  # of the shipped recipes; as kinds of file `domain.outputs` and `media` deal in them
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "service", "services"}


def imported(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    found: list[tuple[ast.AST, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node, alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node, (node.module or "").split(".")[0]))
    return found


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in outside(sources(), FROZEN)}
    found = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > FILE_LINES_MAX]
    assert not found, listed(found)


def test_no_function_is_too_long() -> None:
    found = []
    for path in outside(sources(), FROZEN):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = (ast.get_docstring(node, clean=False) or "").count("\n")
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - doc
                if lines > FUNCTION_LINES_MAX:
                    found.append(f"{place(path, node)} {node.name}: {lines} lines")
    assert not found, listed(found)


def test_time_and_chance_come_from_the_clock() -> None:
    found = []
    for path in outside(sources(), "clock.py", "sandbox"):
        found += [f"{place(path, node)} imports {name}" for node, name in imported(tree_of(path)) if name in CLOCKS]
        found += [
            f"{place(path, node)} {ast.unparse(node)}"
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Attribute) and ".".join(ast.unparse(node).split(".")[-2:]) in NOW
        ]
    assert not found, listed(found)


def test_only_the_store_speaks_sql() -> None:
    found = []
    for path in outside(sources(), "store"):
        found += [f"{place(path, node)} imports {name}" for node, name in imported(tree_of(path)) if name in DATABASES]
        found += [
            f"{place(path, node)} {node.value.split()[0]} …"
            for node in strings(path)
            if isinstance(node.value, str)
            and node.value.lstrip().startswith(("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM "))
        ]
    assert not found, listed(found)


def test_only_recipes_and_adapters_know_the_products() -> None:
    engine_room = outside(sources(), "recipes", "providers", "sandbox")
    states = r"(ready|submitting|submit_unknown|processing|collecting|complete|failed)"
    # A campaign is a label on an order and a line in a budget; nothing knows what one is made of.
    found = find(rf"portrait|bundle|\b(image|video)_{states}\b", engine_room)
    assert not found, listed(found)


def test_no_step_is_known_by_name_where_steps_are_moved() -> None:
    movers = [*sources("src/onetake/engine", "src/onetake/store", "src/onetake/api"), SRC / "app.py"]
    found = [place(path, node) for path in movers if path.exists() for node in strings(path) if node.value in STEPS]
    assert not found, listed(found)


def test_modules_are_named_after_what_they_do() -> None:
    names = {part for path in sources() for part in path.relative_to(SRC).with_suffix("").parts}
    found = [name for name in names if VAGUE & set(name.split("_"))]
    assert not found, listed(found)


def test_nothing_is_left_for_later() -> None:
    found = find(r"TO[D]O|FIX[M]E|XX[X]|NotImplemented[E]rror", sources("src", "tests", "tools", "benchmarks"))
    assert not found, listed(found)


def test_tests_use_real_things_and_run_every_time() -> None:
    banned = r"unittest[.]mock|Magic[M]ock|monkey[p]atch|(pytest|mark)[.](skip|xfail)|import[o]rskip|\btime[.]sleep"
    found = find(banned, sources("tests"))
    assert not found, listed(found)
