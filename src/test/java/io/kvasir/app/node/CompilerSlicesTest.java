package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.TimeSlice;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class CompilerSlicesTest {
  private static final long START = 5_000;

  private final List<TimeSlice> given = new ArrayList<>();
  private final CompilerSlices slices = new CompilerSlices(given::add, START);
  private long compiled = START;

  private void second(long compiledMillis) {
    compiled += compiledMillis;
    slices.check(compiled);
  }

  @Test
  void compilersHaveTheirSlice_untilThereIsLittleToCompile() {
    for (int i = 0; i < 60; i++) {
      second(i % 5 == 4 ? 100 : 99);
    }
    assertThat(given).as("busy every fifth second").isEmpty();
    for (int i = 0; i < 4; i++) {
      second(99);
    }
    assertThat(given).isEmpty();
    second(0);
    assertThat(given).containsExactly(TimeSlice.LONG);
    for (int i = 0; i < 60; i++) {
      second(99);
    }
    assertThat(given).as("once").hasSize(1);
  }

  @Test
  void compilersHaveTheirSlice_asSoonAsThereIsMuchAgain() {
    for (int i = 0; i < 5; i++) {
      second(0);
    }
    second(100);
    second(2_000);
    assertThat(given).containsExactly(TimeSlice.LONG, TimeSlice.DEFAULT);
    for (int i = 0; i < 5; i++) {
      second(0);
    }
    assertThat(given).containsExactly(TimeSlice.LONG, TimeSlice.DEFAULT, TimeSlice.LONG);
  }
}
