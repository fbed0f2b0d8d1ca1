#!/usr/bin/env python3
"""Replays our volumes with pywb and compares every byte.

    pywb_replay.py FOLDER|VOLUME… [--urls FILE] [--sent FILE]

Every response and revisit in the volumes (or of the URLs listed in FILE, one a line) is asked for at
its own moment in identity mode (`…/20260102030405id_/URL`), and the answer must be the status and the
payload that was archived: for a revisit the bytes it refers to; where it has no head of its own (the
server said 304), the status as well. What has several captures is asked for without a date, too, and must
be the newest. With --sent (JSON: for each URL the bodies that the server meant at its visits, in their
order) these are what is compared, not what the records say. Records whose body was cut by a limit are left out. pywb files captures by the second and a simplified URL (no scheme, no www),
and passes over a redirect to what it takes for the same URL: captures that it cannot tell apart may
stand for each other. Exit code 0: all is well; 1: what differs is printed, a line for each.

Run it with the Python of the environment that tools/venv.sh makes.
"""

import argparse
import hashlib
import http.client
import json
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
    def __init__(self, record, status, payload):
        headers = record.rec_headers
        self.url = headers.get_header("WARC-Target-URI")
        self.date = headers.get_header("WARC-Date")
        head = record.http_headers
        self.status = int(head.get_statuscode()) if head else status
        self.payload = payload

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
                    capture = Capture(record, *payloads[target])
                elif headers.get_header("WARC-Truncated"):
                    cut += 1
                    continue
                else:
                    capture = Capture(record, None, digest(payload(record)))
                    payloads[(capture.url, capture.date)] = capture.status, capture.payload
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

    def fetch(self, capture, dated=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            path = f"/it/{capture.moment() if dated else ''}id_/{capture.url}"
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
    newest = {}
    for capture in everything:
        if capture.status == 200:
            newest.setdefault(capture.keys()[1], []).append(capture)
    for capture in found:
        same = newest.get(capture.keys()[1], [])
        last = max((other.moment() for other in same), default=None)
        if len(same) < 2 or capture.moment() != last or capture.status != 200:
            continue
        status, body = replay.fetch(capture, dated=False)
        if (status, digest(body)) not in [o.answer() for o in same if o.moment() == last]:
            problems.append(f"{capture.url} without a date: {status} and {len(body)} bytes that differ")
    return problems


def expect(everything, sent):
    """The captures of these URLs, with what the server meant instead of what the records say."""
    found = []
    for url, bodies in sent.items():
        captures = sorted((c for c in everything if c.url == url), key=lambda c: c.date)
        if len(captures) != len(bodies):
            sys.exit(f"{url}: {len(bodies)} visits, {len(captures)} captures")
        for capture, body in zip(captures, bodies):
            capture.status, capture.payload = 200, digest(body.encode())
        found += captures
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("volumes", nargs="+")
    parser.add_argument("--urls", type=Path, help="a file with the URLs to ask for, one a line")
    parser.add_argument("--sent", type=Path, help="a file with the bodies that the server meant, by URL")
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
    if options.sent:
        found = expect(everything, json.loads(options.sent.read_text()))
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
