#!/usr/bin/env python3
"""Corpora to begin with, made from the public conformance data beside the project where it is there.

    seeds.py TARGET FOLDER     writes files named by their contents, so that nothing is doubled

Without the data a few seeds of our own are written, so that every target begins with something of its kind.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "shared" / "conformance"
# libFuzzer does better with small seeds, and each is tried at every start.
BYTES_MAX = 60_000


def read_json(name):
    path = DATA / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def files(folder, pattern="*"):
    return [path.read_bytes() for path in sorted((DATA / folder).glob(pattern)) if path.is_file()]


def text(value):
    return value.encode("utf-8", "surrogatepass")


def url():
    yield from (b"http://a.org/", b"https://EXAMPLE.org:443/a/../b?x=1&utm_a=2#f", b"http://a.org/\n../b")
    for name in ("url/urltestdata.json", "url/ada_extra_urltestdata.json"):
        for case in read_json(name):
            if isinstance(case, dict) and "input" in case:
                yield text(case["input"])
                yield text(f"{case.get('base') or ''}\n{case['input']}")
    for name in ("url/toascii.json", "url/IdnaTestV2.json"):
        for case in read_json(name):
            if isinstance(case, dict):
                yield text(f"http://{case['input']}/")


def robots():
    yield b"User-agent: *\nDisallow: /a*b$\nAllow: /a/index.html\nCrawl-delay: 2\nSitemap: /s.xml\n"
    data = read_json("robots.json")
    bodies = data.get("bodies", {}) if isinstance(data, dict) else {}
    yield from (text(body) for body in bodies.values() if isinstance(body, str))
    yield from files("robots_files")


def html():
    yield b"\0<!doctype html><title>t</title><base href=/b/><a href=c rel=nofollow>d</a><p>&eacute;<img src=e>"
    yield b"\6@import 'a.css'; b { background: url(c.png) }"
    for data in files("html5lib/tree-construction", "*.dat"):
        for part in data.split(b"#data\n")[1:]:
            yield b"\0" + part.split(b"\n#errors")[0]
    for data in files("html5lib/encoding", "*.dat"):
        for part in data.split(b"#data\n")[1:]:
            yield b"\0" + part.split(b"\n#encoding")[0]
    for case in (read_json("html/meta_refresh.json") or {"cases": []})["cases"]:
        yield b"\0<meta http-equiv=refresh content='" + text(str(case[0])) + b"'>"
    srcset = read_json("html/srcset.json")
    for case in srcset.get("cases", []) if isinstance(srcset, dict) else srcset:
        first = case[0] if isinstance(case, list) else case.get("srcset", "")
        yield b"\0<img srcset='" + text(str(first)) + b"'>"
    yield from (b"\4" + text(line) for line in read_json("strings/blns.json"))


def notices():
    yield b"\0<urlset><url><loc>http://www.example.org/x</loc><lastmod>2025-01-02</lastmod></url></urlset>"
    yield b"\1<feed><entry><link href='/y'/><updated>2025-01-02T03:04:05Z</updated></entry></feed>"
    yield b"\2<rdf:RDF><rdf:Description about='/z' lastmod='2025-01-02'/></rdf:RDF>"
    for which in (b"\0", b"\1", b"\2"):
        yield from (which + data for data in files("sitemaps"))


def http():
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<a href=b>c</a"
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n<a h\r\n0\r\nA: b\r\n\r\n"
    yield b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.0 301 \r\nLocation: /b\r\nSet-Cookie: a=b\r\n\r\n"
    yield b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, br\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\3KLJ\x06\0"
    yield b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x04\0\x19\0\0abc"
    yield b"ICY 200 OK\r\n\r\nx"
    for case in read_json("http/content-lengths.json"):
        yield b"HTTP/1.1 200 OK\r\n" + text(case["input"]) + b"\r\n\r\n" + b"x" * 42


def cookies():
    yield b"a=b; Domain=.example.co.uk; Path=/a; Max-Age=5; Secure; HttpOnly\nc=d; Expires=Wed, 09 Jun 2027 10:18:14 GMT"
    yield b".example.co.uk\tTRUE\t/\tFALSE\t1900000000\ta\tb\n"
    yield b'[{"name":"a","value":"b","domain":"www.example.co.uk","path":"/","expirationDate":1900000000.5}]'
    for case in read_json("cookies/parser.json"):
        yield text("\n".join(case["received"]))
    for name in ("cookies/dates-examples.json", "cookies/dates-bsd-examples.json"):
        for case in read_json(name):
            yield text(f"a=b; Expires={case['test']}")


def warc():
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    head = "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.org/\r\n"
    head += "WARC-Date: 2025-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:12345678-1234-4321-8765-123456789abc>\r\n"
    record = text(f"{head}Content-Type: application/http;msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n") + block + b"\r\n\r\n"
    yield record
    # A zstd frame with one block as it is (RFC 8878, 3.1.1), alone, and behind a skippable frame and a dictionary that is none.
    sizes = len(record).to_bytes(4, "little") + (len(record) << 3 | 1).to_bytes(3, "little")
    frame = b"\x28\xb5\x2f\xfd\xa0" + sizes + record
    yield frame + frame
    yield frame + b"\x50\x2a\x4d\x18\x02\0\0\0ab" + frame
    yield b"\x5d\x2a\x4d\x18\x08\0\0\0\x37\xa4\x30\xec\x01\x80\0\0" + frame
    yield from files("warc")


def config():
    yield b"[crawl]\nscope = 'domain'\ndepth = 5\n[etiquette]\ndelay = '2s'\n"
    yield b"[[override]]\nwhen = 'host a.org'\netiquette.delay = '1s'\n"
    yield b"[[credential]]\norigin = 'https://a.org'\nbasic = 'a:b'\n[[login]]\npage = 'http://a.org/l'\nsuccess = 'cookie s'\nfields = { u = 'v' }\n"
    yield b"[[webhook]]\nurl = 'https://a.org/h'\nsecret = 'x'\nkinds = ['changed']\n"
    yield b"crawl.scope=any"
    # Every key as the manual writes it, one by one, and its worked examples.
    manual = (HERE.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
    for section, example in re.findall(r"^### `(\w+)\.\w+`$.*?Example: `([^`]+)`", manual, re.M | re.S):
        yield text(f"[{section}]\n{example}\n")
        yield text(f"{section}.{example}")
    for block in manual.split("```toml\n")[1:]:
        yield text(block.split("```")[0])


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in globals():
        sys.exit("usage: seeds.py TARGET FOLDER")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {seed[:BYTES_MAX] for seed in globals()[sys.argv[1]]()}
    for seed in seeds:
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    told = "" if DATA.is_dir() else " (no conformance data: our own only)"
    print(f"{sys.argv[1]}: {len(seeds)} seeds{told}")


if __name__ == "__main__":
    main()
