# SPDX-License-Identifier: MIT
"""daemon_test.py: the real daemon over real sockets: every safety rule, abuse, streams, live ingest, its end.
Run by test_http.sh with B (build folder). Prints one PASS or FAIL line a test."""
import base64
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

B = os.environ["B"]
SLOW = 4 if os.environ.get("SAN") else 1
PROGRAM = os.path.join(B, "warpsight")
WRITER = os.path.join(B, "web", "spool_writer")


class Daemon:
    def __init__(self, *options, folder=None):
        self.folder = folder or tempfile.mkdtemp(dir=os.environ.get("WS_SCRATCH"))
        self.db = os.path.join(self.folder, "a.db")
        self.spool = os.path.join(self.folder, "spool")
        self.log = open(os.path.join(self.folder, "log"), "a+")
        env = dict(os.environ, WARPSIGHT_SPOOL=self.spool, WARPSIGHT_DB=self.db)
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", *options], env=env, stdout=subprocess.PIPE, stderr=self.log)
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/", self.url).group(1))
        self.token = self.url.partition("token=")[2]
        self.env = env

    def stop(self):
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(10)
        seconds = time.monotonic() - start
        self.log.seek(0)
        log = self.log.read()
        assert "Sanitizer" not in log, log[-4000:]
        return status, seconds

    def raw(self, data, timeout=10):
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            out = b""
            while chunk := s.recv(65536):
                out += chunk
            return out

    def ask(self, path, method="GET", headers=None, body=None, token=True):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        h = {"Authorization": "Bearer " + self.token} if token and self.token else {}
        h.update(headers or {})
        c.request(method, path, body=body, headers=h)
        r = c.getresponse()
        r.body = r.read()
        c.close()
        return r

    def json(self, path):
        r = self.ask("/api/v1/" + path)
        assert r.status == 200, (path, r.status, r.body)
        return json.loads(r.body)

    def write(self, token, launches, pause=0, kernels=5, *more):
        return subprocess.Popen([WRITER, self.spool, token, str(launches), str(pause), str(kernels), *more],
                                stdout=subprocess.PIPE)

    def fill(self, token="run", launches=1000, kernels=5, *more):
        assert self.write(token, launches, 0, kernels, *more).wait(60) == 0
        wait_for(lambda: any(s["name"] == token and s["launches"] == launches and not s["live"]
                             for s in self.json("sessions")["sessions"]))
        return next(s["id"] for s in self.json("sessions")["sessions"] if s["name"] == token)


def recorded(name):
    """A daemon whose database holds the recorded session tests/flow/NAME.wscap, as session 1."""
    folder = tempfile.mkdtemp(dir=os.environ.get("WS_SCRATCH"))
    env = dict(os.environ, WARPSIGHT_DB=os.path.join(folder, "a.db"), WARPSIGHT_SPOOL=os.path.join(folder, "spool"))
    subprocess.check_call([PROGRAM, "import", "tests/flow/%s.wscap" % name], env=env, stdout=subprocess.DEVNULL)
    return Daemon(folder=folder)


def wait_for(claim, seconds=10):
    end = time.monotonic() + seconds * SLOW
    while not claim():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def get(host="Host: 127.0.0.1:%d", path="/healthz", more=""):
    return lambda d: ("GET %s HTTP/1.1\r\n%s\r\nConnection: close\r\n%s\r\n"
                      % (path, host % d.port if "%d" in host else host, more)).encode("latin-1")


TESTS = []


def test(f):
    TESTS.append(f)
    return f


# --- who is answered -----------------------------------------------------------------------------

@test
def host_list_is_enforced_on_every_path(d):
    for path in "/", "/app.js", "/healthz", "/metrics", "/api/v1/sessions", "/nothing":
        for host in "Host: evil.example", "Host: evil.example:%d", "Host: 127.0.0.1:1", "Host: a\r\nHost: 127.0.0.1:%d":
            assert status_of(d.raw(get(host, path)(d))) == 403, (path, host)
    for host in "Host: localhost:%d", "Host: LOCALHOST.:%d", "Host: [::1]:%d", "Host: 127.0.0.1":
        assert status_of(d.raw(get(host)(d))) == 200, host


@test
def two_host_headers_are_refused_also_when_both_are_ours(d):
    assert status_of(d.raw(get("Host: 127.0.0.1:%d\r\nHost: 127.0.0.1:%d" % (d.port, d.port))(d))) == 403


