package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSource;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class VacancyTest {
  private static final Duration HALF = Vacancy.MOST.dividedBy(2);
  private static final Roster WITH = roster("m");
  private static final Roster WITHOUT = roster("other");

  private final Vacancy vacancy = new Vacancy("m");
  private long nowNanos;

  private static Roster roster(String model) {
    return new Roster(Map.of("p", new PodEntry(TestPods.pod("p").models(model).build(), PodSource.CONFIG)));
  }

  private boolean isOverAfter(Duration time, Roster roster, boolean idle) {
    nowNanos += time.toNanos();
    return vacancy.isOver(roster, idle, nowNanos);
  }

  @Test
  void withoutPods_over_afterAWhile() {
    assertThat(isOverAfter(Vacancy.MOST, WITHOUT, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isTrue();
    assertThat(isOverAfter(Duration.ZERO, WITHOUT, true)).isTrue();
    assertThat(isOverAfter(Duration.ZERO, WITH, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
  }

  @Test
  void podsOrRequestsMeanwhile_itBeginsAgain() {
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
    assertThat(isOverAfter(HALF, WITH, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, false)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
    assertThat(isOverAfter(Vacancy.MOST, WITHOUT, true)).isTrue();
  }

  @Test
  void rosterThatIsNotKnown_never() {
    assertThat(isOverAfter(Vacancy.MOST, Roster.EMPTY, true)).isFalse();
    assertThat(isOverAfter(Vacancy.MOST, Roster.EMPTY, true)).isFalse();
    assertThat(isOverAfter(HALF, WITHOUT, true)).isFalse();
  }
}
