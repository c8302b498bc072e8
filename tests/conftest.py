"""What tests share: the real data where it is at hand, the command line, a fake server."""

import gc
import io
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

# Before numpy is imported, as ``casewise.cli`` has it: two workers share the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Two threads take a third more of it than one, over tables as small as these.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl
import pytest
from hypothesis import settings
from support.secret import KEY, found_in, planted
from support.starts import command

import casewise as cw

ROOT = Path(__file__).resolve().parent.parent
CASEBENCH = Path(os.environ.get("CASEWISE_CASEBENCH", ROOT.parent / "shared/data/casebench"))

XSTEST = Path(os.environ.get("CASEWISE_XSTEST", ROOT.parent / "shared/data/xstest"))

REPLIES = Path(os.environ.get("CASEWISE_REPLIES", ROOT.parent / "shared/data/replies"))

OTHER_SETS = Path(os.environ.get("CASEWISE_SETS", ROOT.parent / "shared/data/sets"))

QUADRATIC = 20.0
"""Seconds of the processor: enough for linear time anywhere, and for quadratic time nowhere."""

# As a command sets it: most of what tests import and make stays.
gc.set_threshold(50_000)

# A busy machine is slow at times: how long one example takes is nothing to fail for.
settings.register_profile("casewise", deadline=None)
settings.load_profile("casewise")


