package io.kvasir.app;

import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import io.kvasir.sim.engine.StepTime;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A router node and simulated engines in this process, over real sockets, with deadlines short enough to be met. */
final class ChaosFleet implements AutoCloseable {
  static final String MODEL = "kvasir-demo";
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  /** Three milliseconds, whatever is computed. */
  private static final StepTime STEP = new StepTime(3, 1e9, 0, 0, 0, 0, 0, 0);

  private final List<Member> members = new ArrayList<>();
  private final Node node;

  /**
   * An engine.
   *
   * @param name its pod's
   * @param group who can stand in for it
   */
  record Member(String name, String group, SimEngine engine) {}

  ChaosFleet(int workers) throws IOException, StartException, ConfigException {
    for (int i = 0; i < workers; i++) {
      members.add(new Member("engine-" + i, "both", engine(i, STEP)));
    }
    node = new Node(KvasirConfig.of(ConfigFactory.parseString(config())));
    awaitWell();
  }

  /** An engine that never is in trouble, as fast as it can. */
  static SimEngine reference() throws IOException {
    return SimEngine.start(
        SimSettings.builder().port(0).model(MODEL).speed(0).events(EventSettings.OFF).build());
  }

  private static SimEngine engine(int number, StepTime step) throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .port(0)
            .model(MODEL)
            .stepTime(step)
            .seed(number)
            .capacityBlocks(8192)
            .events(EventSettings.DEFAULT.onLoopback())
            .build());
  }

  List<Member> members() {
    return members;
  }

  Node node() {
    return node;
  }

  URI gateway() {
    return URI.create("http://" + Addresses.of(node.gateway()));
  }

  URI management() {
    return URI.create("http://" + Addresses.of(node.management()));
  }

  /** Requests that the node believes to be in flight, and workers that still have prompts to read. */
  long reserved() {
    return node.cells().workers().stream()
        .mapToLong(worker -> Math.abs(worker.inFlight()) + (worker.pendingTokens() == 0 ? 0 : 1))
        .sum();
  }

  /** Waits until every worker is known to be well. */
  void awaitWell() throws IOException {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (true) {
      List<WorkerStatus> workers = node.cells().workers();
      if (workers.size() == members.size()
          && workers.stream().allMatch(worker -> worker.health() == WorkerStatus.Health.HEALTHY)) {
        return;
      }
      if (System.nanoTime() - deadline > 0) {
        throw new IOException("workers that do not get well: " + workers);
      }
      LockSupport.parkNanos(50_000_000);
    }
  }

  @Override
  public void close() {
    node.close();
    members.forEach(member -> member.engine().close());
  }

  /** A pod as the configuration and the admin API describe it; JSON is HOCON, too. */
  static String pod(Member member) {
    SimEngine engine = member.engine();
    return
        """
        { "name": "%s", "url": "%s", "models": ["%s"], "engine": "h100-Qwen2.5-7B-tp1",
          "events": { "endpoint": "%s", "replay": "%s" } }
        """
        .formatted(member.name(), engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint());
  }

  private String config() {
    StringBuilder pods = new StringBuilder();
    members.forEach(member -> pods.append(pod(member)));
    return
        """
        kvasir {
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          management { host = "127.0.0.1", port = 0 }
          models = [{ name = "%s", directory = "bundled:%s", block-size = 16 }]
          execution { first-byte-timeout = 4 s, idle-timeout = 3 s, total-timeout = 30 s }
          cell.health { probe-timeout = 1 s, breaker-open = 1 s }
          pods = [ %s ]
        }
        """
        .formatted(MODEL, MODEL, pods);
  }
}
