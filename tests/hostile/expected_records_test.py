"""Tests that the comparison of records detects each kind of error."""

import unittest

import expected_records
from expected_records import Expected, Feed, TailCheck, kv16_content
from trial import Outcome

FIRST, SECOND = Feed("first", kv16_content(1000, 5)), Feed("second", kv16_content(2000, 5))


def bus():
    expected = Expected()
    expected.add_session(1, FIRST)
    return expected


def faults(lines, expected=None, code=0):
    out = b"".join(line + b"\n" for line in lines)
    return TailCheck(expected or bus()).read(Outcome(["lapwing", "tail"], code, out, b""))


def lines_of(expected, *sequences, history=-1):
    return [expected.histories[history][n] for n in sequences]


def lost(first, last):
    return b'{"event":"lost","first":%d,"last":%d,"fillable":false}' % (first, last)


class Records(unittest.TestCase):
    def test_all_records_once_are_no_fault(self):
        self.assertEqual(faults(lines_of(bus(), 1, 2, 3, 4, 5)), [])

    def test_a_record_that_differs_is_one(self):
        wrong = lines_of(bus(), 1, 2, 3, 4) + [b'{"seq":5,"key":1,"value":1}']
        self.assertIn("not what was published", faults(wrong)[0])

    def test_a_record_under_the_sequence_of_another_is_one(self):
        lines = lines_of(bus(), 1, 2, 3, 4)
        lines.append(lines[-1].replace(b'"seq":4', b'"seq":5'))
        self.assertIn("not what was published", faults(lines)[0])

    def test_a_record_that_comes_twice_is_one(self):
        self.assertIn("again", faults(lines_of(bus(), 1, 2, 2, 3, 4, 5))[0])

    def test_records_out_of_order_are_one(self):
        self.assertTrue(faults(lines_of(bus(), 1, 3, 2, 4, 5)))

    def test_a_hole_is_one_unless_it_was_told(self):
        self.assertIn("in silence", faults(lines_of(bus(), 1, 4, 5))[0])
        told = lines_of(bus(), 1) + [lost(2, 3)] + lines_of(bus(), 4, 5)
        self.assertEqual(faults(told, code=6), [])
        half = lines_of(bus(), 1) + [lost(2, 2)] + lines_of(bus(), 4, 5)
        self.assertIn("records 3 to 3", faults(half, code=6)[0])

    def test_an_end_that_says_nothing_is_one_with_exit_code_0_alone(self):
        self.assertIn("4 to 5", faults(lines_of(bus(), 1, 2, 3))[0])
        self.assertEqual(faults(lines_of(bus(), 1, 2, 3), code=5), [])

    def test_after_a_reset_the_records_are_of_another_history(self):
        expected = bus()
        expected.add_session(1, SECOND, new_history=True)
        reset = [b'{"event":"reset","seq":1}']
        lines = lines_of(expected, 1, 2, history=0) + reset + lines_of(expected, 1, 2, 3, 4, 5)
        self.assertEqual(faults(lines, expected), [])
        mixed = lines_of(expected, 1, 2, history=0) + lines_of(expected, 3, 4, 5)
        self.assertIn("not what was published", faults(mixed, expected)[0])

    def test_the_records_of_an_older_history_are_a_fault_with_exit_code_0(self):
        expected = bus()
        expected.add_session(1, SECOND, new_history=True)
        older = lines_of(expected, 1, 2, 3, 4, 5, history=0)
        self.assertIn("older history", faults(older, expected)[0])


class Files(unittest.TestCase):
    def faults(self, numbers, records=None, lost_records=0):
        def record(number):
            return bytes([4]) + bytes([number]) * 15
        expected = Expected()
        expected.add_session(1, Feed("dbn", [b"}"] * 5, [record(n) for n in range(1, 6)]))
        data = b"DBN\x01" + (4).to_bytes(4, "little") + b"meta" + b"".join(map(record, numbers))
        summary = b'{"records":%d,"lost":%d}' % (records or len(numbers), lost_records)
        return expected_records.check_file(
            expected, data, Outcome(["lapwing", "export"], 0, summary, b""))

    def test_a_whole_file_has_no_fault(self):
        self.assertEqual(self.faults([1, 2, 3, 4, 5]), [])

    def test_a_strange_record_a_hole_a_second_time_and_a_wrong_count_are_faults(self):
        self.assertIn("not one that was published", self.faults([1, 2, 9])[0])
        self.assertIn("hole", self.faults([1, 2, 4, 5])[0])
        self.assertIn("twice", self.faults([1, 2, 2, 3])[0])
        self.assertIn("summary says 7", self.faults([1, 2, 3], records=7)[0])

    def test_a_hole_that_was_counted_as_lost_is_none(self):
        self.assertEqual(self.faults([1, 2, 4, 5], lost_records=1), [])


class Endings(unittest.TestCase):
    @staticmethod
    def faults(code, err, out=b"", command=("lapwing", "info")):
        return list(Outcome(list(command), code, out, err).faults())

    def test_what_is_no_proper_end_is_a_fault(self):
        self.assertEqual(self.faults(0, b""), [])
        self.assertEqual(self.faults(1, b"lapwing: cannot open x: it is not there\n"), [])
        self.assertIn("SIGSEGV", self.faults(-11, b"")[0])
        self.assertIn("exit code 127", self.faults(127, b"words")[0])
        self.assertIn("without a word", self.faults(1, b" \n")[0])
        self.assertIn("last words", self.faults(1, b"lapwing: std::bad_alloc\n")[0])
        self.assertIn("without what was tried",
                      self.faults(1, b"lapwing: Resource temporarily unavailable\n")[0])
        self.assertIn("control character", self.faults(2, b"lapwing: \x1b[31m\n")[0])

    def test_verify_says_on_standard_output_what_it_found(self):
        self.assertEqual(self.faults(4, b"", b"damaged\n", ("lapwing", "verify")), [])
        self.assertTrue(self.faults(4, b"", b"", ("lapwing", "verify")))


if __name__ == "__main__":
    unittest.main()
