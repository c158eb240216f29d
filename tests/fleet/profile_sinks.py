#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# profile_sinks.py PORT_FILE OUT: stands in for Pyroscope's /ingest and Parca's /profiles/writeraw, as both document them, and
# refuses what they would: a form without its parts, a profile that is no gzip'd profile.proto, ids out of order, a sample
# type that nobody declared. What was taken is written to OUT, a JSON object a line. A format test: neither program is here.
import base64, email.parser, email.policy, gzip, http.server, json, os, re, sys, urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../flow"))
from check_exports import fields, packed


class Refused(Exception):
    pass


def claim(good, why):
    if not good:
        raise Refused(why)


def read_profile(raw):
    """What Parca's validation asks of a profile; {sample type: sum of values}."""
    claim(raw[:2] == b"\x1f\x8b", "the profile is not gzip'd")
    top = fields(gzip.decompress(raw))
    texts = [v.decode() for n, v in top if n == 6]
    claim(texts and texts[0] == "", "the first text is not empty")
    ids = {n: [dict(fields(v)).get(1, 0) for m, v in top if m == n] for n in (3, 4, 5)}
    for number, what in ((3, "mapping"), (4, "location"), (5, "function")):
        claim(ids[number] == list(range(1, len(ids[number]) + 1)), f"{what} ids do not count up from 1")
    types = [texts[dict(fields(v))[1]] for n, v in top if n == 1]
    units = [texts[dict(fields(v))[2]] for n, v in top if n == 1]
    sums = [0] * len(types)
    for n, v in top:
        if n == 2:
            sample = dict(fields(v))
            values = packed(sample[2])
            claim(len(values) == len(types), "a sample has not one value a type")
            claim(all(0 < i <= len(ids[4]) for i in packed(sample[1])), "a sample is at a place that is not there")
            sums = [a + b for a, b in zip(sums, values)]
    claim(any(sums), "no sample")
    return dict(zip(types, sums)), dict(zip(types, units))


def pyroscope(query, headers, body):
    one = {k: v[0] for k, v in query.items()}
    claim(one.get("format") == "pprof", "format is not pprof")
    claim(re.fullmatch(r"[^{}]+(\{[\w.-]+=[^,{}]+(,[\w.-]+=[^,{}]+)*\})?", one.get("name", "")), "no name, or labels that cannot be read")
    claim(one.get("from", "").isdigit() and one.get("until", "").isdigit() and int(one["from"]) < int(one["until"]), "from and until are no seconds in order")
    claim(headers.get_content_type() == "multipart/form-data", "the body is no form")
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body)
    parts = {p.get_param("name", header="content-disposition"): p for p in form.iter_parts()}
    claim("profile" in parts and parts["profile"].get_filename(), "no file 'profile' in the form")
    sums, units = read_profile(parts["profile"].get_payload(decode=True))
    claim("sample_type_config" in parts and parts["sample_type_config"].get_filename(), "no file 'sample_type_config' in the form: types that are not Go's would be dropped")
    config = json.loads(parts["sample_type_config"].get_payload(decode=True))
    for kind, how in config.items():
        claim(kind in sums, f"the profile has no type {kind}")
        claim(set(how) <= {"units", "display-name", "aggregation", "cumulative", "sampled"} and how["units"] == units[kind], f"{kind}: {how}")
    return {"name": one["name"], "from": int(one["from"]), "until": int(one["until"]), "values": {k: sums[k] for k in config}}


def parca(query, headers, body):
    claim(headers.get_content_type() == "application/json", "the body is not JSON")
    request = json.loads(body)
    claim(set(request) <= {"series", "normalized"} and len(request["series"]) == 1, "no series")
    (series,) = request["series"]
    labels = {l["name"]: l["value"] for l in series["labels"]["labels"]}
    claim(labels.get("__name__"), "no label __name__")
    claim(all(re.fullmatch(r"[a-zA-Z_]\w*", name) for name in labels), "a label's name is none")
    (sample,) = series["samples"]
    sums, _ = read_profile(base64.b64decode(sample["rawProfile"], validate=True))
    return {"labels": labels, "values": sums}


class Sink(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        take = {"/ingest": pyroscope, "/profiles/writeraw": parca}.get(url.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            claim(take, "no such path")
            taken = take(urllib.parse.parse_qs(url.query), self.headers, body)
            with open(sys.argv[2], "a") as out:
                out.write(json.dumps(taken) + "\n")
            status, answer = 200, b"{}"
        except (Refused, ValueError, KeyError, IndexError, SystemExit) as e:
            status, answer = 400, str(e).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Sink)
with open(sys.argv[1] + ".part", "w") as out:
    out.write(str(server.server_port))
os.rename(sys.argv[1] + ".part", sys.argv[1])
server.serve_forever()
