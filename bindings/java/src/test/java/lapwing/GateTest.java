package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class GateTest {
  private final Gate gate = new Gate();
  private int destroyed;

  @Test
  void aSourceIsDestroyedAfterTheCallOfTheSet() {
    gate.destroy(() -> destroyed++);
    assertEquals(1, destroyed);
    gate.close();
    gate.destroy(() -> destroyed++);
    assertEquals(1, destroyed);
    gate.open();
    assertEquals(2, destroyed);
    gate.close();
    gate.open();
    assertEquals(2, destroyed);
  }

  @Test
  void callsOfTheSetAndOfItsSourcesExcludeEachOther() {
    assertTrue(gate.enter());
    assertTrue(gate.enter()); // calls on two sources
    gate.exit();
    assertEquals(ErrorCode.MISUSE, assertThrows(LapwingException.class, gate::close).code());
    gate.exit();
    gate.close();
    assertFalse(gate.enter());
    gate.open();
    assertTrue(gate.enter());
  }
}
