"""The state of every instance, in SQLite, shared by all processes of a user."""

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
from runfold._serve.tensorboards.process_files import Address
from runfold._state import make_private, state_folder
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

State = Literal["STARTING", "WAITING", "RUNNING", "TERMINATING", "TERMINATED"]

# Maximum number of live instances. Each needs a process and about 100 MB.
MOST = 16

_VERSION = 2
_BUSY_SECONDS = 10.0
_RETRY_SECONDS = 0.01

_SCHEMA = """
create table instances (
    id text primary key, name text not null, sources text not null, options text not null,
    same text not null, state text not null, wanted text not null, key text not null,
    pid integer, pid_started integer, port integer,
    created real not null, started real, ended real, exit_status integer,
    restarts integer not null default 0, message text not null default '',
    user text not null, description text not null default '',
    host text not null default '127.0.0.1', certificate text not null default '',
    node text not null default ''
);
create table generation (number integer not null);
insert into generation values (0);
create trigger added after insert on instances begin update generation set number = number + 1; end;
create trigger updated after update on instances begin update generation set number = number + 1; end;
create trigger dropped after delete on instances begin update generation set number = number + 1; end;
"""  # noqa: E501

# What version 1 lacks.
_ADDITIONS = """
alter table instances add column host text not null default '127.0.0.1';
alter table instances add column certificate text not null default '';
alter table instances add column node text not null default '';
"""

_COLUMNS = (
    *("id", "name", "sources", "options", "state", "wanted", "key", "pid", "pid_started", "port"),
    *("created", "started", "ended", "exit_status", "restarts", "message", "user", "description"),
    *("host", "certificate", "node"),
)
_CHANGING = frozenset(_COLUMNS) - {"id", "name", "sources", "options", "key", "created", "user"}
_SELECT = f"select {', '.join(_COLUMNS)} from instances"


class UnknownInstance(RunfoldError, KeyError):
    """No instance has this id or name, or several have this prefix."""


