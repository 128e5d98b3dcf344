# SPDX-License-Identifier: BSL-1.0
"""A Prometheus of our own, on a free port of this machine, and its answers."""
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request


class Collector:
    """In `with`: scrapes http://ADDRESS/HOST of each host every so many seconds, as instance HOST."""

    def __init__(self, program, address, hosts, seconds, folder):
        self.folder = pathlib.Path(folder)
        targets = [{"targets": [address], "labels": {"instance": host, "__metrics_path__": f"/{host}"}} for host in hosts]
        config = {"global": {"scrape_interval": f"{seconds}s", "scrape_timeout": f"{seconds}s"},
                  "scrape_configs": [{"job_name": "leasehold", "static_configs": targets}]}
        (self.folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.command = [program, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/series",
                        f"--web.listen-address={self.address}", "--log.level=error"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5):
                    return self
            except (urllib.error.URLError, OSError):
                if time.monotonic() > end or self.process.poll() is not None:
                    self.__exit__()
                    raise
                time.sleep(0.1)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def series(self, query, start, end, step):
        """[(labels, [(time, value)])] of a query over a time, in the order of the labels."""
        asked = urllib.parse.urlencode({"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step}"})
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/query_range?{asked}", timeout=60) as answer:
                said = json.load(answer)
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{query}: {refused.read().decode()}") from refused
        found = [(each["metric"], [(at, float(value)) for at, value in each["values"]]) for each in said["data"]["result"]]
        return sorted(found, key=lambda each: sorted(each[0].items()))