@test
def no_host_header_is_refused(d):
    assert status_of(d.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")) in (400, 403)
    assert status_of(d.raw(b"GET /healthz HTTP/1.0\r\n\r\n")) in (400, 403)


@test
def foreign_origins_and_sites_are_refused(d):
    assert d.ask("/api/v1/sessions", headers={"Origin": "http://127.0.0.1:%d" % d.port}).status == 200
    for origin in "http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:%d" % d.port:
        assert d.ask("/api/v1/sessions", headers={"Origin": origin}).status == 403, origin
    for site in "cross-site", "same-site":
        for path in "/api/v1/sessions", "/metrics", "/healthz", "/app.js":
            assert d.ask(path, headers={"Sec-Fetch-Site": site}).status == 403, (site, path)
    page = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert d.ask("/", headers=page, token=False).status == 200


@test
def no_answer_allows_another_origin(d):
    for path, headers in (("/", {}), ("/healthz", {}), ("/api/v1/sessions", {}), ("/nothing", {}),
                          ("/api/v1/sessions", {"Origin": "http://evil.example"})):
        r = d.ask(path, headers=headers)
        assert not [k for k in r.headers if k.lower().startswith("access-control-")], path
    assert d.ask("/api/v1/sessions", "OPTIONS").status == 405


@test
def every_answer_carries_the_safety_headers(d):
    for path, token in (("/", 0), ("/app.js", 0), ("/healthz", 0), ("/metrics", 0), ("/nothing", 1),
                        ("/api/v1/sessions", 1), ("/api/v1/sessions", 0), ("/api/v1/sessions/99", 1),
                        ("/?token=" + d.token, 0)):
        r = d.ask(path, token=bool(token))
        csp = r.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                     "img-src 'self' data: blob:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
            assert part in csp, (path, part)
        assert "unsafe" not in csp
        assert r.headers["X-Content-Type-Options"] == "nosniff", path
        assert r.headers["Cross-Origin-Resource-Policy"] == "same-origin", path
        assert r.headers["Referrer-Policy"] == "no-referrer", path


@test
def api_answers_are_not_stored_without_asking_again(d):
    assert d.ask("/api/v1/status").headers["Cache-Control"] == "no-store"
    assert d.ask("/api/v1/sessions").headers["Cache-Control"] == "no-cache"
    assert d.ask("/api/v1/nothing").headers["Cache-Control"] == "no-store"


# --- token ---------------------------------------------------------------------------------------

@test
def api_needs_the_token_and_the_page_does_not(d):
    assert d.ask("/api/v1/sessions", token=False).status == 401
    assert d.ask("/api/v1/sessions", headers={"Authorization": "Bearer " + "0" * 64}).status == 401
    assert d.ask("/api/v1/sessions", headers={"Cookie": "warpsight_%d=%s" % (d.port, d.token)}, token=False).status == 200
    assert d.ask("/api/v1/sessions", headers={"Cookie": "warpsight_1=%s" % d.token}, token=False).status == 401
    assert d.ask("/", token=False).status == 200
    assert d.ask("/healthz", token=False).status == 200


@test
def token_of_the_url_becomes_a_cookie_and_leaves_the_url(d):
    r = d.ask("/sessions/1?sort=-mean&token=" + d.token, token=False)
    assert r.status == 303 and r.headers["Location"] == "/sessions/1?sort=-mean", (r.status, r.headers["Location"])
    cookie = r.headers["Set-Cookie"]
    assert cookie.startswith("warpsight_%d=%s;" % (d.port, d.token))
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    r = d.ask("/?token=" + "0" * 64, token=False)
    # A person sees this answer: it is the page, which holds no data and says what to do.
    assert r.status == 401 and "Set-Cookie" not in r.headers and r.headers["Cache-Control"] == "no-store"
    assert r.headers["Content-Type"].startswith("text/html") and d.token.encode() not in r.body
    assert d.ask("/api/v1/sessions?token=" + d.token, token=False).status == 401


@test
def token_and_database_can_be_read_by_their_owner_only(d):
    for name in os.listdir(d.folder):
        if name.startswith("a.db"):
            assert os.stat(os.path.join(d.folder, name)).st_mode & 0o077 == 0, name
    assert open(d.db + ".token").read() == d.token


@test
def token_is_in_no_log_and_no_answer(d):
    d.log.seek(0)
    assert d.token not in d.log.read()
    for path in "/api/v1/status", "/healthz", "/metrics", "/":
        assert d.token.encode() not in d.ask(path).body, path


@test
def without_a_token_every_path_answers_and_the_other_rules_hold(d):
    open_daemon = Daemon("--no-token")
    try:
        assert "token" not in open_daemon.url
        assert open_daemon.ask("/api/v1/sessions").status == 200
        assert open_daemon.ask("/api/v1/sessions", headers={"Host": "evil.example"}).status == 403
        assert open_daemon.ask("/api/v1/sessions", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    finally:
        open_daemon.stop()


# --- paths, methods, parameters, bodies ----------------------------------------------------------

@test
def paths_that_are_none_of_ours_are_refused(d):
    auth = "Authorization: Bearer %s\r\n" % d.token
    for path, status in (("/..", 404), ("/../../etc/passwd", 404), ("/sessions/../../etc/passwd", 404),
                         ("/%2e%2e/%2e%2e/etc/passwd", 404), ("/sessions/..%2f..%2fetc%2fpasswd", 404),
                         ("//etc/passwd", 404), ("/app.js%00.html", 400), ("/app.js%0d%0aX:y", 400), ("/%zz", 400),
                         ("/api/v1/sessions/1/export?format=../../etc/passwd", (400, 404)),
                         ("http://127.0.0.1/healthz", 400), ("/healthz\x01", 400), ("/h\xe9", 400)):
        got = status_of(d.raw(get(path=path, more=auth)(d)))
        assert got == status or got in (status if isinstance(status, tuple) else ()), (path, got)


@test
def errors_have_the_one_shape(d):
    for path, method, status, code in (("/nothing", "GET", 404, "not_found"),
                                       ("/api/v1/sessions/999999", "GET", 404, "session_not_found"),
                                       ("/api/v1/sessions", "POST", 405, "method_not_allowed"),
                                       ("/api/v1/sessions?limt=1", "GET", 400, "unknown_parameter"),
                                       ("/api/v1/sessions?limit=0", "GET", 400, "bad_parameter"),
                                       ("/api/v1/sessions?limit=1&limit=2", "GET", 400, "bad_parameter"),
                                       ("/api/v1/sessions/1", "DELETE", 403, "write_header_needed")):
        r = d.ask(path, method)
        error = json.loads(r.body)["error"]
        assert r.status == status and error["code"] == code, (path, r.status, error)
        assert set(error) == {"code", "message", "hint", "request_id"}
        assert r.headers["Content-Type"] == "application/json; charset=utf-8"
    assert d.ask("/api/v1/sessions", "POST").headers["Allow"] == "GET, HEAD"


@test
def head_answers_without_a_body(d):
    r = d.ask("/healthz", "HEAD")
    assert r.status == 200 and r.body == b""


@test
def huge_heads_are_refused(d):
    assert status_of(d.raw(get(path="/" + "a" * 9000)(d))) == 414
    assert status_of(d.raw(get(more="X-Pad: %s\r\n" % ("a" * 20000))(d))) == 431
    assert status_of(d.raw(get(more="X-Pad: %s\r\n" % ("a" * 40000))(d))) in (0, 431, 413)
    assert status_of(d.raw(get(more="".join("X-%d: a\r\n" % i for i in range(150)))(d))) in (431,)
    assert d.ask("/healthz").status == 200


@test
def bodies_are_bounded_and_said_once(d):
    auth = "Authorization: Bearer %s\r\nX-WarpSight: 1\r\nContent-Type: application/json\r\n" % d.token

    def put(more, body=b""):
        return status_of(d.raw(("PUT /api/v1/sessions/1/note HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s%s\r\n"
                                % (d.port, auth, more)).encode() + body))
    assert put("Content-Length: 70000\r\n") == 413
    assert put("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n") == 400
    assert put("Content-Length: 2\r\nContent-Length: 3\r\n", b"{} ") == 400
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    assert put("Transfer-Encoding: chunked\r\n", chunk * 20 + b"0\r\n\r\n") == 413
    assert put("Content-Length: 2\r\n", b"[]") == 400
    deep = b"[" * 3000 + b"]" * 3000
    assert put("Content-Length: %d\r\n" % len(deep), deep) == 400
    assert status_of(d.raw(get(more="Content-Length: 5\r\n")(d))) == 400


# --- slow and many -------------------------------------------------------------------------------

@test
def a_byte_a_second_does_not_keep_a_connection(d):
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.settimeout(1)
        start = time.monotonic()
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        try:
            while time.monotonic() - start < 20:
                s.sendall(b"X: y\r\n")
                time.sleep(0.5)
        except OSError:
            pass
        assert 5 < time.monotonic() - start < 15, time.monotonic() - start
    assert d.ask("/healthz").status == 200


@test
def a_slow_body_does_not_keep_a_connection(d):
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        start = time.monotonic()
        s.sendall(("PUT /api/v1/sessions/1/note HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\n"
                   "X-WarpSight: 1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
                   % (d.port, d.token)).encode())
        try:
            while time.monotonic() - start < 20:
                s.sendall(b" ")
                time.sleep(0.5)
        except OSError:
            pass
        assert 5 < time.monotonic() - start < 15, time.monotonic() - start


@test
def two_hundred_idle_connections_do_not_shut_others_out(d):
    idle = []
    try:
        for _ in range(200):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", d.port))
            idle.append(s)
        start = time.monotonic()
        assert d.ask("/healthz").status == 200
        assert time.monotonic() - start < 5 * SLOW
    finally:
        for s in idle:
            s.close()
    wait_for(lambda: d.ask("/healthz").status == 200)


# --- sessions ------------------------------------------------------------------------------------

@test
def a_spool_is_taken_live_and_streams_say_so(d):
    events, done = [], threading.Event()

    def listen():
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=20)
        c.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + d.token})
        r = c.getresponse()
        assert r.headers["Content-Type"].startswith("text/event-stream")
        while line := r.readline():
            if line.startswith(b"data: {\"rev"):
                events.append(json.loads(line[6:]))
            if done.is_set():
                break
        c.close()
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    wait_for(lambda: events)
    before = events[0]["revision"]
    writer = d.write("live", 2000, 200)
    assert writer.stdout.readline() == b"ready\n"
    wait_for(lambda: any(s["name"] == "live" and s["live"] and 0 < s["launches"] < 2000
                         for s in d.json("sessions")["sessions"]), 3)
    wait_for(lambda: any(e["live"] for e in events))
    assert writer.wait(30) == 0
    wait_for(lambda: any(s["name"] == "live" and s["launches"] == 2000 and not s["live"]
                         for s in d.json("sessions")["sessions"]))
    wait_for(lambda: events[-1]["live"] == [])
    assert events[-1]["revision"] > before and events[-1]["lost"] == 0
    assert [e["revision"] for e in events] == sorted({e["revision"] for e in events})
    done.set()


@test
def a_capture_is_imported_by_the_daemon_that_holds_the_database(d):
    own = Daemon()
    try:
        old = own.ask("/api/v1/sessions").headers["ETag"]
        p = subprocess.run([PROGRAM, "import", "tests/flow/h200-torch.wscap"], env=own.env, capture_output=True, text=True, timeout=60)
        assert p.returncode == 0 and p.stdout == "tests/flow/h200-torch.wscap: session 1, 83 launches\n" and p.stderr == "", p
        s, = own.json("sessions")["sessions"]
        assert s["source"] == "recorded" and s["launches"] == 83
        assert own.ask("/api/v1/sessions", headers={"If-None-Match": old}).status == 200
        # the same again, what is none, what is not there, a pipe
        p = subprocess.run([PROGRAM, "import", "tests/flow/h200-torch.wscap"], env=own.env, capture_output=True, text=True, timeout=60)
        assert p.returncode == 0 and "already imported as session 1" in p.stdout, p
        bad = os.path.join(own.folder, "bad.wscap")
        open(bad, "w").write("no capture at all")
        p = subprocess.run([PROGRAM, "import", bad, own.folder, "/nowhere.wscap", "tests/flow/h200-graph.wscap"], env=own.env,
                           capture_output=True, text=True, timeout=60)
        assert p.returncode == 1 and p.stdout == "tests/flow/h200-graph.wscap: session 2, 200 launches\n", p
        lines = p.stderr.splitlines()
        assert len(lines) == 3 and "is no capture" in lines[0] and "is a folder" in lines[1] and "cannot open" in lines[2], p
        with open("tests/flow/h200-kernels.wscap", "rb") as f:
            p = subprocess.run([PROGRAM, "import", "/dev/stdin"], env=own.env, input=f.read(), capture_output=True, timeout=60)
        assert p.returncode == 0 and p.stdout == b"/dev/stdin: session 3, 94 launches\n", p
        # a file of another profiler: made a capture by the command, taken by the daemon
        csv = os.path.join(own.folder, "details.csv")
        open(csv, "w").write('"ID","Process ID","Kernel Name","Block Size","Grid Size","Device","CC","Metric Name","Metric Unit","Metric Value"\n'
                             '"0","7","k(int)","(256, 1, 1)","(8, 1, 1)","0","9.0","Duration","us","62.53"\n')
        p = subprocess.run([PROGRAM, "import", csv], env=own.env, capture_output=True, text=True, timeout=60)
        assert p.returncode == 0 and p.stdout == csv + ": session 4, 1 launches, imported (ncu-csv)\n", p
        assert own.json("sessions/4")["session"]["source"] == "imported"
        assert own.json("sessions/4/kernels")["kernels"][0]["duration"]["mean"] == 6.253e-05
        assert os.listdir(own.db + ".inbox") == [], os.listdir(own.db + ".inbox")
        assert os.stat(own.db + ".inbox").st_mode & 0o077 == 0
        # a note whose client was killed is taken all the same, and one that is none of ours left alone
        open(own.db + ".inbox/note", "w").write("/etc/passwd")
        open(own.db + ".inbox/" + "0" * 32 + ".ask", "w").write("/dev/null")
        wait_for(lambda: os.path.exists(own.db + ".inbox/" + "0" * 32 + ".done"))
        assert "is no file any more" in open(own.db + ".inbox/" + "0" * 32 + ".done").read()
        assert os.path.exists(own.db + ".inbox/note")
    finally:
        own.stop()


