#!/usr/bin/env python3
"""Says whether other people's tools accept our volumes.

    warc_gate.py FOLDER|VOLUME…

No single checker finds everything (truncation passes warcio, one big gzip member passes gzip), so each
volume must pass all of: `gzip -t`, `warcio check`, `fastwarc check`, our own look at the named fields,
and an index of warcio that counts as many records as fastwarc reads. Revisits must refer to a response
in this or an earlier volume. Exit code 0: all is well; 1: what is not is printed, a line for each.

Run it with the Python of the environment that tools/venv.sh makes.
"""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType

TOOLS = Path(sys.executable).parent
ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}>")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
PROFILES = {
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
}
NEEDED = {
    "warcinfo": ["Content-Type"],
    "request": ["WARC-Target-URI", "WARC-Concurrent-To", "Content-Type"],
    "response": ["WARC-Target-URI", "WARC-Concurrent-To", "WARC-Block-Digest", "Content-Type"],
    "revisit": [
        "WARC-Target-URI",
        "WARC-Concurrent-To",
        "WARC-Profile",
        "WARC-Refers-To-Target-URI",
        "WARC-Refers-To-Date",
    ],
}


def volumes(arguments):
    """The files meant, in the order they were written."""
    for argument in map(Path, arguments):
        if argument.is_dir():
            yield from sorted(argument.glob("*.warc.gz"))
        else:
            yield argument


class Gate:
    def __init__(self):
        self.problems = []
        self.ids = set()
        self.captures = set()
        self.records = 0

    def volume(self, path):
        self.path = path
        self.tool("gzip -t", [shutil.which("gzip"), "-t", path])
        self.tool("warcio check", [TOOLS / "warcio", "check", path])
        self.tool("fastwarc check", [TOOLS / "fastwarc", "check", "--quiet", path])
        records = self.fields()
        self.index(records)
        self.records += records

    def tool(self, name, command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            self.problem(f"{name} refuses it: {done.stdout.strip()[:2000]}")

    def fields(self):
        """What every record must say of itself and of others; returns their number."""
        local, wanted, last_date = set(), [], {}
        count = 0
        with open(self.path, "rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.any_type, parse_http=False):
                count += 1
                self.record(record, count, local, wanted, last_date)
        for id_, concurrent in wanted:
            if concurrent not in local:
                self.problem(f"{id_} is concurrent to {concurrent}, which is not there")
        return count

    def record(self, record, count, local, wanted, last_date):
        fields = [(name, value) for name, value in record.headers.items()]
        said = dict(fields)
        kind, id_, date = said.get("WARC-Type"), said.get("WARC-Record-ID", ""), said.get("WARC-Date", "")
        where = f"{kind} {id_}"
        if count == 1 and kind != "warcinfo":
            self.problem("it does not begin with a warcinfo")
        if not ID.fullmatch(id_):
            self.problem(f"{where}: no proper record id")
        if id_ in self.ids:
            self.problem(f"{where}: the id is taken")
        if not DATE.fullmatch(date):
            self.problem(f"{where}: no proper date: {date!r}")
        names = [name for name, _ in fields if name != "WARC-Concurrent-To"]
        if len(names) != len(set(names)):
            self.problem(f"{where}: a field is repeated")
        if kind not in NEEDED:
            self.problem(f"{where}: an unexpected type of record")
        for name in NEEDED.get(kind, []):
            if name not in said:
                self.problem(f"{where}: {name} is missing")
        if kind == "warcinfo" and "WARC-Target-URI" in said:
            self.problem(f"{where}: a warcinfo has no target")
        self.ids.add(id_)
        local.add(id_)
        if "WARC-Concurrent-To" in said:
            self.concurrent(said, where, wanted, last_date)
        if kind == "response":
            self.captures.add((said.get("WARC-Target-URI"), date))
        if kind == "revisit":
            self.revisit(said, where)

    def concurrent(self, said, where, wanted, last_date):
        """Records of one capture name each other and share a date."""
        id_, other, date = said["WARC-Record-ID"], said["WARC-Concurrent-To"], said.get("WARC-Date")
        wanted.append((id_, other))
        if other in last_date and last_date[other] != date:
            self.problem(f"{where}: its date is not that of {other}")
        last_date.clear()
        last_date[id_] = date

    def revisit(self, said, where):
        profile = said.get("WARC-Profile", "")
        if profile not in PROFILES:
            self.problem(f"{where}: unknown profile {profile!r}")
        if profile.endswith("server-not-modified") and said.get("Content-Length") != "0":
            self.problem(f"{where}: pywb would replay its block, which has no body")
        # Of a chunked response it stands in our own field; see docs/formats.md.
        digest = "WARC-Payload-Digest" in said or " payload=sha1:" in said.get("Harvestman-Visit", "")
        if profile.endswith("identical-payload-digest") and not digest:
            self.problem(f"{where}: no payload digest")
        target = (said.get("WARC-Refers-To-Target-URI"), said.get("WARC-Refers-To-Date"))
        if target not in self.captures:
            self.problem(f"{where}: there is no response {target} before it")

    def index(self, records):
        done = subprocess.run(
            [TOOLS / "warcio", "index", "--fields", "offset,length,warc-type", self.path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        rows = [json.loads(line) for line in io.StringIO(done.stdout) if line.strip()]
        if len(rows) != records:
            self.problem(f"the index has {len(rows)} rows for {records} records")
        end = 0
        for row in rows:
            if int(row["offset"]) != end:
                self.problem(f"the index has a gap before {row['offset']}")
            end = int(row["offset"]) + int(row["length"])
        if rows and end != self.path.stat().st_size:
            self.problem(f"the index ends at {end}, the file at {self.path.stat().st_size}")

    def problem(self, text):
        self.problems.append(f"{self.path}: {text}")


def main():
    files = list(volumes(sys.argv[1:]))
    if not files:
        print("no volumes to check", file=sys.stderr)
        return 1
    gate = Gate()
    for path in files:
        gate.volume(path)
    for problem in gate.problems:
        print(problem)
    if gate.problems:
        return 1
    print(f"{len(files)} volumes, {gate.records} records, {len(gate.captures)} responses: all accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