class Cli:
    """The command line, called with its words: it gives the status and what was printed."""

    def __init__(self, call: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        self._call = call

    def __call__(self, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        return self._call(*arguments, **options)

    def ok(self, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """The same, which must end with 0."""
        done = self(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done


def pytest_addoption(parser: pytest.Parser) -> None:
    """Option for where everything that a test needs is there."""
    parser.addoption("--no-skips", action="store_true", help="a test that is skipped fails")


@pytest.fixture(scope="session")
def casebench() -> Path:
    """The folder of the published data; its content is never printed whole."""
    if not (CASEBENCH / "CASEBench_data.json").is_file():
        pytest.skip(f"CASE-Bench's data is not at {CASEBENCH} (set CASEWISE_CASEBENCH)")
    return CASEBENCH


@pytest.fixture(scope="session")
def published_table(casebench: Path) -> pl.DataFrame:
    """The judgements of all published outputs, read once."""
    return cw.judgements(casebench / "exp")


@pytest.fixture(scope="session")
def every_protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of each protocol, made once: who changes a log takes a copy."""
    from support.inspected import run_every_protocol, serving

    with serving() as (_, env):
        return run_every_protocol(tmp_path_factory.mktemp("every") / "logs", env)


@pytest.fixture(scope="session")
def xstest() -> Path:
    """The folder of XSTest's completions; no reply of theirs is ever printed."""
    if not any(XSTEST.glob("xstest_v2_completions_*.csv")):
        pytest.skip(f"XSTest's completions are not at {XSTEST} (set CASEWISE_XSTEST)")
    return XSTEST


@pytest.fixture(scope="session")
def real_replies() -> Path:
    """The folder of real replies with labels; none of their texts is ever printed."""
    if not any(REPLIES.glob("*.jsonl")):
        pytest.skip(f"the real replies are not at {REPLIES} (set CASEWISE_REPLIES)")
    return REPLIES


@pytest.fixture(scope="session")
def other_sets() -> Path:
    """The folder of other published data sets; none of their texts is ever printed."""
    if not (OTHER_SETS / "cat_small.csv").is_file():
        pytest.skip(f"the other data sets are not at {OTHER_SETS} (set CASEWISE_SETS)")
    return OTHER_SETS


def cli_in(folder: Path) -> Cli:
    """The command line in a folder and a clean environment, run in this process.

    A start of Python with all that a run imports costs two seconds, which no test needs to pay
    whose point is not the process. Streams are of bytes underneath, in any encoding.
    """

    def call(
        *arguments: str | Path,
        env: dict[str, str] | None = None,
        stdin: str | None = None,
        encoding: str = "utf-8",
    ) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            for name in set(os.environ) - set(clean_env()):
                patch.delenv(name)
            for name, value in (clean_env() | planted(env or {})).items():
                patch.setenv(name, value)
            patch.chdir(folder)
            # A function of one's own is a module of that folder.
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(sys, "argv", ["casewise", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(stdin or ""))
            with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
                # Python shows no user what is deprecated in the code of others.
                warnings.filterwarnings("ignore", "", DeprecationWarning, "(?!casewise)")
                code = _exit_code(command())
            forget_models()
            _forget_modules(folder)
        return _without_key(
            subprocess.CompletedProcess(
                arguments, code, _written(out, encoding), _written(err, encoding)
            )
        )

    return Cli(call)


@pytest.fixture
def cli_inside(tmp_path: Path) -> Cli:
    """The command line in this process, in a folder of the test's own."""
    return cli_in(tmp_path)


def _written(stream: io.TextIOWrapper, encoding: str) -> str:
    stream.flush()
    return stream.detach().getvalue().decode(encoding)  # type: ignore[attr-defined, no-any-return]


def forget_models() -> None:
    """Drop what Inspect keeps of models as long as a process lasts: clients, keys and prices.

    A process that ends closes its connections without a word, so this does too.
    """
    inspect_models = sys.modules.get("inspect_ai.model._model")
    if inspect_models is None:
        return
    sys.modules["inspect_ai.model._model_info"].clear_model_info_cache()
    if inspect_models._models:
        inspect_models._models.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        _leave_out_what_is_imported()


def _forget_modules(folder: Path) -> None:
    """Drop modules of a folder: another command imports its own of the same name."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
            del sys.modules[name]


@pytest.fixture
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are asked again after a fifth of the usual half second, one second, and so on."""
    monkeypatch.setattr("casewise.models.patience.FIRST_S", 0.1)


@pytest.fixture
def cli(cli_inside: Cli) -> Cli:
    """The same, by its shorter name."""
    return cli_inside


@pytest.fixture
def cli_process(tmp_path: Path) -> Cli:
    """Run the command line in a process of its own, as a person does: where that is the point."""

    def call(
        *arguments: str | Path, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return _without_key(
            subprocess.run(
                [sys.executable, "-m", "casewise", *map(str, arguments)],
                cwd=tmp_path,
                env=clean_env() | planted(env or {}),
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        )

    return Cli(call)


def _without_key(
    done: subprocess.CompletedProcess[str],
) -> subprocess.CompletedProcess[str]:
    """What a command printed, held to say nothing of the planted key."""
    assert KEY not in done.stdout + done.stderr, "the planted key was printed"
    return done


_freeze = gc.freeze
_known_modules: set[str] = set()


def _leave_out_what_is_imported() -> None:
    """Leave new modules out of every later search for garbage: a tenth of a second each."""
    if new := sys.modules.keys() - _known_modules:
        _known_modules.update(new)
        _freeze()


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of every later search for garbage: half a second each.

    A run freezes what it finds and thaws all when it ends, which would thaw this, too.
    """
    _leave_out_what_is_imported()
    for name in ("freeze", "unfreeze"):
        setattr(gc, name, lambda: None)


_open_socket = socket.socket.__init__
_has_opened_socket = False


def _noting_that_it_opens(self: socket.socket, *args: Any, **kwargs: Any) -> None:
    global _has_opened_socket
    _has_opened_socket = True
    _open_socket(self, *args, **kwargs)


socket.socket.__init__ = _noting_that_it_opens  # type: ignore[method-assign]


def _collect_what_is_left_open() -> None:
    """Collect garbage if a socket was opened, as by every event loop.

    What a test left open is its own failure then, and not that of a later one.
    """
    global _has_opened_socket
    if _has_opened_socket:
        _has_opened_socket = False
        gc.collect()
        _leave_out_what_is_imported()


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Collect after a test and its other fixtures: the first to begin is the last to end.

    Records of the log outlive the test, and an error in one holds all that its functions held.
    """
    yield
    for record in caplog.get_records("call"):
        record.exc_info = None
    request.node.funcargs.clear()
    _collect_what_is_left_open()


@pytest.fixture(scope="module", autouse=True)
def collected_of_module() -> Iterator[None]:
    """Collect after what the tests of a file share."""
    yield
    _collect_what_is_left_open()


@pytest.fixture(scope="session", autouse=True)
def no_key_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever the tests of this process have written holds no key.

    A test that fails for it names the file, whose folder has the name of the test that wrote it.
    """
    yield
    assert found_in(tmp_path_factory.getbasetemp()) == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that printed or logged the key, or, where asked, one that was skipped."""
    report = yield
    wrong = ""
    if any(KEY in text for _, text in report.sections):
        wrong = "the planted key was printed or logged"
    elif report.skipped and item.config.getoption("no_skips", default=False):
        wrong = f"skipped: {report.longrepr}"
    if wrong:
        report.outcome, report.longrepr = "failed", f"{report.nodeid}: {wrong}"
    return report


def _exit_code(command: Callable[[], None]) -> int:
    try:
        command()
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def clean_env() -> dict[str, str]:
    """The environment without keys and settings of the person who runs the tests."""
    secret = ("_API_KEY", "_BASE_URL")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(secret)
        and not name.startswith("INSPECT_")
        # How wide the terminal is: pytest's workers say it to their children.
        and name != "COLUMNS"
    }
    return kept | {"NO_COLOR": "1", "TERM": "dumb"}