@test
def roofs_measured_while_a_daemon_runs_are_on_its_page_at_once(d):
    own = recorded("h200-torch")
    try:
        device = own.json("sessions/1/roofline")["devices"][0]
        assert {c["key"]: c["measured"] for c in device["ceilings"]}["fp32"] > 6e13
        kernels = os.path.join(own.folder, "warpsight-kernels")
        result = {"device": {"name": device["name"], "uuid": device["uuid"], "cc": "9.0", "driver": device["driver"]},
                  "ceilings": [{"key": "fp32", "unit": "FLOP/s", "method": "by hand", "rate": 5e13, "clock_hz": 1.5e9}]}
        open(kernels, "w").write("#!/bin/sh\ncat <<'JSON'\n%s\nJSON\n" % json.dumps(result))
        os.chmod(kernels, 0o755)
        program = os.path.join(own.folder, "warpsight")
        os.link(PROGRAM, program) if os.stat(PROGRAM).st_dev == os.stat(own.folder).st_dev else subprocess.check_call(["cp", PROGRAM, program])
        p = subprocess.run([program, "ceilings"], env=own.env, capture_output=True, text=True, timeout=60)
        assert p.returncode == 0 and "by hand" in p.stdout, p
        fp32 = {c["key"]: c for c in own.json("sessions/1/roofline")["devices"][0]["ceilings"]}["fp32"]
        assert (fp32["measured"], fp32["method"], fp32["clock_hz"]) == (5e13, "by hand", 1.5e9)
        assert len(own.json("sessions")["sessions"]) == 1  # a board's roofs are of no session
    finally:
        own.stop()


@test
def an_import_goes_on_by_itself_when_the_daemon_dies(d):
    own = Daemon()
    own.process.send_signal(signal.SIGSTOP)  # it holds the database and takes nothing
    p = subprocess.Popen([PROGRAM, "import", "tests/flow/h200-torch.wscap"], env=own.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: os.path.isdir(own.db + ".inbox") and any(n.endswith(".ask") for n in os.listdir(own.db + ".inbox")))
    own.process.kill()
    own.process.wait()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and out == b"tests/flow/h200-torch.wscap: session 1, 83 launches\n", (out, err)
    assert os.listdir(own.db + ".inbox") == []


@test
def several_programs_at_once_are_all_there(d):
    writers = [d.write("many%d" % i, 5000) for i in range(4)]
    assert all(w.wait(60) == 0 for w in writers)
    wait_for(lambda: sum(s["launches"] for s in d.json("sessions")["sessions"] if s["name"].startswith("many")) == 20000)


@test
def reading_commands_see_what_the_daemon_takes_at_once(d):
    assert d.write("command", 3000).wait(60) == 0
    start = time.monotonic()
    sessions = json.loads(subprocess.check_output([PROGRAM, "list", "sessions", "--json"], env=d.env))["sessions"]
    assert any(s["name"] == "command" and s["launches"] == 3000 for s in sessions)
    assert time.monotonic() - start < 3 * SLOW


@test
def a_killed_program_is_no_longer_live(d):
    writer = d.write("killed", 2000, 1000)
    assert writer.stdout.readline() == b"ready\n"
    wait_for(lambda: any(s["name"] == "killed" and s["live"] for s in d.json("sessions")["sessions"]))
    writer.kill()
    writer.wait()
    wait_for(lambda: any(s["name"] == "killed" and not s["live"] for s in d.json("sessions")["sessions"]))


@test
def etag_spares_what_did_not_change(d):
    sid = d.fill("etag", 100)
    for path in "sessions", "sessions/%d" % sid, "sessions/%d/kernels" % sid, "sessions/%d/timeline/data" % sid, "catalogue":
        r = d.ask("/api/v1/" + path)
        again = d.ask("/api/v1/" + path, headers={"If-None-Match": r.headers["ETag"]})
        assert r.status == 200 and again.status == 304 and again.body == b"", path
    old = d.ask("/api/v1/sessions").headers["ETag"]
    r = d.ask("/api/v1/sessions/%d/note" % sid, "PUT", {"X-WarpSight": "1", "Content-Type": "application/json"},
              json.dumps({"note": "naïve\nnote <b>"}))
    assert r.status == 200 and json.loads(r.body)["session"]["note"] == "naïve\nnote <b>"
    assert d.ask("/api/v1/sessions", headers={"If-None-Match": old}).status == 200


@test
def a_session_that_rests_keeps_its_etag_while_another_runs(d):
    rests = d.fill("rests", 100)
    first = d.ask("/api/v1/sessions/%d/kernels" % rests)
    writer = d.write("moves", 2000, 50)
    assert writer.wait(30) == 0
    wait_for(lambda: any(s["name"] == "moves" and s["launches"] == 2000 and not s["live"] for s in d.json("sessions")["sessions"]))
    again = d.ask("/api/v1/sessions/%d/kernels" % rests)
    assert again.headers["ETag"] == first.headers["ETag"] and again.body == first.body
    moves = next(s["id"] for s in d.json("sessions")["sessions"] if s["name"] == "moves")
    before = d.ask("/api/v1/sessions/%d" % moves)
    d.ask("/api/v1/sessions/%d/note" % moves, "PUT", {"X-WarpSight": "1", "Content-Type": "application/json"}, '{"note":"new"}')
    after = d.ask("/api/v1/sessions/%d" % moves)
    assert after.headers["ETag"] != before.headers["ETag"] and json.loads(after.body)["session"]["note"] == "new"


@test
def pages_of_sessions_and_kernels_hold_each_once(d):
    sid = d.fill("pages", 2300, 23)
    for path, key in ("sessions?", "sessions"), ("sessions/%d/kernels?metrics=&" % sid, "kernels"), \
            ("sessions/%d/kernels?metrics=&sort=name&" % sid, "kernels"), \
            ("sessions/%d/kernels?metrics=&sort=-gld_sectors_per_request&" % sid, "kernels"), \
            ("sessions/%d/kernels?metrics=&sort=fp64_add&" % sid, "kernels"):
        whole = d.json(path + "limit=1000")
        seen, cursor, pages = [], "", 0
        while cursor is not None:
            page = d.json(path + "limit=3" + ("&cursor=" + cursor if cursor else ""))
            seen += [x["id"] for x in page[key]]
            cursor, pages = page["next"], pages + 1
        assert seen == [x["id"] for x in whole[key]] and len(set(seen)) == whole["total"], path
        assert pages == (whole["total"] + 2) // 3
    assert d.ask("/api/v1/sessions/%d/kernels?cursor=zzz" % sid).status == 400


@test
def kernels_are_sorted_and_filtered(d):
    sid = d.fill("filter", 700, 7)
    base = "sessions/%d/kernels?" % sid
    times = [k["duration"]["mean"] for k in d.json(base + "sort=-mean")["kernels"]]
    assert times == sorted(times, reverse=True) and len(times) == 7
    assert [k["name"] for k in d.json(base + "filter=kernel3")["kernels"]] == ["kernel3"]
    assert len(d.json(base + "filter=-kernel3")["kernels"]) == 6
    assert len(d.json(base + "filter=mean%3E0.0000012")["kernels"]) == 4
    assert len(d.json(base + "filter=mean%3C%3D0.0000012+name:KERNEL")["kernels"]) == 2
    assert len(d.json(base + "filter=rule:W01")["kernels"]) + len(d.json(base + "filter=-rule:W01")["kernels"]) == 7
    assert len(d.json(base + "filter=rule:W01")["kernels"]) > 0
    three = d.json(base + "filter=kernel3")["kernels"][0]
    assert [k["name"] for k in d.json(base + "filter=" + three["hash"])["kernels"]] == ["kernel3"]
    none = d.json(base + "filter=kernle3")
    assert none["kernels"] == [] and none["total"] == 0 and none["nearest"][0] == "kernel3" and len(none["nearest"]) == 3
    assert "nearest" not in d.json(base + "filter=rule:W40")
    for bad in "rule:W99", "bound:x", "mean%3Ex", "color:red":
        assert d.ask("/api/v1/" + base + "filter=" + bad).status == 400, bad
    assert d.ask("/api/v1/" + base + "sort=colour").status == 400
    only = d.json(base + "metrics=gld_efficiency")["kernels"][0]["metrics"]
    assert list(only) == ["gld_efficiency"]
    assert len(d.json(base + "metrics=all&limit=1")["kernels"][0]["metrics"]) > 100


@test
def one_kernel_is_the_report_of_that_kernel(d):
    sid = d.fill("one", 500)
    report = d.json("sessions/%d/report" % sid)
    kernel = report["kernels"][2]
    one = d.json("sessions/%d/kernels/%d" % (sid, kernel["id"]))
    assert one["kernels"] == [kernel] and one["session"] == report["session"]
    terminal = json.loads(subprocess.check_output([PROGRAM, "report", str(sid), "--json"], env=d.env))
    assert terminal == report
    assert d.ask("/api/v1/sessions/%d/kernels/999999" % sid).status == 404


