#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""places.py and apply on small headers: what they find, what they change, and what they refuse."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
import places  # noqa: E402
from places import Misfit  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("apply", str(pathlib.Path(__file__).resolve().parent / "apply"))
apply = importlib.util.module_from_spec(importlib.util.spec_from_loader("apply", LOADER))
sys.modules["apply"] = apply
LOADER.exec_module(apply)

HEADER = r'''
#ifndef A_HPP
#define A_HPP
#define BRACE {
namespace lib::inline v0::deep {

template <class T = list<list<int>>>
    requires (sizeof(T) > 1) && requires(T t) { t.f(); }
class machine final : public base<T>, other {
    struct hidden;

public:
    static constexpr std::size_t most{3};
    static constexpr auto later = [](int a, int b) { return a > b; };

    explicit machine(int a) noexcept : base{}, a_{a}, b_(list<int>{a}) { start(); }
    ~machine() { stop(); }
    friend bool operator==(const machine& a, const machine& b) { return a.a_ == b.a_; }
    void operator()() const { call(); }
    [[nodiscard]] std::function<void(int)> step(int now, const char* words = "} ;") const noexcept(noexcept(f()))
    {
        // now >= end_ in a comment
        if (const int left = end_ - now; phase_ != held || now >= end_ || broken()) return {};
        else
            again(now);
        for (int i = 0; i < most; ++i) each([&] { if (last(i)) { leave(i); } });
        return [this] {
            log("step; {");
            stop();
        };
    }
    auto step(double now) -> decltype(now)
        requires requires(T t) { t.g(); }
    {
        return a_ && (now > 1.0) && b_ ? 1'000 : now;
    }
    void declared();

private:
    int a_ = 0;
    enum class phase : int { none, held };
    struct alignas(64) inner {
        void step() { a(); }
    };
};

inline constexpr int limit = most<int>(4) + 1;

}  // namespace lib::inline v0::deep
#endif
'''


def library(text=HEADER):
    return places.Library([places.Source("a.hpp", text)])


def changed(operator, wanted, *arguments):
    """The tokens that an operator takes away and puts there."""
    found = library().find(wanted)
    before, after = found.source.tokens, operator(found, *arguments).tokens
    same = next(i for i in range(len(before)) if before[i] != after[i])
    end = next(i for i in range(len(before)) if before[-1 - i] != after[-1 - i])
    return " ".join(before[same:len(before) - end]), " ".join(after[same:len(after) - end])


class Finding(unittest.TestCase):
    def test_every_function_and_constant_is_found_by_its_full_name(self):
        prefix = "lib::v0::deep::"
        names = [place.name.removeprefix(prefix) for place in library().sources["a.hpp"].places]
        self.assertEqual(names, ["machine::most", "machine::later", "machine::machine", "machine::~machine", "machine::operator==",
                                 "machine::operator()", "machine::step", "machine::step", "machine::inner::step", "limit"])

    def test_the_end_of_a_name_is_enough_where_it_is_the_only_one(self):
        self.assertEqual(library().find("inner::step").name, "lib::v0::deep::machine::inner::step")
        self.assertEqual(library().find("machine::operator()").name, "lib::v0::deep::machine::operator()")
        with self.assertRaisesRegex(Misfit, "no function ner::step"):
            library().find("ner::step")

    def test_overloads_are_told_apart_by_words_of_their_parameters(self):
        with self.assertRaisesRegex(Misfit, "more than one function machine::step: machine::step in a.hpp; machine::step"):
            library().find("machine::step")
        body = library().find("machine::step(double)")
        self.assertIn("a_", body.source.tokens[slice(*body.body)])

    def test_a_renamed_function_is_a_misfit_that_names_it_and_what_is_near(self):
        with self.assertRaisesRegex(Misfit, r"no function other::stop_all$"):
            library().find("other::stop_all")
        with self.assertRaisesRegex(Misfit, r"no function old_machine::~machine; is it now machine::~machine in a.hpp\?"):
            library().find("old_machine::~machine")
        with self.assertRaisesRegex(Misfit, r"no function machine::stepp; is it now machine::step in a.hpp"):
            library().find("machine::stepp")
        with self.assertRaisesRegex(Misfit, "no function machine::declared"):
            library().find("machine::declared")

    def test_a_header_with_brackets_that_do_not_match_is_refused(self):
        for broken in ("void f() {", "void f() { g(]; }", "}"):
            with self.assertRaisesRegex(Misfit, "a.hpp: "):
                library(broken)


