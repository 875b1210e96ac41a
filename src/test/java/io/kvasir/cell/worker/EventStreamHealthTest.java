package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.TestPods;
import io.kvasir.cell.WorkerStatus.EventStream;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import java.util.List;
import org.junit.jupiter.api.Test;

final class EventStreamHealthTest {
  private final EventStreamHealth health = new EventStreamHealth(TestPods.pod("w").build());

  @Test
  void lag_isThatOfTheLastMessage() {
    health.applied(new KvBatch(1, 1_000_000, 0, List.of(new KvEvent.Cleared())), 5000);

    EventStream status = health.status(true);
    assertThat(status.lagMillis()).isEqualTo(4000);
    assertThat(status.appliedMillis()).isEqualTo(5000);
    assertThat(status.connected()).isTrue();
  }

  @Test
  void streamsOwnEvents_areNoMessages() {
    health.applied(KvBatch.ofStream(new KvEvent.Connected()), 5000);

    assertThat(health.status(true).appliedMillis()).isEqualTo(-1);
    assertThat(health.status(true).lagMillis()).isEqualTo(-1);
  }

  @Test
  void faults_areCounted_theLastIsTold() {
    health.applied(KvBatch.ofStream(new KvEvent.Gap(0)), 1);
    assertThat(health.status(true).lastFault()).as("before the first message").isNull();
    health.applied(new KvBatch(6, 0, 0, List.of(new KvEvent.Cleared())), 1);
    health.applied(KvBatch.ofStream(new KvEvent.Gap(7)), 1);
    assertThat(health.status(true).lastFault()).contains("7");
    health.applied(KvBatch.ofStream(new KvEvent.GapAbandoned(7, 9)), 2);
    assertThat(health.status(true).lastFault()).isEqualTo("messages 7 to 9 were lost");
    health.failed(new IllegalStateException("cut"));

    EventStream status = health.status(false);
    assertThat(status.gaps()).isEqualTo(1);
    assertThat(status.failures()).isEqualTo(1);
    assertThat(status.lastFault()).contains("cut");
  }
}
