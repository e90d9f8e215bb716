"""Evaluates every expression of the dashboards and rules in a real Prometheus that scrapes a real helxd under load.

dashboards.py PROMETHEUS SOURCE_TREE METRICS_ADDRESS FOLDER SECONDS JOBS_FILE

JOBS_FILE holds, once the load has ended, how many jobs it saw end as succeeded. Exits with 0 when every expression gave
data and the counters agree with the load's own counts.
"""

import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


def query(address, expression):
    url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{expression}: {error.read().decode()}")


def expressions(tree):
    for path in sorted((tree / "deploy/grafana").glob("*.json")):
        dashboard = json.loads(path.read_text())
        first = dashboard["templating"]["list"][0]
        assert first["type"] == "datasource", f"{path.name}: the first variable is the data source"
        for panel in dashboard["panels"]:
            if panel["type"] == "row":
                continue
            assert panel["datasource"]["uid"] == "${datasource}", f"{path.name}: {panel['title']}"
            assert panel["fieldConfig"]["defaults"]["unit"], f"{path.name}: {panel['title']} has no unit"
            for target in panel["targets"]:
                assert "or vector(0)" not in target["expr"]
                yield f"{path.name}: {panel['title']}", target["expr"].replace("$__rate_interval", "8s")
    rules = (tree / "deploy/prometheus/helx_rules.yml").read_text()
    for name in re.findall(r"record: (\S+)", rules):
        yield "helx_rules.yml", name


def main():
    prometheus, tree, metrics, folder, seconds, jobs_file = sys.argv[1:]
    tree, folder = pathlib.Path(tree), pathlib.Path(folder)
    config = (tree / "deploy/prometheus/prometheus.yml").read_text()
    config = config.replace("127.0.0.1:9464", metrics).replace("15s", "1s")
    config = config.replace("- helx_", f"- {tree}/deploy/prometheus/helx_")
    (folder / "prometheus.yml").write_text(config)
    # A free port, since Prometheus does not say which one it took.
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    server = subprocess.Popen(
        [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
         f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(float(seconds))
        missing = []
        count = 0
        for where, expression in expressions(tree):
            count += 1
            result = query(address, expression)
            if not any(row["value"][1] not in ("NaN", "") for row in result):
                missing.append(f"{where}: {expression} gives no data")
        jobs = pathlib.Path(jobs_file)
        deadline = time.monotonic() + 60
        while not jobs.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(3)  # two scrapes
        expected = int(jobs.read_text())
        counted = query(address, 'sum(helx_jobs_finished_total{outcome="succeeded"})')
        if int(float(counted[0]["value"][1])) != expected:
            missing.append(f"{expected} jobs succeeded, Prometheus counts {counted[0]['value'][1]}")
        phases = query(address, "sum(helx_jobs)")
        if float(phases[0]["value"][1]) != 0:
            missing.append(f"no job is left, Prometheus counts {phases[0]['value'][1]}")
        print(f"{count} expressions, {expected} jobs")
        print("\n".join(missing))
        return 1 if missing else 0
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
