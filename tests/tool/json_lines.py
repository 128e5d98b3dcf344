#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Reads back what `list`, `show`, `watch` and `doctor` write as JSON, with Python's parser: names, owners, data and reasons that
attack it, and folders, too. json_lines.py LEASEHOLD"""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TEXTS = [text.encode() for text in (
    'quotes "', "backslash \\", '\\"', '{"name": "forged", "owner": null}', '", "token": 9, "x": "', "\\u0022", "a/b", "</script>",
    "".join(map(chr, range(1, 32))) + "\x7f", "".join(map(chr, range(0x80, 0xA0))), "line\nline\r\n", "paragraphs \u2028 \u2029",
    "\u202eturned", "\ufeffmark", "astral \U0001f600", "tag \U000e0041", "grün", "한국어")]
TEXTS += [b"byte \xff", b"\xc0\x80 too long", b"surrogate \xed\xa0\x80", b"cut \xe2\x80", b"beyond \xf4\x90\x80\x80", b"\x80\"\xbf\\"]
FAR = 4_102_444_800_000  # the year 2100, in milliseconds


def repaired(text):
    """As the command shows it: each byte that belongs to no character is U+FFFD."""
    result = ""
    while text:
        for length in (1, 2, 3, 4):
            with contextlib.suppress(UnicodeDecodeError):
                result += text[:length].decode()
                break
        else:
            result, length = result + "\ufffd", 1
        text = text[length:]
    return result


def parsed(line):
    """One value, by the letter of the standard, without a character that ends a line but for \\n, or that nobody sees."""
    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"a key stands twice: {line!r}"
        return dict(pairs)

    def no_number(word):
        raise AssertionError(f"{word} is no number of JSON: {line!r}")

    text = line.decode()
    assert text.endswith("\n") and all(character == "\n" or character.isprintable() for character in text), f"hidden characters: {line!r}"
    return json.loads(text, object_pairs_hook=once, parse_constant=no_number)


def expected():
    """Each text once as a name, an owner, data and the reason of a request; {name: record}."""
    rows = {}
    for i, name in enumerate(TEXTS):
        owner, data, reason = (TEXTS[(i + shift) % len(TEXTS)] for shift in (5, 11, 17))
        rows[name] = {"owner": owner, "token": i + 1, "data": data, "asked": reason}
    return rows


def fill(database):
    with contextlib.closing(sqlite3.connect(database)) as own, own:
        for name, row in expected().items():
            own.execute("insert into leasehold (name, owner, token, expires_at, holder_data, holder_data_token, handover_request, handover_token)"
                        " values (cast(? as text), cast(? as text), ?, ?, cast(? as text), ?, cast(? as text), ?)",
                        (name, row["owner"], row["token"], FAR, row["data"], row["token"], row["asked"], row["token"]))


def is_row(record, name, row):
    wanted = {"name": repaired(name), "owner": repaired(row["owner"]), "token": row["token"], "data": repaired(row["data"]), "asked": repaired(row["asked"])}
    left = record.pop("remaining_ms")
    assert isinstance(left, int) and 0 < left < FAR, left
    assert record == wanted, f"written: {wanted}\nread:    {record}"


def is_all(records):
    found = {record["token"]: record for record in records}
    assert len(records) == len(found) == len(TEXTS), [record["name"] for record in records]
    for name, row in expected().items():
        is_row(found[row["token"]], name, row)


def rename_table(database, before, after):
    with contextlib.closing(sqlite3.connect(database, timeout=20)) as own:
        own.execute(f"alter table {before} rename to {after}")


def watch(tool, database, environment):
    with subprocess.Popen([tool, "watch", "--json", "--interval", "10ms"], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as running:
        def next_that_has(key):
            for line in running.stdout:
                seen = parsed(line)
                assert set(seen) in ({"at", "leases"}, {"at", "error"}), seen
                time.strptime(seen["at"], "%Y-%m-%dT%H:%M:%S.%fZ")
                if key in seen:
                    return seen[key]
            raise AssertionError(f"watch ends before a line with {key}")

        try:
            is_all(next_that_has("leases"))
            rename_table(database, "leasehold", "away")
            assert next_that_has("error").startswith("the database does not answer: ")
            rename_table(database, "away", "leasehold")
            is_all(next_that_has("leases"))
            running.send_signal(signal.SIGTERM)
            for line in running.stdout:
                parsed(line)
            assert running.wait(20) == 0
        finally:
            running.kill()


def doctor(tool, folder, environment):
    for database in (b'q"uote.db', "\u2028.db".encode(), b"back\\slash\x01.db", b"byte \xff.db"):
        store = b"Driver=SQLite3;Database=" + os.path.join(os.fsencode(folder), database)
        subprocess.run([tool, "init", b"--store", store], env=environment, check=True)
        answer = subprocess.run([tool, "doctor", "--json", b"--store", store], env=environment, stdout=subprocess.PIPE, check=True)
        said = parsed(answer.stdout)
        assert set(said) == {"store", "table", "findings", "well"} and said["well"] is True, said
        assert (said["store"], said["table"]) == (repaired(store), "leasehold"), said
        assert len(said["findings"]) > 3 and all(set(each) == {"is", "text"} and each["is"] in ("ok", "note")
                                               for each in said["findings"]), said


def main():
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "leases.db")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD_")}
        environment["LEASEHOLD_STORE"] = f"Driver=SQLite3;Database={database}"

        def output(*words):
            return subprocess.run([tool, *words], env=environment, stdout=subprocess.PIPE, check=True).stdout

        output("init")
        fill(database)
        is_all(parsed(output("list", "--json")))
        for name, row in expected().items():
            if repaired(name).encode() == name:  # the store takes no other
                is_row(parsed(output("show", "--json", "--", name)), name, row)
        watch(tool, database, environment)
        doctor(tool, folder, environment)


if __name__ == "__main__":
    main()
