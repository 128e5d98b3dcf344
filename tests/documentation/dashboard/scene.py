# SPDX-License-Identifier: BSL-1.0
"""A scene for the dashboard: three hosts on one SQLite file, each with `leasehold elect`, `every` and `shard --metrics-file`, and what
node_exporter would answer for each of them."""
import contextlib
import http.server
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time

HOSTS = {"host-a": ["scheduler"], "host-b": ["scheduler", "invoices"], "host-c": ["scheduler", "invoices"]}
JOB = "report"
GROUP = "orders"
SHARDS = 6
LEASES = ["scheduler", "invoices", JOB]  # those that the picture shows; each shard is a lease, too
TTL = 6
FROZEN = 15  # seconds, longer than the ttl, as the next
LOCKED = 12
PERIOD = 20  # of the job
FAILING = 30  # longer than the period, as the next: so a fire is given up
HANGING = 55  # more than two periods: all fires but the last are missed
DRAIN_TIMEOUT = 3
DRAIN = 5  # what the work on shards takes; longer than the timeout
AWAY = 30
SHORTEST = 420  # of a scene: a step lasts a minute at most
STEPS = ["somebody asks for the scheduler", "the host that holds the invoices is frozen for 15 s", "an operator ends the scheduler's term",
         "the database is locked for 12 s", "the report and the work on a shard fail for 30 s", "a run of the report hangs for 55 s",
         "a host leaves the group for 30 s"]
# What the job and the work on a shard do is decided by files of these names in the folder that is their first argument.
FAILS = "fails"
HANGS = "hangs"
JOB_SCRIPT = f'[ ! -e "$0/{FAILS}" ] || exit 1; [ ! -e "$0/{HANGS}" ] || sleep {HANGING}; sleep 2'
SHARD_SCRIPT = f"""trap 'sleep {DRAIN}; exit 0' TERM
while [ "$LEASEHOLD_SHARD" != 0 ] || [ ! -e "$0/{FAILS}" ]; do sleep 0.5; done
exit 1"""


class Host:
    def __init__(self, name, folder):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.frozen = False
        self.commands = {}

    def text(self):
        """What the textfile collector of this host's node_exporter would answer."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.prom")))

    def freeze(self, frozen):
        self.frozen = frozen
        for command in self.commands.values():
            os.killpg(command.pid, signal.SIGSTOP if frozen else signal.SIGCONT)


class Scene:
    """In `with`: all runs; at the end all that was started is ended."""

    def __init__(self, leasehold, folder):
        self.leasehold = leasehold
        self.folder = pathlib.Path(folder)
        self.database = self.folder / "leases.db"
        self.hosts = {name: Host(name, self.folder) for name in HOSTS}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD_")}
        self.environment["LEASEHOLD_STORE"] = f"Driver=SQLite3;Database={self.database}"
        self.begun = None
        self.happened = []  # (seconds since the beginning, index into STEPS)

    def __enter__(self):
        self._run("init")
        handler = type("Handler", (_Handler,), {"hosts": self.hosts})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.begun = time.time()
        try:
            for lease in ("scheduler", "invoices"):
                for host in self.hosts.values():
                    if lease in HOSTS[host.name]:
                        self._stand(host, lease)
            for host in self.hosts.values():
                self._start(host, JOB, "every", ["--once-per", f"{PERIOD}s", "--retry", "1"], ["sh", "-c", JOB_SCRIPT, str(self.folder)])
                self._join(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        commands = [command for host in self.hosts.values() for command in host.commands.values()]
        for host in self.hosts.values():
            host.freeze(False)
        for command in commands:
            command.terminate()
        for command in commands:
            command.wait(60)
        self.server.shutdown()

    def address(self):
        return f"127.0.0.1:{self.server.server_address[1]}"

    def play(self, seconds):
        """All steps, evenly spread over the time."""
        for index, act in enumerate((self._ask, self._freeze, self._release, self._lock, self._fail, self._hang, self._leave)):
            self._sleep_until(self.begun + seconds * (index + 1) / (len(STEPS) + 1))
            self.happened.append((time.time() - self.begun, index))
            act()
        self._sleep_until(self.begun + seconds)

    def _ask(self):
        self._run("ask", "scheduler", "--reason", "a new version")

    def _freeze(self):
        host = self.hosts[self._holder("invoices")]
        host.freeze(True)
        time.sleep(FROZEN)
        host.freeze(False)

    def _release(self):
        self._run("release", "scheduler", "--force")

    def _lock(self):
        with contextlib.closing(sqlite3.connect(self.database, timeout=10, isolation_level=None)) as other:
            other.execute("begin immediate")
            time.sleep(LOCKED)
            other.execute("rollback")

    def _fail(self):
        (self.folder / FAILS).touch()
        time.sleep(FAILING)
        (self.folder / FAILS).unlink()

    def _hang(self):
        (self.folder / HANGS).touch()
        time.sleep(PERIOD + 2)  # so that one run sees it
        (self.folder / HANGS).unlink()

    def _leave(self):
        host = self.hosts["host-c"]
        command = host.commands.pop(GROUP)
        command.terminate()
        command.wait(60)
        time.sleep(AWAY)
        self._join(host)

    def _stand(self, host, lease):
        self._start(host, lease, "elect", ["--handover-signal", "TERM"], ["sleep", "infinity"])

    def _join(self, host):
        options = ["--of", str(SHARDS), "--kill-after", "1s", "--drain-timeout", f"{DRAIN_TIMEOUT}s"]
        self._start(host, GROUP, "shard", options, ["sh", "-c", SHARD_SCRIPT, str(self.folder)])

    def _start(self, host, name, subcommand, options, command):
        metrics = host.folder / f"{name}.prom"
        host.commands[name] = subprocess.Popen(
            [self.leasehold, subcommand, name, "--owner", host.name, "--ttl", f"{TTL}s", *options, "--metrics-file", str(metrics), "--", *command],
            env=self.environment, start_new_session=True, stderr=subprocess.DEVNULL)
        self._until(metrics.exists, f"{host.name} writes no metrics")  # so that the first to stand is the first to hold

    def _holder(self, lease):
        """The host whose name the owner begins with."""
        shown = subprocess.run([self.leasehold, "show", lease], env=self.environment, check=True, text=True, capture_output=True).stdout
        return shown.splitlines()[1].split()[1].split("/")[0]

    def _run(self, *words):
        subprocess.run([self.leasehold, *words], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def _until(holds, complaint):
        end = time.monotonic() + 30
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError(complaint)
            time.sleep(0.05)

    @staticmethod
    def _sleep_until(instant):
        time.sleep(max(0, instant - time.time()))


class _Handler(http.server.BaseHTTPRequestHandler):
    hosts = {}

    def do_GET(self):  # noqa: N802 (the base's name)
        host = self.hosts.get(self.path.lstrip("/"))
        known = host is not None and not host.frozen  # a host that is frozen answers nothing
        body = host.text().encode() if known else b""
        self.send_response(200 if known else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # Prometheus has given up
            self.wfile.write(body)

    def log_message(self, *_):
        pass
