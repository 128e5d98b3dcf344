# SPDX-License-Identifier: BSL-1.0
"""Runs checks that were built with all mutants in them, one mutant at a time, and reads the list of survivors that are known."""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

NOBODYS = "4294967295"  # a number that no mutant has
STUCK = 20  # seconds in which all threads sleep


class Unsound(Exception):
    """A check that fails anyway would kill anything."""


def sleeping(pid):
    """Whether no thread of the process runs or wants to: on a busy machine a slow process is not one that is stuck."""
    try:
        states = [path.read_text().rpartition(")")[2].split()[0] for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return bool(states) and all(state in "SZ" for state in states)


@dataclasses.dataclass
class Check:
    """A program that is to notice mutants."""
    name: str
    sources: list
    flags: list = dataclasses.field(default_factory=list)
    link: list = dataclasses.field(default_factory=list)
    run: list = dataclasses.field(default_factory=list)
    separate: list = dataclasses.field(default_factory=list)  # sources that are compiled for themselves
    same: str = ""  # another check, whose program this is too
    program: pathlib.Path = None
    limit: int = 300  # seconds of processor time
    seen: set = dataclasses.field(default_factory=set)

    def start(self, number, seen="", log=None):
        """(what it died of or "", seconds of processor time, output) of one run."""
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit + 1))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        environment = {**os.environ, "LEASEHOLD_MUTANT": str(number)}
        if seen:
            environment["LEASEHOLD_MUTANTS_SEEN"] = seen
        with tempfile.TemporaryFile(mode="w+") as output:
            process = subprocess.Popen([str(self.program), *self.run], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment,
                                       preexec_fn=limits)
            asleep = time.monotonic()
            while True:
                done, status, used = os.wait4(process.pid, os.WNOHANG)
                if done:
                    break
                if not sleeping(process.pid):
                    asleep = time.monotonic()
                elif time.monotonic() - asleep > STUCK:
                    os.kill(process.pid, signal.SIGKILL)  # kill() of Popen may wait for it
                    _, _, used = os.wait4(process.pid, 0)
                    status = None
                    break
                time.sleep(0.01)
            process.returncode = 0  # it has been waited for
            output.seek(0)
            text = output.read(1 << 20)
        seconds = used.ru_utime + used.ru_stime
        if status is None:
            return "hangs", seconds, text
        if os.WIFSIGNALED(status):
            died_of = os.WTERMSIG(status)
            return ("goes on for ever" if died_of in (signal.SIGKILL, signal.SIGXCPU) else f"crashes (signal {died_of})"), seconds, text
        return self.what_failed(text) if os.WEXITSTATUS(status) else "", seconds, text

    @staticmethod
    def what_failed(text):
        for pattern in (r'error: in "([^"]*)"', r"BROKEN after.*? s: (.*)"):
            found = re.search(pattern, text)
            if found:
                return found.group(1)
        return "fails"

    def measure(self):
        """Runs it without a mutant: what it can see, and how long it may take."""
        for number in ("0", NOBODYS):
            with tempfile.NamedTemporaryFile(mode="r") as seen:
                failure, seconds, text = self.start(number, seen.name)
                if failure:
                    raise Unsound(f"{self.name} fails without a mutant: {failure}\n{text[-2000:]}")
                self.seen |= {int(line) for line in seen.read().split()}
        self.limit = int(4 * seconds) + 3
        print(f"{self.name}: {seconds:.1f} s of processor time, sees {len(self.seen)} mutants", flush=True)


def run_one(mutant, checks):
    mutant.killed_by, mutant.seen_by = None, []
    for check in checks:
        if mutant.number not in check.seen:
            continue
        mutant.seen_by.append(check)
        failure, *_ = check.start(mutant.number)
        if failure:
            mutant.killed_by = (check.name, failure)
            return mutant
    return mutant


def run_all(mutants, checks, jobs, describe):
    """Sets killed_by and seen_by of each."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, mutant in enumerate(pool.map(lambda each: run_one(each, checks), mutants), 1):
            outcome = "killed by " + ": ".join(mutant.killed_by) if mutant.killed_by else "SURVIVES" if mutant.seen_by else "SURVIVES, unseen"
            print(f"[{done}/{len(mutants)}] {describe(mutant)}: {outcome}", flush=True)


@dataclasses.dataclass
class Entry:
    line: int
    header: str
    text: str
    kind: str = ""
    expression: str = ""
    reason: str = ""
    used: bool = False


class Known:
    """equivalent.txt, which says itself how it is written."""

    def __init__(self, path):
        self.path, self.entries = path, []
        if not path.exists():
            return
        reason = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            word, _, rest = line.partition(" ")
            rest = rest.strip()
            if not line.strip() or line.startswith("#"):
                reason = False
            elif word == "in" and ": " in rest:
                header, text = rest.split(": ", 1)
                self.entries.append(Entry(number, header, text))
            elif word == "mutant" and ": " in rest and self.entries:
                self.entries[-1].kind, self.entries[-1].expression = rest.split(": ", 1)
            elif word == "because" and rest and self.entries:
                self.entries[-1].reason, reason = rest, True
            elif line.startswith(" ") and reason:
                self.entries[-1].reason += " " + line.strip()
            else:
                raise Unsound(f"{path.name}:{number}: what is '{line}'?")
        for entry in self.entries:
            if not entry.kind or not entry.reason:
                raise Unsound(f"{path.name}:{entry.line}: it needs the lines `in HEADER: LINE`, `mutant KIND: EXPRESSION` and `because REASON`")

    @staticmethod
    def key(mutant):
        place = mutant.place
        expression = " ".join(place.header.text[place.begin:place.end].split())
        changed = place.header.changed_by(mutant)
        instead = changed[place.begin:place.end + len(changed) - len(place.header.text)]
        return place.header.name, place.header.line_text(place.begin), mutant.kind, f"{expression} -> {' '.join(instead.split())}"

    def find(self, mutant):
        key = self.key(mutant)
        found = next((entry for entry in self.entries if (entry.header, entry.text, entry.kind, entry.expression) == key), None)
        if found:
            found.used = True
        return found

    def entry_for(self, mutant):
        header, text, kind, expression = self.key(mutant)
        return f"    in {header}: {text}\n    mutant {kind}: {expression}\n    because ..."

    def unused(self):
        return [entry for entry in self.entries if not entry.used]
