# SPDX-License-Identifier: BSL-1.0
"""A scene for the dashboard: three hosts, each with `leasehold elect --metrics-file` for two leases on one SQLite file, and what
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
TTL = 6
FROZEN = 15  # seconds, longer than the ttl, as the next
LOCKED = 12
STEPS = ["somebody asks for the scheduler", "the host that holds the invoices is frozen for 15 s", "an operator ends the scheduler's term",
         "the database is locked for 12 s"]


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
        for index, act in enumerate((self._ask, self._freeze, self._release, self._lock)):
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

    def _stand(self, host, lease):
        host.commands[lease] = subprocess.Popen(
            [self.leasehold, "elect", lease, "--owner", host.name, "--ttl", f"{TTL}s", "--handover-signal", "TERM", "--metrics-file",
             str(host.folder / f"{lease}.prom"), "--", "sleep", "infinity"],
            env=self.environment, start_new_session=True, stderr=subprocess.DEVNULL)
        metrics = host.folder / f"{lease}.prom"
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
