package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class RelocationTest {
  private static final Set<String> NODES = Set.of("a", "b");
  private static final Relocation STAYING = new Relocation.Staying();
  private static final long TIMEOUT = Relocation.TIMEOUT.toNanos();

  @Test
  void forBalance_untilItTakesTooLong_alsoFromWhenItIsRequestedElsewhere() {
    Relocation balancing = STAYING.requestedOn("a", 5);
    assertThat(balancing.check(NODES, 5 + TIMEOUT)).isEqualTo(balancing);
    assertThat(balancing.check(NODES, 6 + TIMEOUT)).isEqualTo(STAYING);
    assertThat(balancing.requestedOn("a", 6).check(NODES, 6 + TIMEOUT)).isEqualTo(STAYING);
    assertThat(balancing.requestedOn("b", 6).check(NODES, 6 + TIMEOUT).target()).isEqualTo("b");
  }

  @Test
  void nodeItIsToGoTo_isThereNoMore_itStaysOrGoesToAnother() {
    Relocation balancing = STAYING.requestedOn("gone", 5);
    assertThat(balancing.check(NODES, 5)).isEqualTo(STAYING);
    assertThat(balancing.leave().check(NODES, 5)).isEqualTo(STAYING.leave());
  }

  @Test
  void itsNodeLeaves_itGoes_howeverLongThatTakes() {
    Relocation leaving = STAYING.leave();
    assertThat(leaving.check(NODES, Long.MAX_VALUE)).isEqualTo(leaving);
    assertThat(leaving.requestedOn("a", 5).check(NODES, Long.MAX_VALUE)).isEqualTo(new Relocation.Leaving("a"));
    assertThat(STAYING.requestedOn("a", 5).leave().check(NODES, Long.MAX_VALUE))
        .isEqualTo(new Relocation.Leaving("a"));
  }

  @Test
  void destination_isWarm() {
    List<String> standbys = List.of("a", "b");
    assertThat(STAYING.destination(standbys, NODES)).isNull();
    Relocation balancing = STAYING.requestedOn("a", 5);
    assertThat(balancing.destination(standbys, NODES)).isEqualTo("a");
    assertThat(balancing.destination(standbys, Set.of("b"))).isNull();
    assertThat(balancing.leave().destination(standbys, Set.of("b"))).as("it is requested there").isNull();
    assertThat(STAYING.leave().destination(standbys, Set.of("b"))).isEqualTo("b");
    assertThat(STAYING.leave().destination(standbys, NODES)).as("the first of them").isEqualTo("a");
    assertThat(STAYING.leave().destination(standbys, Set.of())).isNull();
  }
}