@test
def launches_come_one_by_one_and_by_kernel(d):
    sid = d.fill("launches", 10000, 4)
    seen, cursor = [], ""
    while cursor is not None:
        page = d.json("sessions/%d/launches?limit=1000%s" % (sid, "&cursor=" + cursor if cursor else ""))
        seen += page["launches"]
        cursor = page["next"]
    assert len(seen) == 10000 and len({x["correlation"] for x in seen}) == 10000
    kid = seen[0]["kernel"]
    some = d.json("sessions/%d/launches?kernel=%d&limit=7" % (sid, kid))["launches"]
    assert some == [x for x in seen if x["kernel"] == kid][:7]


def columns(data):
    magic, version, head, count, flags, start, end, seen = struct.unpack_from("<IHHIIddQ", data)
    assert magic == 0x4C545357 and version == 1 and head == 64
    at = struct.unpack_from("<6I", data, 40)
    assert all(a % 8 == 0 for a in at)
    types = "dffIIH"
    out = [struct.unpack_from("<%d%s" % (count, t), data, a) for t, a in zip(types, at)]
    return dict(zip(("start", "duration", "busy", "item", "merged", "lane"), out)), count, flags, seen, (start, end)


@test
def timeline_holds_every_event_at_every_width(d):
    sid = d.fill("timeline", 20000, 5)
    meta = d.json("sessions/%d/timeline" % sid)
    assert meta["events"] == 20000 + 20000 // 16 and len(meta["lanes"]) == 3
    assert sum(x["events"] for x in meta["lanes"]) == meta["events"]
    for px in 1, 100, 1600, 8192:
        c, count, flags, seen, _ = columns(d.ask("/api/v1/sessions/%d/timeline/data?px=%d" % (sid, px)).body)
        assert sum(c["merged"]) == seen == meta["events"], px
        assert count <= 3 * (px + 1) + 200, (px, count)
        for lane in range(3):
            busy = sum(b for b, at in zip(c["busy"], c["lane"]) if at == lane)
            assert abs(busy - meta["lanes"][lane]["busy_ns"]) <= busy * 1e-3, (px, lane)
    # a narrow range: single events, exactly as the launches say
    some = d.json("sessions/%d/launches?limit=50" % sid)["launches"]
    t0, t1 = some[10]["start_ns"], some[30]["start_ns"] + some[30]["duration_ns"]
    c, count, flags, seen, (a, b) = columns(
        d.ask("/api/v1/sessions/%d/timeline/data?from=%d&to=%d&px=8192&lane=0" % (sid, t0, t1)).body)
    assert (a, b) == (t0, t1) and set(c["lane"]) == {0}
    want = [x["start_ns"] for x in some if x["stream"] == 7 and t0 <= x["start_ns"] < t1]
    assert [s for s, m in zip(c["start"], c["merged"]) if m == 1 and s in want] != []
    assert sum(c["merged"]) == seen >= len(want)
    for bad in "from=5&to=5", "px=0", "px=9999", "lane=3", "lane=-1":
        assert d.ask("/api/v1/sessions/%d/timeline/data?%s" % (sid, bad)).status == 400, bad


