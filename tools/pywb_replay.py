#!/usr/bin/env python3
"""Replays our volumes with pywb and compares every byte.

    pywb_replay.py FOLDER|VOLUME… [--urls FILE]

Every response and revisit in the volumes (or of the URLs listed in FILE, one a line) is asked for at
its own moment in identity mode (`…/20260102030405id_/URL`), and the answer must be the status and the
payload that was archived: for a revisit the bytes it refers to, for a 304 none. Records whose body was
cut by a limit are left out. pywb files captures by the second and a simplified URL (no scheme, no www),
and passes over a redirect to what it takes for the same URL: captures that it cannot tell apart may
stand for each other. Exit code 0: all is well; 1: what differs is printed, a line for each.

Run it with the Python of the environment that tools/venv.sh makes.
"""

import argparse
import hashlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pywb.utils.canonicalize import canonicalize
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader

# The source tree stays as it is.
sys.dont_write_bytecode = True

from warc_gate import volumes  # noqa: E402

TOOLS = Path(sys.executable).parent
START_SECONDS = 60


class Capture:
    def __init__(self, record, payload):
        headers = record.rec_headers
        self.url = headers.get_header("WARC-Target-URI")
        self.date = headers.get_header("WARC-Date")
        self.status = int(record.http_headers.get_statuscode())
        # pywb answers with the 304 itself and leaves the rest to the browser.
        self.payload = digest(b"") if self.status == 304 else payload

    def moment(self):
        return "".join(c for c in self.date if c.isdigit())[:14]

    def answer(self):
        return self.status, self.payload

    def keys(self):
        """What pywb files it under, and what it may be exchanged with."""
        key = canonicalize(self.url)
        return (key, self.moment()), key


def digest(payload):
    """Whole payloads would not fit in memory."""
    return len(payload), hashlib.sha256(payload).hexdigest()


def captures(paths):
    """All that can be replayed, and how many records were left out because they are cut."""
    found, payloads, cut = [], {}, 0
    for path in paths:
        with open(path, "rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type not in ("response", "revisit"):
                    continue
                headers = record.rec_headers
                if record.rec_type == "revisit":
                    target = (
                        headers.get_header("WARC-Refers-To-Target-URI"),
                        headers.get_header("WARC-Refers-To-Date"),
                    )
                    if target not in payloads:
                        cut += 1
                        continue
                    capture = Capture(record, payloads[target])
                elif headers.get_header("WARC-Truncated"):
                    cut += 1
                    continue
                else:
                    capture = Capture(record, digest(payload(record)))
                    payloads[(capture.url, capture.date)] = capture.payload
                found.append(capture)
    return found, cut


def payload(record):
    """Without chunk framing, but with its content coding: what a client that asks for it is sent."""
    if (record.http_headers.get_header("Transfer-Encoding") or "").lower() == "chunked":
        return read_all(ChunkedDataReader(record.raw_stream, decomp_type=None))
    return read_all(record.raw_stream)


def read_all(stream):
    parts = []
    while part := stream.read(1 << 16):
        parts.append(part)
    return b"".join(parts)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Replay:
    """A pywb of our own in a folder that goes away with it."""

    def __init__(self, paths):
        self.folder = tempfile.mkdtemp(prefix="replay-")
        environment = dict(os.environ, PYTHONWARNINGS="ignore")
        manager = [TOOLS / "wb-manager"]
        quiet = {"cwd": self.folder, "env": environment, "check": True, "capture_output": True}
        subprocess.run([*manager, "init", "it"], **quiet)
        subprocess.run([*manager, "add", "it", *(path.resolve() for path in paths)], **quiet)
        self.port = free_port()
        self.log = open(Path(self.folder) / "pywb.log", "wb")
        self.server = subprocess.Popen(
            [TOOLS / "pywb", "--bind", "127.0.0.1", "--port", str(self.port)],
            cwd=self.folder,
            env=environment,
            stdout=self.log,
            stderr=self.log,
        )

    def wait(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.server.poll() is not None:
                    break
                time.sleep(0.2)
        raise RuntimeError("pywb did not start: " + (Path(self.folder) / "pywb.log").read_text())

    def fetch(self, capture):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            path = f"/it/{capture.moment()}id_/{capture.url}"
            connection.request("GET", path, headers={"Accept-Encoding": "gzip, br, zstd"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def end(self):
        self.server.terminate()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def compare(replay, found, everything):
    accepted = {}
    for capture in everything:
        for key in capture.keys():
            accepted.setdefault(key, set()).add(capture.answer())
    problems = []
    for capture in found:
        status, body = replay.fetch(capture)
        exact, alike = capture.keys()
        is_redirect = 300 <= capture.status < 400 and capture.status != 304
        if (status, digest(body)) not in accepted[alike if is_redirect else exact]:
            problems.append(
                f"{capture.url} of {capture.date}: archived were {capture.status} and "
                f"{capture.payload[0]} bytes, replayed {status} and {len(body)} bytes that differ"
            )
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("volumes", nargs="+")
    parser.add_argument("--urls", type=Path, help="a file with the URLs to ask for, one a line")
    options = parser.parse_args()
    paths = list(volumes(options.volumes))
    everything, cut = captures(paths)
    found = everything
    if options.urls:
        wanted = set(options.urls.read_text().split())
        found = [capture for capture in found if capture.url in wanted]
        for url in sorted(wanted - {capture.url for capture in found}):
            print(f"{url}: not in the volumes")
            return 1
    if not found:
        print("nothing to replay", file=sys.stderr)
        return 1
    replay = Replay(paths)
    try:
        replay.wait()
        problems = compare(replay, found, everything)
    finally:
        replay.end()
    for problem in problems:
        print(problem)
    if problems:
        return 1
    print(f"{len(found)} captures replayed byte for byte, {cut} left out because they are cut")
    return 0


if __name__ == "__main__":
    sys.exit(main())
