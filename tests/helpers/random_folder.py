"""A logdir to which random changes are made."""

import os
import random
import shutil

from helpers.faultfiles import EVENTS, append, image, points, settings_of, version, write


def fill(top, runs=3):
    """Write runs with two points each."""
    for number in range(runs):
        write(top / "group" / f"run-{number}" / EVENTS, version(), points(1, 2))


class Folder:
    """A logdir to which random changes are made."""

    def __init__(self, top, seed):
        self.top = top
        self.random = random.Random(seed)
        self.count = 0
        fill(top)
        for name in ("left", "right", "east", "west"):
            fill(top.parent / name, 2)
        # One link in the logdir, and one outside.
        (top / "link").symlink_to(top.parent / "left")
        (top / "detour").symlink_to(top.parent / "outside")
        (top.parent / "outside").symlink_to("east")
        (top / "group" / "run-0" / "hparams.yaml").write_text("lr: 1\n")

    def number(self):
        self.count += 1
        return self.count

    def files(self):
        return sorted(path for path in self.top.rglob("*tfevents*") if path.is_file())

    def file(self):
        return self.random.choice(self.files())

    def append(self):
        append(self.file(), points(self.number()), points(self.number(), tag="accuracy"))

    def tear(self):
        record = points(self.number())
        append(self.file(), record[: self.random.randrange(1, len(record))])

    def add_run(self):
        parent = self.random.choice([self.top, self.file().parent, self.top / "group"])
        write(parent / f"new-{self.number()}" / EVENTS, version(), points(self.number()))

    def add_file(self):
        name = f"events.out.tfevents.{1700000000 + self.number()}.host.1.0"
        write(self.file().parent / name, version(), points(self.number()), image(1, b"x"))

    def add_hparams_folder(self):
        folder = self.file().parent / f"{1700000000 + self.number()}.5"
        write(folder / EVENTS, version(), settings_of(lr=self.random.choice([0.1, 0.2])))

    def delete_run(self):
        folder = self.file().parent
        if any(folder not in file.parents for file in self.files()):
            shutil.rmtree(folder)

    def rename(self):
        folder = self.random.choice([self.file().parent, self.file().parent])
        if folder not in (self.top, self.top / "group") and not folder.is_symlink():
            folder.rename(folder.with_name(f"renamed-{self.number()}"))

    def replace(self):
        path = self.file()
        records = version(float(self.number())), points(self.number(), value=0.5)
        copy = write(path.with_name("copy"), *records)
        with copy.open("r+b") as file:
            file.truncate(max(path.stat().st_size, copy.stat().st_size))
        os.replace(copy, path)

    def rewrite(self):
        """In place, with the same size."""
        path = self.file()
        records = version(float(self.number())) + points(self.number(), value=0.25)
        size = path.stat().st_size
        path.write_bytes((records + bytes(size))[: max(size, len(records))])

    def swap_link(self):
        link, targets = self.random.choice(
            [
                (self.top / "link", ["left", "right"]),
                (self.top.parent / "outside", ["east", "west"]),
            ]
        )
        target = self.random.choice(targets)
        new = self.top.parent / "new-link"
        new.symlink_to(self.top.parent / target)
        os.replace(new, link)

    def link_file(self):
        target = self.random.choice(sorted((self.top.parent / "left").rglob("*tfevents*")))
        new = self.file().parent / "new-link"
        new.symlink_to(target)
        os.replace(new, new.with_name("linked.tfevents.1"))

    def append_behind_link(self):
        side = self.top.parent / self.random.choice(["left", "right", "east", "west"])
        append(self.random.choice(sorted(side.rglob("*tfevents*"))), points(self.number()))

    def add_behind_link(self):
        side = self.top.parent / self.random.choice(["left", "right", "east", "west"])
        write(side / f"new-{self.number()}" / EVENTS, version(), points(self.number()))

    def chmod(self):
        self.random.choice([self.file(), self.file().parent]).chmod(
            self.random.choice([0o700, 0o755])
        )

    def configure(self):
        """In place; always of the same size."""
        config = self.random.choice([self.top, self.file().parent]) / "hparams.yaml"
        config.write_text(f"lr: {self.random.randrange(10)}\n")

    def reconfigure(self):
        config = self.file().parent / "hparams.yaml"
        config.with_name("draft").write_text(f"lr: {self.random.randrange(10)}\n")
        os.replace(config.with_name("draft"), config)

    def unconfigure(self):
        for config in sorted(self.top.rglob("hparams.yaml"))[:1]:
            config.unlink()

    def beat(self):
        path = self.file().parent / "heartbeat"
        path.with_name("beat").write_text(str(self.number()))
        os.replace(path.with_name("beat"), path)

    def add_fifo(self):
        os.mkfifo(self.file().parent / f"fifo-{self.number()}.tfevents")

    def change(self):
        changes = [name for name in vars(Folder) if not name.startswith("_")]
        kinds = sorted(set(changes) - {"number", "files", "file", "change"})
        name = self.random.choice(kinds)
        getattr(self, name)()
        return name