@test
def the_timeline_has_allocated_bytes_waits_and_queue_delays(d):
    sid = d.fill("host", 4000, 4, "host")
    base = "sessions/%d/timeline" % sid
    lanes = d.json(base)["lanes"]
    assert {x["stream"]: x["legacy"] for x in lanes} == {7: True, 8: False}

    m = d.json(base + "/memory")
    series, = m["series"]
    assert (series["kind"], series["allocations"], series["releases"], series["end"]) == ("device", 20, 20, 0)
    assert series["peak"] == 1 << 20 and m["records"] == 40 and m["why"] is None and m["left_out"] == 0
    assert series["t"] == sorted(series["t"]) and series["last"][-1] == 0
    assert len(series["t"]) == len(series["low"]) == len(series["high"]) == len(series["last"]) <= 40
    coarse = d.json(base + "/memory?px=1")["series"][0]
    assert (coarse["low"], coarse["high"], coarse["last"]) == ([0], [1 << 20], [0])
    middle = series["t"][len(series["t"]) // 2]
    late = d.json(base + "/memory?from=%d&to=%d" % (middle, m["to"]))["series"][0]
    assert late["before"] == series["last"][len(series["t"]) // 2 - 1] and late["t"][0] == middle

    w = d.json(base + "/waits?px=8192")
    assert w["records"] == 500 == sum(x["events"] for x in w["lanes"]) and w["why"] is None
    for lane in w["lanes"]:
        assert lane["kind"] == "stream" and lane["busy_ns"] == lane["events"] * 2600
        assert sum(lane["merged"]) == lane["events"] and lane["start"] == sorted(lane["start"])
        assert all(e - s == 2600 for s, e, n in zip(lane["start"], lane["end"], lane["merged"]) if n == 1)
    assert {k["kind"]: k["blocks_host"] for k in w["kinds"]}["stream-event"] is False
    assert sum(len(x["start"]) for x in d.json(base + "/waits?px=10")["lanes"]) <= 2 * 11

    q = d.json(base + "/queue")
    assert q["launches"] == q["joined"] == 4000 and q["one_in"] == 1 and q["why"] is None
    assert sum(k["launches"] for k in q["kernels"]) == 4000
    full = {k["id"]: k["demangled"] for k in d.json("sessions/%d/report" % sid)["kernels"]}
    for k in q["kernels"]:
        assert (k["delay_mean"], k["delay_min"], k["delay_max"], k["call_mean"]) == (700, 700, 700, 1200)
        assert k["demangled"] == full[k["kernel"]]
    assert {x["stream"] for x in q["lanes"]} == {7, 8}
    for lane in q["lanes"]:
        assert sum(lane["merged"]) == lane["launches"] == 2000
        assert all(x == 700 for x in lane["longest"]) and sum(lane["sum"]) == 2000 * 700
    some = d.json(base + "/queue?from=%d&to=%d" % (middle, q["to"]))
    assert 0 < some["launches"] < 4000

    bare = d.fill("nohost", 100)
    for path in "memory", "waits", "queue":
        assert d.json("sessions/%d/timeline/%s" % (bare, path))["why"] == "not-collected", path
        for bad in "from=5&to=5", "px=0", "px=9999", "lane=1":
            assert d.ask("/api/v1/%s/%s?%s" % (base, path, bad)).status == 400, (path, bad)
        assert d.ask("/api/v1/sessions/999999/timeline/" + path).status == 404


@test
def profiling_is_told_where_it_held_the_program(d):
    own = recorded("h200-kernels")
    try:
        p = own.json("sessions/1/timeline/profiling")
        cost = next(c for c in own.json("sessions/1")["cost"] if c["what"] == "profile")
        db = sqlite3.connect(own.db)
        rows = db.execute("SELECT started_ns, cost_ns FROM profile ORDER BY started_ns").fetchall()
        assert p["launches"] == len(rows) == cost["count"] and p["total_ns"] == sum(c for _, c in rows)
        assert p["unplaced"] == sum(s == 0 for s, _ in rows)
        assert all(a <= b for a, b in zip(p["start"], p["end"]))
        assert all(e < s for e, s in zip(p["end"], p["start"][1:]))
        assert sum(p["merged"]) == len(rows) - p["unplaced"]
        first = rows[0][0] - int(p["base_ns"])
        assert p["start"][0] == first, (p["start"][0], first)
        part = own.json("sessions/1/timeline/profiling?from=%d&to=%d&px=8192" % (first, first + rows[0][1] // 2))
        assert part["start"] == [first] and part["launches"] == len(rows)
        for bad in "from=x", "px=0", "from=5&to=4":
            assert own.ask("/api/v1/sessions/1/timeline/profiling?" + bad).status == 400, bad
    finally:
        own.stop()
    sid = d.fill("unprofiled", 100, 1)
    db = sqlite3.connect(d.db, timeout=10)
    assert d.json("sessions/%d/timeline/profiling" % sid)["launches"] == db.execute(
        "SELECT count(*) FROM profile WHERE session_id = ? AND cost_ns > 0", (sid,)).fetchone()[0]


@test
def two_sessions_are_compared(d):
    a, b = d.fill("base", 300, 3), d.fill("target", 500, 5)
    c = d.json("compare?base=%d&target=%d&metrics=gld_efficiency" % (a, b))
    assert c["base"]["id"] == a and c["target"]["id"] == b
    both = [k for k in c["kernels"] if k["base"] and k["target"]]
    alone = [k for k in c["kernels"] if not k["base"]]
    assert len(both) == 3 and len(alone) == 2 and c["kernels"][:3] == both
    assert both[0]["duration"]["delta"] == both[0]["duration"]["target"] - both[0]["duration"]["base"]
    assert both[0]["impact"] == both[0]["total"]["target"] - both[0]["total"]["base"]
    assert abs(both[0]["impact"]) == max(abs(k["impact"]) for k in both)
    assert alone[0]["total"]["base"] is None and alone[0]["impact"] == alone[0]["total"]["target"] > 0
    assert alone[0]["duration"]["base"] is None and alone[0]["duration"]["percent"] is None
    assert list(both[0]["metrics"]) == ["gld_efficiency"]
    assert d.ask("/api/v1/compare?base=%d" % a).status == 400
    assert d.ask("/api/v1/compare?base=%d&target=999999" % a).status == 404


@test
def a_rule_that_one_side_cannot_judge_neither_came_nor_went(d):
    for command in (["import", "tests/flow/h200-kernels.wscap"], ["kernels", "model", "spill", "-q", "--name", "modelled-spill"]):
        subprocess.run([PROGRAM, *command], env=d.env, stdout=subprocess.DEVNULL, check=True)
    ids = {s["name"]: s["id"] for s in d.json("sessions?limit=1000")["sessions"]}
    a, b = ids["h200-kernels"], ids["modelled-spill"]
    for base, target in ((a, b), (b, a)):
        c = d.json("compare?base=%d&target=%d&metrics=gld_sectors,dram_bytes,local_ld_sectors" % (base, target))
        pairs = {k["name"]: k for k in c["kernels"] if k["base"] and k["target"]}
        assert sorted(pairs) == ["spill_capped", "spill_free"], sorted(pairs)
        f, m = pairs["spill_capped"]["findings"], pairs["spill_capped"]["metrics"]
        assert "W24-register-spill" in f["not_judged"] and f["gone"] == f["appeared"] == [], f
        assert m["gld_sectors"]["delta"] == 0 and m["local_ld_sectors"]["delta"] is None
        side = "target" if target == b else "base"
        assert m["dram_bytes"][side] == {"value": None, "why": "needs-gpu", "needs": "dram_read_bytes"}, m["dram_bytes"]
        assert m["local_ld_sectors"][side] == {"value": None, "why": "needs-gpu"}, m["local_ld_sectors"]


@test
def roofline_names_every_kernel_once_or_says_why_not(d):
    sid = d.fill("roofline", 500, 5)
    r = d.json("sessions/%d/roofline" % sid)
    plotted, missing = {p["kernel"] for p in r["points"]}, {p["kernel"] for p in r["not_plotted"]}
    assert not plotted & missing and len(plotted | missing) == 5
    assert r["devices"][0]["ceilings"][0]["key"] == "dram_read"


@test
def roofs_are_those_that_were_measured_and_the_data_sheet_stands_apart(d):
    own = recorded("h200-kernels")
    try:
        shown = json.loads(subprocess.check_output([PROGRAM, "ceilings", "--show", "--json"], env=own.env))["ceilings"]
        shown = {c["key"]: c for c in shown}
        device = own.json("sessions/1/roofline")["devices"][0]
        got = {c["key"]: c for c in device["ceilings"]}
        assert device["uuid"] == shown["fp32"]["uuid"] and device["driver"] == shown["fp32"]["driver"]
        assert set(shown) == set(got) and device["sheet_source"]
        for key, c in got.items():
            assert c["method"] == shown[key]["method"] and c["clock_hz"] == shown[key]["clock_hz"], key
            assert c["statistic"] == "median" and c["command"] == "warpsight ceilings" and c["measured_at"], key
            assert c["measured"] == shown[key]["rate"] or (c["measured"] is None and c["why"] == "out-of-range"), key
        assert 0 < got["dram_read"]["measured"] < got["dram_read"]["sheet"]
        assert got["l2_read"]["sheet"] is None and got["l2_read"]["sheet_why"] == "not-in-source"
        # the roof of a point is the lower of the two that the report has, too
        report = own.json("sessions/1/report")
        roofs = [p["roof"] for k in report["kernels"] for p in k["roofline"]["points"]]
        points = own.json("sessions/1/roofline")["points"]
        assert [p["roof"] for p in points] == roofs and got["fp32"]["measured"] in roofs
    finally:
        own.stop()
    with sqlite3.connect(own.db) as db:
        db.execute("DELETE FROM ceiling")
    db.close()
    own = Daemon(folder=own.folder)
    try:
        for c in own.json("sessions/1/roofline")["devices"][0]["ceilings"]:
            assert c["measured"] is None and c["why"] == "not-measured" and "method" not in c and "clock_hz" not in c
            assert c["sheet"] == got[c["key"]]["sheet"]
    finally:
        own.stop()


@test
def every_list_has_the_short_and_the_full_name_of_a_kernel(d):
    own = recorded("h200-torch")
    try:
        full = {k["id"]: (k["name"], k["demangled"]) for k in own.json("sessions/1/report")["kernels"]}
        roofline = own.json("sessions/1/roofline")
        for rows, key in ((own.json("sessions/1/timeline")["kernels"], "id"), (roofline["points"], "kernel"),
                          (roofline["not_plotted"], "kernel"), (own.json("compare?base=1&target=1")["kernels"], "base")):
            assert rows or rows is roofline["not_plotted"]
            for row in rows:
                assert (row["name"], row["demangled"]) == full[row[key]] and row["function"], row
    finally:
        own.stop()


@test
def the_time_bill_adds_up_and_stands_beside_its_model(d):
    sid = d.fill("bill", 2000, 4)
    t = d.json("sessions/%d/time" % sid)
    parts = {p["key"]: p["time"]["value"] for p in t["bill"]["parts"]}
    assert set(parts) == {"kernels", "both", "copies", "other", "gaps"}
    assert abs(sum(parts.values()) - t["bill"]["window"]["value"]) < 1e-9
    assert abs(sum(p["share"]["value"] for p in t["bill"]["parts"]) - 1) < 1e-9
    facts = {k: v["value"] for k, v in t["facts"].items()}
    assert set(facts) == {x["key"] for x in d.json("catalogue")["timeline"]}
    assert facts["kernels"] == 2000 and facts["copies"] == 125 and facts["copy_bytes"] == 125 * 4096
    model = {m["key"]: m for m in t["model"]}
    want = 125 * 10e-6 + 125 * 4096 / t["rates"]["link"]["rate"]["value"]
    assert abs(model["copies"]["modelled"]["value"] - want) < 1e-12 and model["copies"]["modelled"]["origin"] == "model"
    assert t["rates"]["link"]["source"] == "data sheet" and t["rates"]["dram"]["source"] == "data sheet"
    assert model["launches"]["measured"] == {"value": None, "why": "not-collected", "needs": "launch_api"}
    own = recorded("h200-kernels")  # every launch was replayed: each is on the bill as long as its counters say
    try:
        t = own.json("sessions/1/time")
        assert abs(sum(p["time"]["value"] for p in t["bill"]["parts"]) - t["bill"]["window"]["value"]) < 1e-9
        assert t["rates"]["dram"]["source"] == "measured" and t["facts"]["kernels"]["value"] == 94
    finally:
        own.stop()


@test
def known_answers_are_judged_as_the_command_judges_them(d):
    own = recorded("h200-kernels")
    try:
        got = own.json("sessions/1/verify")
        command = json.loads(subprocess.check_output([PROGRAM, "kernels", "verify", "1", "--json"], env=own.env))
        assert got == command and got["verified"] and got["holds"] == len(got["lines"]) > 700
        kernels = {k["id"]: k for k in own.json("sessions/1/report")["kernels"]}
        for line in got["lines"]:
            if line["kind"] == "value":
                assert kernels[line["kernel_id"]]["metrics"][line["key"]]["value"] == line["value"], line
        named = {k["id"] for k in own.json("catalogue")["kernels"]}
        assert {x["id"] for x in got["lines"]} <= named
    finally:
        own.stop()
    sid = d.fill("verify", 100)
    got = d.json("sessions/%d/verify" % sid)
    assert not got["verified"] and got["holds"] == 0 and {x["verdict"] for x in got["lines"]} == {"no launch"}


@test
def the_decode_sweep_has_its_predicted_curve_and_its_points(d):
    own = recorded("h200-kernels")
    try:
        s = own.json("sessions/1/decode")
        roofs = {c["key"]: c for c in own.json("sessions/1/roofline")["devices"][0]["ceilings"]}
        assert s["size"] == 4096 and [p["batch"] for p in s["points"]] == [1, 2, 4, 8, 16, 32, 64]
        for p in s["points"]:
            kernel = own.json("sessions/1/kernels/%d" % p["kernel"])["kernels"][0]
            assert p["name"] == kernel["name"] == "gemv<%d>" % p["batch"]
            assert p["seconds"]["value"] == kernel["duration"]["mean"]
            assert p["multiply_adds"]["value"] == p["multiply_adds_expected"] == 4096 * 4096 * p["batch"]
        for curve, key in zip(s["predicted"], ("measured", "sheet")):
            assert curve["dram"]["value"] == roofs["dram_read"][key] and curve["fp32"]["value"] == roofs["fp32"][key]
            assert 13 < curve["turn"]["value"] < 16
            for c in curve["curve"]:
                assert c["seconds"] == max(c["bytes"] / curve["dram"]["value"], c["operations"] / curve["fp32"]["value"])
                assert c["bound"] == ("memory" if c["batch"] < curve["turn"]["value"] else "compute")
            assert all(p["seconds"]["value"] > curve["curve"][p["batch"] - 1]["seconds"] for p in s["points"])
    finally:
        own.stop()
    sid = d.fill("decode", 100)
    s = d.json("sessions/%d/decode" % sid)
    assert all(p["kernel"] is None and p["seconds"]["why"] == "no-launch" for p in s["points"])
    assert s["predicted"][0]["curve"] == [] and s["predicted"][0]["dram"]["why"] == "not-measured"
    assert s["predicted"][1]["source"] == "data sheet" and s["predicted"][1]["curve"]


@test
def the_catalogue_says_what_counters_cannot_show(d):
    cards = d.json("catalogue")["cards"]
    text = {c["id"]: c for c in cards}
    assert "racecheck" in text["race"]["command"] and "synccheck" in text["barrier-in-branch"]["command"]
    assert all(c["title"] and c["cannot"] and c["tool"] and c["source"] for c in cards)


@test
def unknown_words_in_a_request_are_refused_everywhere(d):
    sid = d.fill("unknown", 100)
    kid = d.json("sessions/%d/kernels" % sid)["kernels"][0]["id"]
    write = {"X-WarpSight": "1", "Content-Type": "application/json"}
    for r in json.loads(subprocess.check_output([PROGRAM, "list", "routes", "--json"]))["routes"]:
        path = r["path"].replace("{id}", str(sid)).replace("{kid}", str(kid))
        if not path.startswith(("/api/", "/healthz", "/metrics", "/app.")):
            continue  # a page's query is its own state
        for extra in "colour=red", "limit=1&colour=red", "Limit=1", "colour":
            got = d.ask(path + "?" + extra, r["method"], write, "{}" if r["method"] in ("PUT", "POST") else None)
            error = json.loads(got.body)["error"]
            assert got.status == 400 and error["code"] == "unknown_parameter", (path, extra, got.status, error)
    base = "/api/v1/sessions/%d/" % sid
    for path in ("kernels?filter=colour:red", "kernels?filter=colour%3E1", "kernels?filter=-colour%3D1", "kernels?filter=mean%3E",
                 "kernels?sort=colour", "kernels?metrics=colour", "export?format=colour", "kernels?filter=severity:red",
                 "kernels?filter=bound:red", "kernels?filter=rule:red", "kernels?limit=ten", "timeline/data?lane=x",
                 "launches?kernel=x", "launches?cursor=x"):
        got = d.ask(base + path)
        assert got.status == 400 and json.loads(got.body)["error"]["code"] == "bad_parameter", (path, got.status)
    own = recorded("h200-kernels")
    try:  # a template argument that is being typed is no condition
        assert len(own.json("sessions/1/kernels?filter=gemv%3C1")["kernels"]) == 2
        assert own.ask("/api/v1/sessions/1/kernels?filter=gemm%3C1").status == 400
        assert own.json("sessions/1/kernels?filter=name:gemm%3C1")["kernels"] == []
    finally:
        own.stop()


def source_of(d, session, name):
    k = next(x for x in d.json("sessions/%d/kernels?metrics=all" % session)["kernels"] if x["name"] == name)
    return k, d.json("sessions/%d/kernels/%d/source" % (session, k["id"]))


@test
def instructions_add_up_to_the_counts_of_their_kernel_and_stand_on_lines(d):
    own = recorded("h200-kernels")
    try:
        subprocess.check_call([PROGRAM, "kernels", "model", "transpose", "-q"], env=own.env, stdout=subprocess.DEVNULL)
        wait_for(lambda: len(own.json("sessions")["sessions"]) == 2)
        modelled = own.json("sessions")["sessions"][0]["id"]
        for name in "transpose_tile<32>", "transpose_tile<33>", "transpose_naive":
            k, s = source_of(own, modelled, name)
            assert s["from"] == {"session": modelled, "name": "kernels-model", "source": "modelled", "kernel": k["id"]}

            def total(key, space, access):
                return sum(i[key] for i in s["instructions"] if (i["space"], i["access"]) == (space, access))
            for metric, what in (("gld_requests", ("requests", "global", "load")), ("gld_sectors", ("sectors", "global", "load")),
                                 ("gst_sectors", ("sectors", "global", "store")),
                                 ("shared_ld_wavefronts", ("wavefronts", "shared", "load"))):
                assert total(*what) == k["metrics"][metric]["value"], (name, metric)
            file = s["files"][0]
            assert file["path"].endswith("kernels/transpose.cu") and file["why"] is None and file["first"] >= 1
            hot = max(s["instructions"], key=lambda i: i["sectors"] - i["ideal_sectors"] + i["wavefronts"] - i["ideal_wavefronts"])
            wasted = hot["sectors"] - hot["ideal_sectors"] + hot["wavefronts"] - hot["ideal_wavefronts"]
            assert (wasted > 0) == (name != "transpose_tile<33>") and s["launches"] == 1
            assert wasted == 0 or "out[" in file["lines"][hot["line"] - file["first"]], hot
        # The measured kernel of the same launch shows them, and says whose they are.
        k, s = source_of(own, 1, "transpose_tile<32>")
        assert s["kernel"] == k["id"] and s["from"]["session"] == modelled and s["instructions"]
        k, s = source_of(own, 1, "vec_add")
        assert s["from"] is None and s["instructions"] == [] and s["files"] == []
        assert own.ask("/api/v1/sessions/1/kernels/9999/source").status == 404
        assert own.ask("/api/v1/sessions/99/kernels/1/source").status == 404
        assert own.ask("/api/v1/sessions/1/kernels/%d/source" % k["id"]).headers["Cache-Control"] == "no-store"
    finally:
        own.stop()


@test
def only_source_files_of_the_line_table_are_read(d):
    own = Daemon()
    folder, named = own.folder, {}
    with open(os.path.join(folder, "big.cu"), "w") as f:
        f.write("// a line\n" * 500000)
    os.mkfifo(os.path.join(folder, "pipe.cu"))
    os.mkdir(os.path.join(folder, "folder.cu"))
    with open(os.path.join(folder, "secret"), "w") as f:
        f.write("password\n" * 40)
    with open(os.path.join(folder, "good.cu"), "wb") as f:
        f.write(b"// </script> \xff\r\n" * 40 + b"x" * 9000)
    try:
        subprocess.check_call([PROGRAM, "kernels", "model", "transpose", "-q"], env=own.env, stdout=subprocess.DEVNULL)
        wait_for(lambda: len(own.json("sessions")["sessions"]) == 1)
        kid = own.json("sessions/1/kernels")["kernels"][0]["id"]
        was = own.json("sessions/1/kernels/%d/source" % kid)["files"][0]["path"]
        for path in ("/etc/passwd", folder + "/secret", folder + "/big.cu", folder + "/pipe.cu", folder + "/folder.cu",
                     folder + "/none.cu", "transpose.cu", "../transpose.cu", "/dev/zero", "/", "", folder + "/good.cu"):
            db = sqlite3.connect(own.db, timeout=10)
            db.execute("UPDATE text SET text = ? WHERE text = ?", (path, was))
            db.commit()
            db.close()
            was = path
            file = own.json("sessions/1/kernels/%d/source" % kid)["files"][0]
            assert file["path"] == path
            named[path] = file["why"]
            assert (file["lines"] == []) == (file["why"] is not None), (path, file)
        assert "4 MiB" in named[folder + "/big.cu"] and "not on this machine" in named[folder + "/none.cu"], named
        assert [p for p, why in named.items() if why is None] == [folder + "/good.cu"], named
        assert file["changed"] is False  # it was written before the model ran
        os.utime(folder + "/good.cu", (time.time() + 5, time.time() + 5))
        assert own.json("sessions/1/kernels/%d/source" % kid)["files"][0]["changed"] is True
        assert file["lines"][0] == "// </script> \ufffd" and max(len(x) for x in file["lines"]) <= 500
    finally:
        own.stop()


@test
def occupancy_agrees_with_the_command(d):
    o = d.json("occupancy?cc=9.0&threads=256&regs=128")["occupancy"]
    assert o["limiter"] == "registers" and o["theoretical"] == 0.25 and o["blocks_per_sm"] == 2
    for bad in "cc=1.0", "threads=0", "threads=2048", "regs=x", "cc=9", "cc=9.0x":
        assert d.ask("/api/v1/occupancy?" + bad).status == 400, bad


@test
def access_agrees_with_the_command(d):
    a = d.json("access?width=4&stride=2&offset=1&x=32&y=8&pitch=4096")
    assert a["sectors"] == 64 and a["bank_conflicts"] == 8 and a["pattern"]["block"] == [32, 8, 1]
    assert a["lane_bytes"][:3] == [4, 12, 20] and len(a["per_warp"]) == 8
    column = d.json("access?x=32&y=32&transposed=1&warp=3")
    assert column["padding_bytes"] == 4 and column["per_warp"][3]["wavefronts"] == 32 and column["warp"] == 3
    assert d.json("access?x=3")["lane_bytes"][2:4] == [8, None]
    for bad in "width=3", "x=0", "x=1024&y=2", "pitch=5&y=2", "warp=1", "stride=x", "transposed=2", "width=32":
        assert d.ask("/api/v1/access?" + bad).status == 400, bad


@test
def exports_are_files_that_come_back(d):
    sid = d.fill("export", 400)
    for name in d.json("catalogue")["formats"]:
        r = d.ask("/api/v1/sessions/%d/export?format=%s" % (sid, name))
        # Without samples that one is its first line.
        assert r.status == 200 and len(r.body) > (50 if name == "samples-csv" else 100), name
        assert re.fullmatch(r'attachment; filename="warpsight-session-%d\.[a-z.0-9-]+"' % sid,
                            r.headers["Content-Disposition"]), name
    capture = os.path.join(d.folder, "back.wscap")
    open(capture, "wb").write(d.ask("/api/v1/sessions/%d/export?format=capture" % sid).body)
    env = dict(d.env, WARPSIGHT_DB=os.path.join(d.folder, "back.db"), WARPSIGHT_SPOOL=os.path.join(d.folder, "nospool"))
    subprocess.check_call([PROGRAM, "import", capture], env=env, stdout=subprocess.DEVNULL)
    back = json.loads(subprocess.check_output([PROGRAM, "report", "--json"], env=env))
    assert [k["launches"] for k in back["kernels"]] == [k["launches"] for k in d.json("sessions/%d/report" % sid)["kernels"]]
    assert d.ask("/api/v1/sessions/%d/export?format=doc" % sid).status == 400


@test
def deleting_takes_a_session_and_nothing_else(d):
    a, b = d.fill("stays", 100), d.fill("goes", 100)
    write = {"X-WarpSight": "1"}
    d.json("sessions/%d/timeline" % b)
    assert d.ask("/api/v1/sessions/%d" % b, "DELETE", write).status == 204
    for path in "", "/report", "/kernels", "/launches", "/timeline", "/timeline/data", "/roofline", "/export?format=csv":
        assert d.ask("/api/v1/sessions/%d%s" % (b, path)).status == 404, path
    assert d.ask("/api/v1/sessions/%d" % b, "DELETE", write).status == 404
    assert d.json("sessions/%d" % a)["session"]["launches"] == 100
    writer = d.write("running", 2000, 500)
    assert writer.stdout.readline() == b"ready\n"
    wait_for(lambda: any(s["name"] == "running" and s["live"] for s in d.json("sessions")["sessions"]))
    sid = d.json("sessions")["sessions"][0]["id"]
    r = d.ask("/api/v1/sessions/%d" % sid, "DELETE", write)
    assert r.status == 409 and json.loads(r.body)["error"]["code"] == "session_live"
    writer.kill()
    writer.wait()


@test
def hostile_names_stay_text(d):
    sid = d.fill("hostile", 100)
    r = d.ask("/api/v1/sessions/%d/kernels?filter=onerror" % sid)
    assert r.headers["Content-Type"].startswith("application/json")
    name = json.loads(r.body)["kernels"][0]["mangled"]
    assert name.startswith("</script><img src=x onerror=alert(1)>\"\\\n")
    metrics = d.ask("/metrics").body.decode()
    line = next(x for x in metrics.splitlines() if "onerror" in x and "seconds" in x)
    assert '\\"' in line and "\\n" in line and line.count("{") == 1


@test
def metrics_are_prometheus_text_and_name_kernels_only_with_the_token(d):
    d.fill("metrics", 500)
    with_token, without = d.ask("/metrics").body.decode(), d.ask("/metrics", token=False).body.decode()
    sample = re.compile(r'^[a-z_]+(\{([a-zA-Z_]+="(?:[^"\\\n]|\\.)*",?)*\})? [-+0-9.e]+$')
    for line in with_token.splitlines():
        assert line.startswith("# ") or sample.match(line), line
    assert "warpsight_kernel" in with_token and "warpsight_kernel" not in without
    assert 'gpu="0",UUID="GPU-00000000-0000-0000-0000-000000000001",device="nvidia0"' in with_token
    total = sum(float(x.rsplit(" ", 1)[1]) for x in with_token.splitlines() if x.startswith("warpsight_kernel_launches"))
    assert total == 500
    for name in "warpsight_ingest_records_total", "warpsight_ingest_lost_frames_total", "warpsight_database_bytes", \
            "warpsight_ingest_lag_seconds", "warpsight_spool_backlog_bytes":
        assert name in without, name


@test
def openapi_lists_every_route_and_parameter(d):
    spec = d.json("openapi.json")
    routes = json.loads(subprocess.check_output([PROGRAM, "list", "routes", "--json"]))["routes"]
    api = [r for r in routes if r["path"].startswith("/api/") or r["path"] in ("/healthz", "/metrics", "/app.js", "/app.css")]
    got = {(m.upper(), p) for p, ms in spec["paths"].items() for m in ms}
    assert got == {(r["method"], r["path"]) for r in api}
    for r in api:
        named = {p["name"] for p in spec["paths"][r["path"]][r["method"].lower()]["parameters"] if p["in"] == "query"}
        assert named == set(r["parameters"].split()), r["path"]


@test
def commands_to_processes_are_checked_before_anything_is_done(d):
    write = {"X-WarpSight": "1", "Content-Type": "application/json"}
    nobody = "0123456789abcdef0123456789abcdef"
    def told(body, headers=write, token=True):
        r = d.ask("/api/v1/running", "POST", headers, body, token=token)
        return r.status, json.loads(r.body)["error"]["code"]
    assert told('{"agent":"%s","do":"stop"}' % nobody, token=False)[0] == 401
    assert told('{"agent":"%s","do":"stop"}' % nobody, {"Content-Type": "application/json"})[0] == 403
    assert told('{"agent":"%s","do":"stop"}' % nobody, dict(write, Origin="http://evil.example"))[0] == 403
    assert told('{"agent":"%s","do":"stop"}' % nobody) == (404, "process_not_found")
    assert told('{"agent":"../../x","do":"stop"}') == (404, "process_not_found")
    for body in "{", "{}", '{"agent":7,"do":"stop"}', "[]":
        assert told(body) == (400, "bad_json"), body
    assert told('{"agent":"%s"}' % nobody) == (400, "bad_command")
    assert told('{"agent":"%s","do":"list"}' % nobody) == (400, "bad_command")
    for duration in '"10"', "0", "-5", "1e300":
        assert told('{"agent":"%s","do":"start","duration_ms":%s}' % (nobody, duration)) == (400, "bad_duration"), duration


@test
def every_get_route_answers(d):
    sid = d.fill("routes", 100)
    kid = d.json("sessions/%d/kernels" % sid)["kernels"][0]["id"]
    for r in json.loads(subprocess.check_output([PROGRAM, "list", "routes", "--json"]))["routes"]:
        if r["method"] != "GET" or r["path"].endswith("/events"):
            continue
        path = r["path"].replace("{id}", str(sid)).replace("{kid}", str(kid)).replace("/*", "/x")
        if path.endswith("/compare"):
            path += "?base=%d&target=%d" % (sid, sid) if path.startswith("/api") else ""
        got = d.ask(path)
        built = got.status == 404 and json.loads(got.body)["error"]["code"] == "not_built"
        assert got.status == 200 or built, (path, got.status)
        assert got.headers["Content-Type"].split(";")[0] == r["type"] or built or path.endswith(("export",)), path


@test
def page_and_its_files_fit_together(d):
    page = d.ask("/", token=False)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8" and page.headers["Cache-Control"] == "no-cache"
    for path in re.findall(rb'(?:src|href)="(/[^"]+)"', page.body):
        r = d.ask(path.decode(), token=False)
        assert r.status == 200 and r.headers["Cache-Control"].endswith("immutable"), path
        assert d.ask(path.decode().partition("?")[0], token=False).headers["Cache-Control"] == "no-cache"
        again = d.ask(path.decode(), token=False, headers={"If-None-Match": r.headers["ETag"]})
        assert again.status == 304
    assert b"http://" not in page.body.replace(b"http://www.w3.org", b"") and b"https://" not in page.body


@test
def report_in_one_file_needs_nobody_and_runs_nothing_foreign(d):
    sid = d.fill("html", 300)
    out = os.path.join(d.folder, "r.html")
    p = subprocess.run([PROGRAM, "report", str(sid), "--html", out], env=d.env, capture_output=True, text=True)
    if b"built without its page" in d.ask("/", token=False).body:
        assert p.returncode == 1 and "make web" in p.stderr
        return
    assert p.returncode == 0 and p.stdout == "", p
    text = open(out, encoding="utf-8").read()
    data = re.search(r'<script type="application/json" id="warpsight-data">([^<]*)</script>', text)
    got = json.loads(data.group(1))
    assert got["report"] == d.json("sessions/%d/report" % sid) and got["catalogue"] == d.json("catalogue")
    assert got["roofline"] == d.json("sessions/%d/roofline" % sid)
    assert got["session"] == d.json("sessions/%d" % sid) and got["time"] == d.json("sessions/%d/time" % sid)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1)
    for tag, directive in (r'<script type="module">(.*?)</script>', "script-src"), (r"<style>(.*?)</style>", "style-src"):
        inline = re.search(tag, text, re.S).group(1)
        named = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert "%s 'sha256-%s'" % (directive, named) in policy, directive
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]', re.sub(r"<script.*?</script>", "", text, flags=re.S))
    p = subprocess.run([PROGRAM, "report", "--html", out, "--json"], env=d.env, capture_output=True, text=True)
    assert p.returncode == 2


@test
def report_in_one_file_keeps_the_lines_of_the_kernels_that_are_named(d):
    own = Daemon()
    try:
        subprocess.run([PROGRAM, "kernels", "model", "transpose", "-q"], env=own.env, stdout=subprocess.DEVNULL, check=True)
        out = os.path.join(own.folder, "r.html")
        kernels = {k["name"]: k["id"] for k in own.json("sessions/1/report")["kernels"]}
        for named in ("transpose_naive", "regex:tile", None):
            more = ["--source", named] if named else []
            p = subprocess.run([PROGRAM, "report", "1", "--html", out, *more], env=own.env, capture_output=True, text=True)
            if b"built without its page" in own.ask("/", token=False).body:
                assert p.returncode == 1
                continue
            assert p.returncode == 0 and p.stdout == "", p
            got = json.loads(re.search(r'id="warpsight-data">([^<]*)</script>', open(out, encoding="utf-8").read()).group(1))
            want = {str(i) for n, i in kernels.items() if named and named.replace("regex:", "") in n}
            assert set(got["sources"]) == want and len(got["report"]["kernels"]) == len(kernels), (named, got["sources"].keys())
            for kernel, source in got["sources"].items():
                assert source["instructions"] and source == own.json("sessions/1/kernels/%s/source" % kernel)
        p = subprocess.run([PROGRAM, "report", "1", "--html", out, "--source", "transpose_navie"], env=own.env, capture_output=True, text=True)
        assert p.returncode == 1 and "transpose_naive" in p.stderr, p
        p = subprocess.run([PROGRAM, "report", "--csv", "--source", "transpose_naive"], env=own.env, capture_output=True, text=True)
        assert p.returncode == 2 and "--html" in p.stderr, p
    finally:
        own.stop()


# --- streams and life ----------------------------------------------------------------------------

@test
def streams_are_bounded_and_forgotten_when_they_leave(d):
    streams = []
    for _ in range(16 - d.json("status")["clients"]["streams"]):
        s = socket.create_connection(("127.0.0.1", d.port))
        s.sendall(get(path="/api/v1/events", more="Authorization: Bearer %s\r\n" % d.token)(d))
        assert b"200" in s.recv(100)
        streams.append(s)
    r = d.ask("/api/v1/events")
    assert r.status == 503 and r.headers["Retry-After"] == "10"
    for s in streams:
        s.close()
    # No event is needed: who clicks through many pages must not use up the streams.
    wait_for(lambda: d.json("status")["clients"]["streams"] == 0, 25)


@test
def second_daemon_says_who_holds_the_database(d):
    p = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0"], env=d.env, capture_output=True, text=True, timeout=20)
    assert p.returncode == 1 and p.stdout == ""
    assert "pid %d" % d.process.pid in p.stderr and "http://127.0.0.1:%d" % d.port in p.stderr and p.stderr.count("\n") == 1
    assert d.token not in p.stderr


@test
def taken_port_is_one_clear_line(d):
    env = dict(d.env, WARPSIGHT_DB=os.path.join(d.folder, "other.db"))
    p = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:%d" % d.port], env=env, capture_output=True, text=True)
    assert p.returncode == 1 and p.stderr.count("\n") == 1 and str(d.port) in p.stderr, p.stderr


@test
def wrong_options_are_usage_errors(d):
    for options in (["--listen", "x"], ["--listen", "127.0.0.1:99999"], ["--listen", "example.com:1"],
                    ["--no-token", "--listen", "0.0.0.0:0"], ["--allow-host", "a b"], ["x"]):
        p = subprocess.run([PROGRAM, "serve", *options], env=d.env, capture_output=True, text=True, timeout=20)
        assert p.returncode in (1, 2) and p.stderr.count("\n") == 1 and p.stdout == "", (options, p)


@test
def sigterm_ends_within_two_seconds_with_streams_idle_ones_and_a_writer(d):
    own = Daemon()
    s1 = socket.create_connection(("127.0.0.1", own.port))
    s1.sendall(get(path="/api/v1/events", more="Authorization: Bearer %s\r\n" % own.token)(own))
    s1.recv(100)
    s2 = socket.create_connection(("127.0.0.1", own.port))
    s3 = socket.create_connection(("127.0.0.1", own.port))
    s3.sendall(b"GET / HTTP/1.1\r\nHost: loc")
    writer = own.write("ended", 3000, 300)
    assert writer.stdout.readline() == b"ready\n"
    status, seconds = own.stop()
    assert status == 0 and seconds < 2, (status, seconds)
    rest = b""
    s1.settimeout(2)
    while chunk := s1.recv(4096):
        rest += chunk
    assert b"event: bye" in rest
    assert writer.wait(30) == 0
    again = Daemon(folder=own.folder)  # what came meanwhile is taken by the next one
    assert again.token == own.token
    wait_for(lambda: any(s["name"] == "ended" and s["launches"] == 3000 for s in again.json("sessions")["sessions"]))
    assert again.json("status")["ingest"]["lost"] == 0
    assert again.stop()[0] == 0
    for s in s2, s3:
        s.close()


@test
def killed_daemon_leaves_nothing_half_done(d):
    own = Daemon()
    writer = own.write("crash", 20000, 100)
    assert writer.stdout.readline() == b"ready\n"
    own.process.kill()
    own.process.wait()
    assert writer.wait(30) == 0
    again = Daemon(folder=own.folder)
    wait_for(lambda: any(s["name"] == "crash" and s["launches"] == 20000 for s in again.json("sessions")["sessions"]))
    assert again.json("status")["ingest"]["lost"] == 0
    assert again.stop()[0] == 0


@test
def a_daemon_that_is_killed_again_and_again_loses_nothing_and_stores_nothing_twice(d):
    own = Daemon()
    writers = [own.write("again%d" % i, 150000, 150, 40, "host") for i in range(2)]
    kills = 0
    while any(w.poll() is None for w in writers) or kills < 8:
        time.sleep(0.05 + 0.03 * (kills * 7 % 10))  # at another place of its round each time
        own.process.kill()
        own.process.wait()
        kills += 1
        own = Daemon(folder=own.folder)
    assert all(w.returncode == 0 for w in writers)
    wait_for(lambda: sorted(s["launches"] for s in own.json("sessions")["sessions"]) == [150000] * 2, 60)
    assert own.json("status")["ingest"]["lost"] == 0
    for s in own.json("sessions")["sessions"]:
        one = own.json("sessions/%d" % s["id"])
        assert one["loss"] == [], one["loss"]
        assert sum(k["launches"] for k in own.json("sessions/%d/report" % s["id"])["kernels"]) == 150000
        assert own.json("sessions/%d/timeline" % s["id"])["events"] == 150000 + 150000 // 16
        queue = own.json("sessions/%d/timeline/queue" % s["id"])
        assert queue["launches"] == queue["joined"] == 150000
    assert own.stop()[0] == 0
    with sqlite3.connect(own.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


@test
def sighup_opens_the_log_anew(d):
    log = os.path.join(d.folder, "rotated.log")
    own = Daemon("--log", log)
    os.rename(log, log + ".1")
    own.process.send_signal(signal.SIGHUP)
    wait_for(lambda: os.path.exists(log) and "opened anew" in open(log).read())
    assert own.stop()[0] == 0
    assert "ends" in open(log).read() and "ends" not in open(log + ".1").read()


@test
def background_returns_when_it_answers_and_stop_ends_it(d):
    folder = tempfile.mkdtemp(dir=os.environ.get("WS_SCRATCH"))
    env = dict(os.environ, WARPSIGHT_DB=os.path.join(folder, "a.db"), WARPSIGHT_SPOOL=os.path.join(folder, "spool"))
    p = subprocess.run([PROGRAM, "serve", "--background", "--listen", "127.0.0.1:0"], env=env, capture_output=True, text=True,
                       timeout=20)
    assert p.returncode == 0 and "serve --stop" in p.stdout, p
    url = p.stdout.splitlines()[0]
    port = int(url.split(":")[2].split("/")[0])
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request("GET", "/healthz")
    assert c.getresponse().status == 200
    second = subprocess.run([PROGRAM, "serve", "--background", "--listen", "127.0.0.1:0"], env=env, capture_output=True, text=True,
                            timeout=20)
    assert second.returncode == 1 and "already" in second.stderr and second.stdout == ""
    assert subprocess.run([PROGRAM, "serve", "--stop"], env=env, capture_output=True, timeout=20).returncode == 0
    gone = subprocess.run([PROGRAM, "serve", "--stop"], env=env, capture_output=True, text=True, timeout=20)
    assert gone.returncode == 1 and gone.stderr.count("\n") == 1


@test
def health_says_why_nothing_can_be_stored(d):
    own = Daemon()
    os.makedirs(own.spool, exist_ok=True)
    os.chmod(own.spool, 0o777)  # anybody could plant records there
    os.makedirs(os.path.join(own.spool, "x"), exist_ok=True)
    try:
        wait_for(lambda: own.ask("/healthz").status in (200, 503))
        r = own.ask("/healthz")
        body = json.loads(r.body)
        assert (r.status == 200) == ("reason" not in body), body
    finally:
        own.stop()


def main():
    failed = 0
    wanted = sys.argv[1:]
    d = Daemon()
    for f in TESTS:
        if wanted and f.__name__ not in wanted:
            continue
        try:
            f(d)
            print("PASS", f.__name__, flush=True)
        except Exception as e:  # noqa: BLE001: whatever it is, it is this test's failure
            import traceback
            traceback.print_exc()
            print("FAIL", f.__name__, repr(e)[:300], flush=True)
            failed = 1
    status, seconds = d.stop()
    d.log.seek(0)
    log = d.log.read()
    good = status == 0 and seconds < 2 * SLOW and "Sanitizer" not in log
    print("PASS" if good else "FAIL", "daemon_ends_well_after_all_of_this", flush=True)
    if not good:
        print(status, seconds, log[-4000:], file=sys.stderr)
    return failed or not good


sys.exit(main())
