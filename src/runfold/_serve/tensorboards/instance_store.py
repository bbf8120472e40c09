"""What is known of every instance, in SQLite: the truth for all processes of a user."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import sqlite3
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from runfold._humanize import did_you_mean, escape, human_list
from runfold._serve.tensorboards.instance_names import make_name
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._state import make_private, state_folder
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

State = Literal["STARTING", "WAITING", "RUNNING", "TERMINATING", "TERMINATED"]

# Each takes a process and some 100 MB.
MOST = 16

_VERSION = 1
_BUSY_SECONDS = 10.0
_RETRY_SECONDS = 0.01

_SCHEMA = """
create table instances (
    id text primary key, name text not null, sources text not null, options text not null,
    same text not null, state text not null, wanted text not null, key text not null,
    pid integer, pid_started integer, port integer,
    created real not null, started real, ended real, exit_status integer,
    restarts integer not null default 0, message text not null default '',
    user text not null, description text not null default ''
);
create table generation (number integer not null);
insert into generation values (0);
create trigger added after insert on instances begin update generation set number = number + 1; end;
create trigger updated after update on instances begin update generation set number = number + 1; end;
create trigger dropped after delete on instances begin update generation set number = number + 1; end;
"""  # noqa: E501

_COLUMNS = (
    *("id", "name", "sources", "options", "state", "wanted", "key", "pid", "pid_started", "port"),
    *("created", "started", "ended", "exit_status", "restarts", "message", "user", "description"),
)
_CHANGING = frozenset(_COLUMNS) - {"id", "name", "sources", "options", "key", "created", "user"}
_SELECT = f"select {', '.join(_COLUMNS)} from instances"


class UnknownInstance(RunfoldError, KeyError):
    """No instance has that id or name, or several begin like that."""


class TooManyInstances(RunfoldError):
    """As many instances are live as there may be."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One TensorBoard, as it was last heard of.

    `pid_started` tells its process from a later one with the same number;
    `exit_status` is negative for the signal that ended it.
    """

    id: str
    name: str
    sources: Sources
    options: Options
    state: State
    wanted: Literal["up", "down"]
    key: str
    pid: int | None
    pid_started: int | None
    port: int | None
    created: float
    started: float | None
    ended: float | None
    exit_status: int | None
    restarts: int
    message: str
    user: str
    description: str

    @property
    def is_live(self) -> bool:
        """Whether it has not ended for good."""
        return self.state != "TERMINATED"

    def __repr__(self) -> str:
        # Without the key: what is shown may end up in a log.
        return f"<Instance {self.id} {self.name} {self.state}>"


class Store:
    """The instances of a user. Threads may share it, and each process opens its own.

    `folder` holds the database, and a folder for each instance; only its owner can
    look into it.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = make_private(folder or state_folder("tensorboards"))
        self._lock = threading.RLock()
        path = os.path.join(self.folder, "instances.sqlite")
        # SQLite gives its other files the mode of this one. Only a new one is opened by hand:
        # to close it takes SQLite's locks from all that this process has open of it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._database = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(path)
        except BaseException as error:
            self._database.close()
            if not isinstance(error, sqlite3.DatabaseError):
                raise
            # A full disk, or one that fails, is no reason to give up what is noted there.
            is_broken = not isinstance(error, sqlite3.OperationalError)
            step = "Move it away to begin anew." if is_broken else "See to the disk, and try again."
            raise RunfoldError(
                f"{escape(path)} cannot be read ({error}), so no instance is known. {step}"
            ) from None

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def folder_of(self, id: str) -> str:
        """Where the files of an instance are."""
        return os.path.join(self.folder, id)

    def claim(
        self,
        sources: Sources,
        options: Options,
        description: str = "",
        begin: Callable[[Instance], dict[str, Any]] | None = None,
        most: int = MOST,
    ) -> tuple[Instance, bool]:
        """A live instance with the same sources and options, or else a new one; whether it is new.

        Two processes that ask at once get the same one. What `begin` gives is noted of a new
        one before anybody else knows of it. Raises TooManyInstances where a new one would be
        more than `most`.
        """
        same = f"{sources.key} {options.key}"
        with self._change():
            is_up = "wanted = 'up' and state != 'TERMINATED'"
            rows = self._rows(f"where same = ? and {is_up}", same)
            if rows:
                return rows[0], False
            count = len(self._rows(f"where {is_up}"))
            if count >= most:
                raise TooManyInstances(
                    f"No TensorBoard was started: {count} are live, and the limit is {most}. End"
                    " one with `runfold tensorboard kill ID`, or allow more with `runfold"
                    " tensorboard start --max N`."
                )
            instance = self._insert(sources, options, description, same)
            if begin is not None:
                instance = self._set(instance.id, begin(instance))
            return instance, True

    def add(self, sources: Sources, options: Options, description: str = "") -> Instance:
        """A new instance, which is wanted up and not started yet."""
        with self._change():
            same = f"{sources.key} {options.key}"
            return self._insert(sources, options, description, same)

    def get(self, text: str) -> Instance:
        """The instance of that id or name, or the only one whose id, or else name, begins so.

        Of several the live one is meant; of names given twice the newest. Raises
        UnknownInstance with the near ones.
        """
        text = text.strip().lower()
        known = self.all()
        fitting = [one for one in known if one.id == text]
        fitting = fitting or [one for one in known if one.name == text][-1:]
        fitting = fitting or [one for one in known if text and one.id.startswith(text)]
        fitting = fitting or [one for one in known if text and one.name.startswith(text)]
        if len(fitting) > 1:
            fitting = [one for one in fitting if one.is_live] or fitting
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            ids = human_list(f"{one.id} ({one.name})" for one in fitting)
            raise UnknownInstance(f"Several instances begin with '{escape(text)}': {ids}.")
        hint = did_you_mean(text, [word for one in known for word in (one.id, one.name)])
        if not hint:
            # The newest, of those that live where there are any.
            there = [one for one in known if one.is_live] or known
            names = human_list(f"{one.id} ({one.name})" for one in reversed(there))
            hint = f"There are {names}." if there else "There are none at all."
        raise UnknownInstance(f"No TensorBoard instance '{escape(text)}'. {hint}")

    def all(self) -> list[Instance]:
        """All instances, the oldest first; those that ended long ago are forgotten."""
        with self._lock:
            return self._rows("")

    def live(self) -> list[Instance]:
        """Those that have not ended, the oldest first."""
        with self._lock:
            return self._rows("where state != 'TERMINATED'")

    def update(self, id: str, **fields: Any) -> Instance:
        """Note something of an instance, and give it as it is now. Raises UnknownInstance."""
        unknown = fields.keys() - _CHANGING
        if unknown:
            raise TypeError(f"An instance has no such field to change: {', '.join(unknown)}")
        with self._change():
            return self._set(id, fields)

    def forget(self, id: str) -> None:
        """Drop an instance; its files are the caller's."""
        with self._change():
            self._database.execute("delete from instances where id = ?", (id,))

    def generation(self) -> int:
        """A number that is another one after each change, by whatever process."""
        with self._lock:
            (number,) = self._database.execute("select number from generation").fetchone()
        return int(number)

    def _prepare(self, path: str) -> None:
        self._write_ahead()
        self._database.execute("pragma synchronous = normal")
        with self._change():
            (version,) = self._database.execute("pragma user_version").fetchone()
            if version == 0:
                for statement in _statements(_SCHEMA):
                    self._database.execute(statement)
                self._database.execute(f"pragma user_version = {_VERSION}")
            elif version != _VERSION:
                raise RunfoldError(
                    f"{escape(path)} was written by another version of Runfold ({version}, not "
                    f"{_VERSION}). Use that one, or move the file away to begin anew."
                )

    def _write_ahead(self) -> None:
        """Let nobody who reads wait for one who writes.

        Of two who turn a new database to that at once, SQLite refuses one without waiting.
        """
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._database.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        with self._lock:
            # At once, so that what is read in it is still so when it is written.
            self._database.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._database.execute("rollback")
                raise
            self._database.execute("commit")

    def _insert(self, sources: Sources, options: Options, description: str, same: str) -> Instance:
        id = secrets.token_hex(4)
        fields = {
            "id": id,
            "name": make_name({one.name for one in self._rows("where state != 'TERMINATED'")}),
            "sources": sources.to_json(),
            "options": options.to_json(),
            "same": same,
            "state": "STARTING",
            "wanted": "up",
            "key": secrets.token_hex(32),
            "created": time.time(),
            "user": _user(),
            "description": description or options.description,
        }
        marks = ", ".join("?" * len(fields))
        self._database.execute(
            f"insert into instances ({', '.join(fields)}) values ({marks})", tuple(fields.values())
        )
        return self._rows("where id = ?", id)[0]

    def _set(self, id: str, fields: dict[str, Any]) -> Instance:
        assignments = ", ".join(f"{name} = ?" for name in fields)
        self._database.execute(
            f"update instances set {assignments} where id = ?", (*fields.values(), id)
        )
        rows = self._rows("where id = ?", id)
        if not rows:
            raise UnknownInstance(f"No TensorBoard instance '{escape(id)}'.")
        return rows[0]

    def _rows(self, where: str, *values: object) -> list[Instance]:
        rows = self._database.execute(f"{_SELECT} {where} order by created, rowid", values)
        return [_read(row) for row in rows]


def _read(row: tuple[Any, ...]) -> Instance:
    fields = dict(zip(_COLUMNS, row, strict=True))
    fields["sources"] = Sources.from_json(fields["sources"])
    fields["options"] = Options.from_json(fields["options"])
    return Instance(**fields)


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in some containers
        return str(os.getuid())
