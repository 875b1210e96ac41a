package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.TimeSlice;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class CompilerSlicesTest {
  private final List<TimeSlice> given = new ArrayList<>();
  private final CompilerSlices slices = new CompilerSlices(given::add);

  private void seconds(double... loads) {
    for (double load : loads) {
      slices.check(load);
    }
  }

  @Test
  void compilersLetOthersPass_onceTheProcessHasLeftTheProcessorsTimeForSomeSeconds() {
    seconds(1, 0.5, 0.44, 0.2, 0.5, 0.1, 0.44);
    assertThat(given).as("two seconds").isEmpty();
    seconds(0);
    assertThat(given).containsExactly(TimeSlice.LONG);
    seconds(0.5, 0.54, 0, 0, 0, 0);
    assertThat(given).containsExactly(TimeSlice.LONG);
  }

  @Test
  void compilersHaveTheirOwnSlice_asSoonAsTheProcessIsBusy() {
    seconds(0, 0, 0, 0.55, 1);
    assertThat(given).containsExactly(TimeSlice.LONG, TimeSlice.DEFAULT);
    seconds(0.5, 0.1, 0.1, 0.1);
    assertThat(given).containsExactly(TimeSlice.LONG, TimeSlice.DEFAULT, TimeSlice.LONG);
  }
}