class Changing(unittest.TestCase):
    def test_words_are_found_however_they_are_spaced_and_not_in_comments_or_strings(self):
        self.assertEqual(changed(places.replace, "machine::step(int)", "now>=end_", "later"), ("now >= end_", "later"))
        with self.assertRaisesRegex(Misfit, r"'comment' is not in machine::step in a.hpp"):
            changed(places.replace, "machine::step(int)", "comment", "x")

    def test_words_that_are_there_twice_are_refused(self):
        with self.assertRaisesRegex(Misfit, "'now' is 3 times in machine::step"):
            changed(places.replace, "machine::step(int)", "now", "x")

    def test_only_the_named_function_is_searched(self):
        with self.assertRaisesRegex(Misfit, r"'call\(\)' is not in"):
            changed(places.replace, "inner::step", "call()", "x")

    def test_a_statement_is_the_innermost_one(self):
        step = "machine::step(int)"
        self.assertEqual(changed(places.drop_statement, step, "leave"), ("leave ( i )", ""))
        self.assertEqual(changed(places.drop_statement, step, "last"), ("if ( last ( i ) ) { leave ( i ) ; }", ";"))
        self.assertEqual(changed(places.drop_statement, step, "log"), ('log ( "step; {" )', ""))
        self.assertEqual(changed(places.drop_statement, step, "again"), ("again ( now )", ""))
        self.assertTrue(changed(places.drop_statement, step, "i < most")[0].startswith("for ( int i = 0"))

    def test_an_if_is_dropped_with_its_branches_by_words_of_its_condition(self):
        dropped = changed(places.drop_statement, "machine::step(int)", "broken()")[0]
        self.assertTrue(dropped.startswith("if ( const int left") and dropped.endswith("else again ( now )"), dropped)

    def test_an_operand_of_a_condition_becomes_what_decides_nothing(self):
        self.assertEqual(changed(places.drop_condition, "machine::step(int)", "now >="), ("now >= end_", "false"))
        self.assertEqual(changed(places.drop_condition, "machine::step(int)", "broken"), ("broken ( )", "false"))
        self.assertEqual(changed(places.drop_condition, "machine::step(double)", "b_"), ("b_", "true"))
        with self.assertRaisesRegex(Misfit, "is no operand of && or"):
            changed(places.drop_condition, "operator==", "a.a_")

    def test_a_constant_gets_another_value(self):
        self.assertEqual(changed(places.set_value, "machine::most", "1"), ("3", "1"))
        self.assertEqual(changed(places.set_value, "deep::limit", "2"), ("most < int > ( 4 ) + 1", "2"))
        with self.assertRaisesRegex(Misfit, "is a function, not a constant"):
            changed(places.set_value, "inner::step", "1")


class Catalogue(unittest.TestCase):
    def misfits(self, *lines, check="simulate"):
        mutants = apply.read_catalogue("\n".join(["# a comment", "mutant a: what it does", f"check {check}", *lines]))
        return list(apply.misfits(mutants, library()))

    def test_a_mutant_has_one_or_more_places_and_operators(self):
        self.assertEqual(self.misfits("in machine::step(int)", "drop condition now >=", "replace again", "by log", "in machine::most", "value 4"), [])
        self.assertEqual(self.misfits("in inner::step", "replace a()", "by if (const int fresh = 1) {", "       stop();", "   }"), [])

    def test_a_mutant_that_does_not_fit_is_named_with_the_function_it_looked_for(self):
        self.assertEqual(self.misfits("in gone::leave", "drop statement x"), ["a: no function gone::leave"])
        self.assertEqual(self.misfits("in inner::step", "drop statement b()"), ["a: 'b()' is not in inner::step in a.hpp"])

    def test_a_second_edit_sees_what_the_first_has_left(self):
        self.assertEqual(self.misfits("in inner::step", "drop statement a()", "drop statement a()"),
                         ["a: 'a()' is not in inner::step in a.hpp"])

    def test_a_mutant_that_changes_nothing_does_not_fit(self):
        self.assertEqual(self.misfits(), ["a: it changes nothing"])
        self.assertEqual(self.misfits("in machine::most", "value 3"), ["a: it changes nothing in machine::most in a.hpp"])

    def test_a_replacement_with_a_name_that_the_library_no_longer_has_does_not_fit(self):
        self.assertEqual(self.misfits("in inner::step", "replace a()", "by old_name_()"),
                         ["a: the library has no 'old_name_', which is to stand in inner::step in a.hpp"])

    def test_a_check_that_is_gone_does_not_fit(self):
        for gone in ("unit:no_such_test.cpp", "explore:no-such-world", "nothing", ""):
            self.assertEqual(self.misfits("in machine::most", "value 4", check=gone), [f"a: there is no check '{gone}'"])

    def test_a_small_world_and_the_rule_that_it_must_break_are_the_simulators(self):
        fits = ["in machine::most", "value 4"]
        self.assertEqual(self.misfits("rule a fire is completed once", *fits, check="explore:fire"), [])
        self.assertEqual(self.misfits(*fits, check="explore:fire"), ["a: which rule of the simulator is it to break?"])
        self.assertEqual(self.misfits("rule all is well", *fits, check="explore:fire"), ["a: the simulator has no rule 'all is well'"])

    def test_each_rule_of_the_judges_has_a_mutant(self):
        missing = list(apply.rules_without_a_mutant([apply.Mutant("a", "x", "explore:fire", "a fire is completed once")]))
        self.assertIn("no mutant is to break the rule 'a fire is given up once' of fire_judge.hpp", missing)
        self.assertIn("no mutant is to break the rule 'a permit is had in the end' of permit_judge.hpp", missing)
        self.assertIn("no mutant is to break the rule 'another schedule is refused' of fires.hpp", missing)
        self.assertIn("no mutant is to break the rule 'a hold is had in the end' of hold_judge.hpp", missing)
        self.assertFalse([line for line in missing if "completed once" in line])

    def test_a_name_is_there_once(self):
        mutants = apply.read_catalogue("mutant a: x\ncheck simulate\nin machine::most\nvalue 4\n" * 2)
        self.assertEqual(list(apply.misfits(mutants, library())), ["a: this name is there twice"] * 2)

    def test_a_line_that_says_nothing_known_is_refused(self):
        for line in ("remove x", "by x", "value 4", "in", "mutant without words"):
            with self.subTest(line), self.assertRaisesRegex(Misfit, r"catalogue.txt:4: what is '"):
                self.misfits(line)


if __name__ == "__main__":
    unittest.main()
