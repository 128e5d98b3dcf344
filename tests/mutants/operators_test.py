#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""tests/mutants/operators on a small header of its own: which mutants must be killed, which must survive, and which don't compile."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TINY = HERE / "tiny"
WORK = tempfile.TemporaryDirectory()


def operators(*arguments, suite="operators.txt", known=TINY / "equivalent.txt"):
    done = subprocess.run([sys.executable, HERE / "operators", "--suite", TINY / suite, "--known", known, "--work", WORK.name, *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr, end="", file=sys.stderr)
        sys.exit(77)
    return done.returncode, done.stdout, done.stderr


class Operators(unittest.TestCase):
    def known(self, text):
        path = pathlib.Path(WORK.name) / "known.txt"
        path.write_text(text, encoding="utf-8")
        return path

    def test_places_are_what_runs(self):
        status, out, _ = operators("--list")
        self.assertEqual(status, 0)
        found = re.findall(r"^\d+  tiny/machine\.hpp:(\d+)  (.*?): ", out, re.MULTILINE)
        lines = (TINY / "include/tiny/machine.hpp").read_text(encoding="utf-8").splitlines()
        kinds = {}
        for line, kind in found:
            kinds.setdefault(lines[int(line) - 1].strip().split("(")[0].split("{")[0].strip(), []).append(kind)
        self.assertEqual(kinds, {
            "constexpr int at_least": ["condition always true", "condition never true", "< becomes <=", "< becomes >="],
            "constexpr bool is_past": ["> becomes >=", "> becomes <="],
            "constexpr auto sum": ["+ becomes -"],
            "if": ["condition always true", "condition never true", "|| becomes &&", "part of || left out", "part of || left out",
                   ">= becomes >", ">= becomes <", "statement left out", "true becomes false"],
            "return finished_;": ["answer negated"],
            "[[nodiscard]] static count both": ["+ becomes -"],
            "friend constexpr count operator+": ["+ becomes -"],
            "bool finished_ = false;": ["false becomes true"]})

    def test_only_what_is_equivalent_survives_a_whole_check(self):
        status, out, err = operators()
        self.assertEqual(status, 0, out + err)
        self.assertIn("1 mutants do not compile; trying 19", out)
        self.assertIn("19 mutants: 18 killed, 1 survived, of which 0 are not in equivalent.txt", out)
        self.assertRegex(out, r">= becomes >: killed by whole: at the end")

    def test_what_a_poorer_check_misses_is_shown_with_its_diff_and_how_to_replay_it(self):
        status, out, err = operators(suite="less.txt")
        self.assertEqual(status, 1, out + err)
        self.assertIn("19 mutants: 17 killed, 2 survived, of which 1 is not in equivalent.txt", out)
        self.assertIn("-        if (stopped() || now >= end_) finished_ = true;\n+        if (stopped() || now > end_) finished_ = true;\n", out)
        replay = re.search(r"replay: LEASEHOLD_MUTANT=(\d+) (\S+) less", out)
        program = subprocess.run([replay.group(2)], env={"LEASEHOLD_MUTANT": replay.group(1)}, capture_output=True, check=False)
        self.assertEqual(program.returncode, 1, "the whole check notices this one")

    def test_a_survivor_that_nobody_has_argued_for_fails_the_run(self):
        status, out, _ = operators(known=self.known(""))
        self.assertEqual(status, 1)
        self.assertIn("+constexpr int at_least(int planned, int shortest) noexcept { return planned <= shortest ? shortest : planned; }", out)
        self.assertIn("mutant < becomes <=: planned < shortest -> planned <= shortest\n", out)

    def test_an_argument_for_a_mutant_that_is_killed_fails_the_run(self):
        text = (TINY / "equivalent.txt").read_text(encoding="utf-8")
        killed = "in tiny/machine.hpp: return finished_;\nmutant answer negated: finished_ -> !(finished_)\nbecause of nothing\n"
        status, out, _ = operators(known=self.known(text + killed))
        self.assertEqual(status, 1)
        self.assertIn("known.txt:5: this does not survive, or is not there any more; take it out", out)

    def test_a_check_that_fails_without_a_mutant_is_refused(self):
        suite = self.known("include tests/mutants/tiny/include\nfiles tiny/machine.hpp\ncheck never tests/mutants/tiny/fails.cpp\n")
        status, _, err = operators("--suite", str(suite))
        self.assertEqual(status, 2)
        self.assertIn("never fails without a mutant", err)

    def test_what_is_wrong_with_the_files_is_said(self):
        for text, complaint in (("in tiny/machine.hpp: x\n", "it needs the lines"), ("what\n", "what is 'what'?")):
            status, _, err = operators(known=self.known(text))
            self.assertEqual(status, 2)
            self.assertIn(complaint, err)


if __name__ == "__main__":
    operators("--list")  # ends here where there is no libclang: within a test, unittest would count that as an error
    unittest.main()
