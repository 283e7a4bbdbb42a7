package lapwing;

import java.util.function.Supplier;

/**
 * Compares schemas of rows with the records of a session, each schema once. One thread at a time
 * may use it, like the object that it belongs to.
 */
final class RowTypes {
  private final Supplier<Schema> source;
  private final String sourceName; // the name in programs
  private boolean isLoaded;
  private Schema actual; // null: the bus has no schema
  private Schema fitting; // the last one that fits

  /** If the source throws NOT_FOUND, the bus has no schema. */
  RowTypes(Supplier<Schema> source, String sourceName) {
    this.source = source;
    this.sourceName = sourceName;
  }

  /** Throws RECORD_SIZE if the fields of the row's schema differ from those of the records. */
  void check(Row row) {
    Schema given = row.schema();
    if (given != null && given != fitting) {
      check(given);
    }
  }

  private void check(Schema given) {
    if (!isLoaded) {
      actual = load();
      isLoaded = true;
    }
    if (actual != null && actual.hash() != given.hash()
        && actual.recordBytes() == given.recordBytes()) {
      String difference = difference(actual, given);
      if (difference != null) {
        throw new LapwingException(ErrorCode.RECORD_SIZE, "a row of " + given.name()
            + " is not a record of this bus, " + actual.name() + ": " + difference
            + ". Allocate rows by " + sourceName + ".");
      }
    }
    fitting = given;
  }

  private Schema load() {
    try {
      return source.get();
    } catch (LapwingException e) {
      if (e.code() == ErrorCode.NOT_FOUND) {
        return null;
      }
      throw e;
    }
  }

  private static String difference(Schema bus, Schema given) {
    for (Field field : bus.fields()) {
      if (field.role() == Field.Role.SPARE) {
        continue;
      }
      Field other = given.find(field.name());
      if (other == null) {
        return "field " + field.name() + " is missing";
      }
      if (other.offset() != field.offset()) {
        return "field " + field.name() + " is at byte " + other.offset() + ", not at "
            + field.offset();
      }
      if (other.type() != field.type()) {
        return "field " + field.name() + " is " + other.type() + ", not " + field.type();
      }
      if (other.bytes() != field.bytes()) {
        return "field " + field.name() + " has " + other.bytes() + " bytes, not " + field.bytes();
      }
    }
    for (Field field : given.fields()) {
      if (field.role() != Field.Role.SPARE && bus.find(field.name()) == null) {
        return "field " + field.name() + " is not in the records of the bus";
      }
    }
    return null;
  }
}
