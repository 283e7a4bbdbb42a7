"""Tests that late readings are found, and that the longest pause is kept."""

import unittest

import good_user


class Times(unittest.TestCase):
    def test_time_of_a_reading_has_its_fraction(self):
        self.assertAlmostEqual(good_user.seconds_of("1970-01-02T00:00:01.250000000Z"), 86_401.25)
        self.assertEqual(good_user.seconds_of("1970-01-01T00:00:07Z"), 7)

    def test_longest_pause_is_kept(self):
        readings = good_user.Readings(100.0)
        for seconds in (100.5, 103.0, 103.5, 103.2):
            readings.take(seconds)
        self.assertEqual((readings.longest, readings.newest), (2.5, 103.5))

    def test_late_reading_is_reported_once(self):
        readings = good_user.Readings(100.0)
        late = 100.1 + good_user.LATE_SECONDS
        self.assertFalse(readings.check(100.0 + good_user.LATE_SECONDS / 2))
        self.assertTrue(readings.check(late))
        self.assertFalse(readings.check(late + 1))
        readings.take(late + 1)
        self.assertFalse(readings.check(late + 2))


if __name__ == "__main__":
    unittest.main()