class TooManyInstances(RunfoldError):
    """The maximum number of live instances has been reached."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The last recorded state of a TensorBoard.

    `pid_started` distinguishes its process from a later one with the same pid;
    `exit_status` is the negative signal number if a signal killed it. `node` is empty unless
    it runs on a cluster.
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
    host: str
    certificate: str
    node: str

    @property
    def address(self) -> Address | None:
        """Where the instance listens; None if it does not."""
        if self.port is None:
            return None
        return Address(self.port, self.host, self.certificate, self.node)

    @property
    def is_live(self) -> bool:
        """Whether the instance has not ended permanently."""
        return self.state != "TERMINATED"

    def __repr__(self) -> str:
        # The key is left out, because a repr can end up in a log.
        return f"<Instance {self.id} {self.name} {self.state}>"


class Store:
    """A user's instances. Threads can share a store; each process opens its own.

    `folder` contains the database and a folder for each instance. Only its owner can
    read it.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = make_private(folder or state_folder("tensorboards"))
        self._lock = threading.RLock()
        path = os.path.join(self.folder, "instances.sqlite")
        # SQLite gives its other files the mode of this one. Only a new file is opened here:
        # closing an existing one would release all SQLite locks that this process holds on it.
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
            # A full or failing disk does not mean that the database is damaged.
            is_broken = not isinstance(error, sqlite3.OperationalError)
            step = (
                "Move this file away to start from scratch."
                if is_broken
                else "Check the disk and try again."
            )
            raise RunfoldError(
                f"Cannot read the list of all instances, {escape(path)} ({error}). {step}"
            ) from None

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def folder_of(self, id: str) -> str:
        """Return the folder for an instance's files."""
        return os.path.join(self.folder, id)

    def claim(
        self,
        sources: Sources,
        options: Options,
        description: str = "",
        begin: Callable[[Instance], dict[str, Any]] | None = None,
        most: int = MOST,
    ) -> tuple[Instance, bool]:
        """Return a live or new instance with these sources and options, and whether it is new.

        Two concurrent callers get the same instance. The fields that `begin` returns for a
        new instance are stored before other processes see it. Raises TooManyInstances
        beyond the limit of `most`.
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
                    " one with `runfold tensorboard kill ID`, or raise the limit with `runfold"
                    " tensorboard start --max N`."
                )
            instance = self._insert(sources, options, description, same)
            if begin is not None:
                instance = self._set(instance.id, begin(instance))
            return instance, True

    def add(self, sources: Sources, options: Options, description: str = "") -> Instance:
        """Add a new instance, to be started by the supervisor."""
        with self._change():
            same = f"{sources.key} {options.key}"
            return self._insert(sources, options, description, same)

    def get(self, text: str) -> Instance:
        """Return the instance with this id or name, or with a unique prefix of either.

        Ids take precedence, then live instances, then the newest of several with the same
        name. Raises UnknownInstance with near matches.
        """
        text = text.strip().lower()
        known = self.all()
        matching = [instance for instance in known if instance.id == text]
        matching = matching or [instance for instance in known if instance.name == text][-1:]
        matching = matching or [
            instance for instance in known if text and instance.id.startswith(text)
        ]
        matching = matching or [
            instance for instance in known if text and instance.name.startswith(text)
        ]
        if len(matching) > 1:
            matching = [instance for instance in matching if instance.is_live] or matching
        if len(matching) == 1:
            return matching[0]
        if matching:
            ids = human_list(f"{instance.id} ({instance.name})" for instance in matching)
            raise UnknownInstance(f"Several instances start with '{escape(text)}': {ids}.")
        hint = did_you_mean(
            text, [word for instance in known for word in (instance.id, instance.name)]
        )
        if not hint:
            # The newest instances first, and only live instances if there are any.
            candidates = [instance for instance in known if instance.is_live] or known
            names = human_list(
                f"{instance.id} ({instance.name})" for instance in reversed(candidates)
            )
            hint = f"Available: {names}." if candidates else "There are no instances."
        raise UnknownInstance(f"No TensorBoard instance '{escape(text)}'. {hint}")

    def all(self) -> list[Instance]:
        """Return all instances, oldest first. Instances that ended long ago are deleted."""
        with self._lock:
            return self._rows("")

    def live(self) -> list[Instance]:
        """Return the instances that have not ended, oldest first."""
        with self._lock:
            return self._rows("where state != 'TERMINATED'")

    def update(self, id: str, **fields: Any) -> Instance:
        """Update fields of an instance and return it. Raises UnknownInstance."""
        unknown = fields.keys() - _CHANGING
        if unknown:
            raise TypeError(f"These fields of an instance cannot change: {', '.join(unknown)}")
        with self._change():
            return self._set(id, fields)

    def forget(self, id: str) -> None:
        """Delete an instance; the caller removes its files."""
        with self._change():
            self._database.execute("delete from instances where id = ?", (id,))

    def generation(self) -> int:
        """Return a number that increases with each change by any process."""
        with self._lock:
            (number,) = self._database.execute("select number from generation").fetchone()
        return int(number)

    def _prepare(self, path: str) -> None:
        self._write_ahead()
        self._database.execute("pragma synchronous = normal")
        with self._change():
            (version,) = self._database.execute("pragma user_version").fetchone()
            script = {0: _SCHEMA, 1: _ADDITIONS}.get(version)
            if script is not None:
                for statement in _statements(script):
                    self._database.execute(statement)
                self._database.execute(f"pragma user_version = {_VERSION}")
            elif version != _VERSION:
                raise RunfoldError(
                    f"{escape(path)} was written by another version of Runfold (format {version},"
                    f" not {_VERSION}). Use that version, or move the file away to start from"
                    " scratch."
                )

    def _write_ahead(self) -> None:
        """Enable write-ahead logging, so that readers do not wait for a writer.

        If two processes do this at the same time on a new database, one of them fails without
        waiting.
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
            # Lock at once, so that the data that is read remains valid until the new
            # data is written.
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
            "name": make_name(
                {instance.name for instance in self._rows("where state != 'TERMINATED'")}
            ),
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
    """Yield the statements of a script. `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return str(os.getuid())
