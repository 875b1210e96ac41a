package io.kvasir.gateway.admin.watch;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.execution.FakeCells;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.gateway.admin.FleetHandler;
import io.kvasir.routing.Worker;
import io.kvasir.time.ManualClock;
import io.kvasir.time.ManualTimer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a second costs a node with 1,000 busy workers while pages watch them, by what is allocated. */
final class LargeFleetTest {
  private static final int WORKERS = 1000;
  private static final int ROUNDS = 20;

  private final ManualTimer timer = new ManualTimer(new ManualClock());
  private final List<Worker> workers = new ArrayList<>();
  private int load;

  @BeforeEach
  void know() {
    FakeCells cells = new FakeCells();
    for (int i = 0; i < WORKERS; i++) {
      workers.add(cells.worker("worker-" + i, URI.create("http://worker-" + i + ".test:8000"), "model"));
    }
  }

  @Test
  void workersThatAreAsTheyWere_costNextToNothing() throws IOException {
    ClusterStatus idle = busy();
    assertThat(bytesOfRound(FleetHandler.topics(() -> idle), 1)).as("bytes a round").isLessThan(512 << 10);
  }

  @Test
  void round_costsLittle_andHardlyMoreForManyPages() throws IOException {
    List<AdminTopic> topics = FleetHandler.topics(this::busy);

    long one = bytesOfRound(topics, 1);
    long many = bytesOfRound(topics, 16);
    assertThat(one).as("bytes a round").isLessThan(7 << 20);
    assertThat(many).as("bytes a round of 16 pages").isLessThan(one + one / 4);
  }

  private long bytesOfRound(List<AdminTopic> topics, int pages) throws IOException {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (TopicPublisher publisher = new TopicPublisher(topics, timer, Runnable::run)) {
      List<Watcher> watchers = new ArrayList<>();
      for (int i = 0; i < pages; i++) {
        watchers.add(Objects.requireNonNull(publisher.join(Set.of("workers"))));
      }
      long before = 0;
      for (int round = 0; round < 2 * ROUNDS; round++) {
        if (round == ROUNDS) {
          before = threads.getCurrentThreadAllocatedBytes();
        }
        timer.advance(Duration.ofSeconds(1));
        for (Watcher watcher : watchers) {
          watcher.writeWaiting((_, _, _) -> {});
        }
      }
      return (threads.getCurrentThreadAllocatedBytes() - before) / ROUNDS;
    }
  }

  /** Every worker is another than a second ago. */
  private ClusterStatus busy() {
    load++;
    List<WorkerStatus> statuses = new ArrayList<>();
    for (Worker worker : workers) {
      statuses.add(
          new WorkerStatus(
              worker, "cell", WorkerStatus.Health.HEALTHY, "", false,
              new WorkerStatus.Load(
                  load % 7, 1000L * load, new EngineReport(load % 7, 0, 0.5), null, WorkerStatus.Work.NONE),
              new WorkerStatus.IndexState(
                  5000 + load, 10000, 0, false, 1, 0, load, new WorkerStatus.Promises(load, 0),
                  WorkerStatus.Speculation.NONE, 0, 1),
              new WorkerStatus.EventStream("zmq", true, load % 3, 1000L * load, 0, 0, null)));
    }
    return new ClusterStatus(List.of(), List.of(), statuses);
  }
}
