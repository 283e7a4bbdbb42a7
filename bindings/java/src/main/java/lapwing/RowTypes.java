package lapwing;

import java.nio.file.Path;

/**
 * Compares schemas of rows with the records of one bus, each schema once. One thread at a time, as the
 * object that it belongs to.
 */
final class RowTypes {
  private final Path directory;
  private final String session; // the schema of the session; null: that of the bus as it is
  private boolean isLoaded;
  private Schema described; // null: the records are not described
  private Schema fitting; // the last one that fits

  RowTypes(Path directory, String session) {
    this.directory = directory.toAbsolutePath();
    this.session = session;
  }

  /** RECORD_SIZE: the fields of the row's schema differ from those of the records. */
  void check(Row row) {
    Schema given = row.schema();
    if (given != null && given != fitting) {
      check(given);
    }
  }

  private void check(Schema given) {
    if (!isLoaded) {
      described = load();
      isLoaded = true;
    }
    if (described != null && described.hash() != given.hash()
        && described.recordBytes() == given.recordBytes()) {
      String difference = difference(described, given);
      if (difference != null) {
        throw new LapwingException(ErrorCode.RECORD_SIZE, "a row of " + given.name()
            + " is not a record of this bus, " + described.name() + ": " + difference
            + ". Allocate rows by Schema.ofBus().");
      }
    }
    fitting = given;
  }

  /** null also if the bus now has another schema than the session. */
  private Schema load() {
    try {
      Schema found = Schema.ofBus(directory);
      return session == null || session.equals(found.name()) ? found : null;
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
