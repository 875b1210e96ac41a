package io.kvasir.access.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class KeyChangeTest {
  private final Random random = new Random(14);

  /** Whatever the order in which changes arrive, and however often: all nodes end with the same. */
  @Test
  void merging_dependsOnNoOrder() {
    for (int i = 0; i < 20_000; i++) {
      KeyChange a = any();
      KeyChange b = any();
      KeyChange c = any();
      assertThat(a.merge(b)).isEqualTo(b.merge(a));
      assertThat(a.merge(b).merge(c)).isEqualTo(a.merge(b.merge(c)));
      assertThat(a.merge(b).merge(b)).isEqualTo(a.merge(b));
    }
  }

  @Test
  void disablingWins_overWhatHappensAtTheSameTime() {
    KeyChange key = KeyChange.of("a").withEntry("{1}", 100);
    KeyChange disabled = key.withDisabled(true, 200);
    assertThat(disabled.merge(key.withDisabled(false, 200)).disabled()).isTrue();
    assertThat(disabled.merge(key.withEntry("{2}", 300)))
        .isEqualTo(new KeyChange("a", "{2}", 300, true, false, 200));
  }

  /** The clock of the node that enables may be behind that of the node that disabled. */
  @Test
  void enablingAfterDisabling_enables() {
    KeyChange disabled = KeyChange.of("a").withEntry("{}", 100).withDisabled(true, 10_000);
    assertThat(disabled.merge(disabled.withDisabled(false, 5)).disabled()).isFalse();
  }

  @Test
  void deletedKey_doesNotComeBack() {
    KeyChange key = KeyChange.of("a").withEntry("{1}", 100);
    KeyChange deleted = key.asDeleted(50);
    for (KeyChange other : List.of(key.withEntry("{2}", 1_000), key.withDisabled(false, 1_000))) {
      KeyChange merged = deleted.merge(other);
      assertThat(merged.deleted()).isTrue();
      assertThat(merged.disabled()).isTrue();
      assertThat(merged.entry()).isEmpty();
    }
  }

  private KeyChange any() {
    boolean deleted = random.nextInt(6) == 0;
    return new KeyChange(
        "a",
        deleted ? "" : "{" + random.nextInt(3) + "}",
        random.nextInt(3),
        deleted || random.nextBoolean(),
        deleted,
        random.nextInt(3));
  }
}
