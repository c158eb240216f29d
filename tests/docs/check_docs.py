#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# check_docs.py: see test_docs.sh. check_docs.py SCRATCH, with B, WARPSIGHT_DB and WARPSIGHT_SPOOL set.
import glob, json, os, re, shlex, shutil, subprocess, sys

scratch = sys.argv[1]
build = os.path.abspath(os.environ["B"])
program = f"{build}/warpsight"
pages = ["README.md"] + sorted(glob.glob("docs/*.md"))
failed = False


def say(good, name, why=""):
    global failed
    failed = failed or not good
    print(f"PASS {name}" if good else f"FAIL {name}: {why}")


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, **more)


# --- commands in the text: each option is one of that command's ------------------------------------
commands = re.findall(r"^  (\w+) ", run([program, "--help"]).stdout, re.M)
helps = {}


def help_of(words):
    """Help of `kernels verify` or `serve`; what it knows."""
    key = " ".join(words)
    if key not in helps:
        helps[key] = run([program, *words, "--help"]).stdout
    return helps[key]


def options_of(text):
    """Options of one command line, without those of the program that it starts."""
    words = []
    for word in text.split()[1:]:
        if word.startswith("./") or word in ("python", "python3", "torchrun", "|", "&&", ";", ">"):
            break
        words.append(word)
    return words


def check_command(page, text):
    words = options_of(text)
    if not words or not re.fullmatch(r"[a-z]+", words[0]):
        return None  # "warpsight COMMAND --help" and the like
    if words[0] not in commands:
        return f"{page}: there is no command '{words[0]}': {text}"
    prefix = words[:2] if words[0] == "kernels" and len(words) > 1 and words[1] in ("verify", "model", "list") else words[:1]
    known = help_of(prefix)
    for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", " ".join(words[len(prefix):])):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
            return f"{page}: {words[0]} has no option {option}: {text}"
    return None


wrong, seen = [], 0
for page in pages:
    text = open(page).read()
    lines = re.findall(r"`(warpsight [^`]*)`", text)
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S):
        lines += re.findall(r"^(?:\$ )?(warpsight .*?)(?:\s+#.*)?$", block, re.M)
    for line in (part for joined in lines for part in re.split(r"\s*(?:;|&&)\s*(?=warpsight )", joined)):
        seen += 1
        problem = check_command(page, line.replace("\\|", "|"))
        if problem:
            wrong.append(problem)
say(seen > 60 and not wrong, f"the documents' commands and their options exist", "; ".join(wrong[:4]) or f"only {seen}")

# --- links ------------------------------------------------------------------------------------------
broken = []
for page in pages:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", open(page).read()):
        if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(page), target)):
            broken.append(f"{page}: {target}")
say(not broken, "every link leads to a file", "; ".join(broken[:4]))
lost = [page for page in glob.glob("docs/*.md") if os.path.basename(page) not in open("README.md").read()]
say(not lost, "README leads to every document", ", ".join(lost))

# --- routes -----------------------------------------------------------------------------------------
api = open("docs/api.md").read()
routes = json.loads(run([program, "list", "routes", "--json"]).stdout)["routes"]
untold = []
for route in routes:
    path = route["path"].replace("*", "…")
    # A path of data is told with its method; then come its parameters, or the end of the word.
    told = rf"`{route['method']} {re.escape(path)}[`?]" if path.startswith("/api/") else rf"`{re.escape(path)}`"
    if not path.endswith("openapi.json") and not re.search(told, api):
        untold.append(f"{route['method']} {path}")
say(len(routes) > 40 and not untold, "docs/api.md tells of every route", ", ".join(untold))

# --- ```sh blocks are run, line by line, as a reader would ------------------------------------------
fake = f"{build}/fake"
has_collector = os.path.exists(f"{build}/libwarpsight-cupti.so") and os.path.exists(f"{fake}/fake_app")
folder = f"{scratch}/reader"
os.makedirs(f"{folder}/bin")
os.symlink(program, f"{folder}/bin/warpsight")
with open(f"{folder}/app", "w") as app:
    app.write(f"#!/bin/sh\nexec {shlex.quote(fake)}/fake_app basic\n")
os.chmod(f"{folder}/app", 0o755)
# Files of other tools that the documents name.
shutil.copy(glob.glob("tests/gpu/results/*-ncu-details.csv.gz")[-1], f"{folder}/ncu-details.csv.gz")
run([sys.executable, "tests/flow/make_nsys.py", f"{folder}/nsys.sqlite"])
environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", WARPSIGHT_CUPTI=fake, WARPSIGHT_LISTEN="",
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0")
run([program, "import", "tests/flow/h200-kernels.wscap"])
for page in pages:
    for block in re.findall(r"^```sh\n(.*?)^```", open(page).read(), re.M | re.S):
        for line in block.splitlines():
            line = re.sub(r"\s+#.*", "", line).strip()
            if not line.startswith("warpsight "):
                continue
            name = f"{page}: {line}"
            # What ./app would have left: its session "after", its kernel vecadd.
            if re.search(r"\./app|\bafter\b|\bvecadd\b", line) and not has_collector:
                print(f"SKIP {name}: no collector library here")
                continue
            if line.startswith("warpsight serve --background"):
                line += " --listen 127.0.0.1:0"
            # A build that got worse ends with 1, and so does a doctor without a GPU: an answer, not a mistake.
            expected = (0, 1) if re.match(r"warpsight (diff .*--fail-on|doctor)", line) else (0,)
            try:
                done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
            except subprocess.TimeoutExpired:
                say(False, name, "no end in 120 s")
                continue
            say(done.returncode in expected, name, f"exit status {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
sys.exit(failed)
