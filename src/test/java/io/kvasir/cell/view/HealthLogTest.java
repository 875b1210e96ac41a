package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.HealthChange;
import io.kvasir.cell.WorkerStatus.Health;
import org.junit.jupiter.api.Test;

final class HealthLogTest {
  private final HealthLog log = new HealthLog();

  @Test
  void changes_areNewestFirst_byPod() {
    add(1, "a#0", "a");
    add(2, "b", "b");
    add(3, "a#1", "a");

    assertThat(log.ofPod("a")).extracting(HealthChange::timeMillis).containsExactly(3L, 1L);
    assertThat(log.latest(_ -> true, 2)).extracting(HealthChange::timeMillis).containsExactly(3L, 2L);
  }

  @Test
  void workerThatComesAndGoes_doesNotPushOutTheOthers() {
    add(1, "quiet", "quiet");
    for (int i = 0; i < 10 * HealthLog.MOST; i++) {
      add(i, "flapping", "flapping");
    }

    assertThat(log.ofPod("quiet")).hasSize(1);
    assertThat(log.latest(_ -> true, Integer.MAX_VALUE)).hasSize(HealthLog.MOST_OF_WORKER + 1);
  }

  @Test
  void manyWorkers_makeNoMoreThanTheMost() {
    for (int i = 0; i < 2 * HealthLog.MOST; i++) {
      add(i, "w" + i, "w" + i);
    }

    assertThat(log.latest(_ -> true, Integer.MAX_VALUE)).hasSize(HealthLog.MOST);
    assertThat(log.ofPod("w0")).isEmpty();
  }

  private void add(long time, String worker, String pod) {
    log.add(new HealthChange(time, worker, pod, Health.UNHEALTHY, "gone"));
  }
}
