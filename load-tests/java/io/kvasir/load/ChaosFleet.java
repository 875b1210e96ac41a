package io.kvasir.load;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.StartException;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A router node and simulated engines in this process, over real sockets, with deadlines short enough to be met. */
final class ChaosFleet implements AutoCloseable {
  static final String MODEL = "kvasir-demo";
  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(60);
  /** Three milliseconds, whatever is computed. */
  private static final StepTime STEP = new StepTime(3, 1e9, 0, 0, 0, 0, 0, 0);

  /** Engines that wait for each other wait no longer than requests may take. */
  private static final Duration LEASE = Duration.ofSeconds(6);

  private static final Duration WATCHDOG = Duration.ofSeconds(4);

  private final List<Member> members = new ArrayList<>();
  private final Node node;

  /**
   * An engine.
   *
   * @param name its pod's
   * @param role what it is for; those of one role stand in for each other
   */
  record Member(String name, Role role, SimEngine engine) {}

  /**
   * Starts, and waits until the node has found every engine well.
   *
   * @param workers aggregated engines
   * @param pairs prefill engines, and as many decode engines
   * @param dialect how those hand KV over
   */
  ChaosFleet(int workers, int pairs, TransferDialect dialect) throws IOException, StartException, ConfigException {
    for (int i = 0; i < workers; i++) {
      add("both-" + i, Role.BOTH, TransferSettings.NONE);
    }
    for (int i = 0; i < pairs; i++) {
      for (Role role : List.of(Role.PREFILL, Role.DECODE)) {
        String name = role.name().toLowerCase(Locale.ROOT) + "-" + i;
        // Only who pushes has to be known by an id that stays.
        String id = dialect == TransferDialect.VLLM_PUSH ? name : null;
        add(name, role, TransferSettings.of(dialect).withTimes(LEASE, WATCHDOG).withAddress(0, id));
      }
    }
    node = new Node(KvasirConfig.of(ConfigFactory.parseString(config())));
    awaitHealthy();
  }

  /** An engine that never is in trouble, as fast as it can. */
  static SimEngine reference() throws IOException {
    return SimEngine.start(
        SimSettings.builder().port(0).model(MODEL).speed(0).events(EventSettings.OFF).build());
  }

  private void add(String name, Role role, TransferSettings transfer) throws IOException {
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder()
                .port(0)
                .model(MODEL)
                .stepTime(STEP)
                .seed(members.size())
                .capacityBlocks(8192)
                .role(role)
                .transfer(transfer)
                .events(EventSettings.DEFAULT.withLoopback())
                .build());
    members.add(new Member(name, role, engine));
  }

  List<Member> members() {
    return members;
  }

  Node node() {
    return node;
  }

  URI gateway() {
    return node.gatewayUrl();
  }

  URI management() {
    return node.managementUrl();
  }

  /** Requests that the node believes to be in flight, and workers that still have prompts to read. */
  long reserved() {
    return node.fleet().workers().stream()
        .mapToLong(worker -> Math.abs(worker.load().inFlight()) + (worker.load().pendingTokens() == 0 ? 0 : 1))
        .sum();
  }

  /** Waits until every worker is known to be well. */
  void awaitHealthy() throws IOException {
    long deadline = System.nanoTime() + TIMEOUT_NANOS;
    while (true) {
      List<WorkerStatus> workers = node.fleet().workers();
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

  /** A pod as the admin API describes it, whose own names have underscores. */
  static String podForAdmin(Member member) {
    return pod(member).replace("kv-transfer", "kv_transfer");
  }

  /** A pod as the configuration describes it; JSON is HOCON, too. */
  private static String pod(Member member) {
    SimEngine engine = member.engine();
    String transfer = "";
    if (engine.transferPort() > 0) {
      transfer =
          """
          , "kv-transfer": { "dialect": "%s", "bootstrap-port": %d, "engine-id": "%s" }
          """
              .formatted(engine.settings().kv().transfer().dialect(), engine.transferPort(), engine.engineId(0));
    }
    return
        """
        { "name": "%s", "url": "%s", "models": ["%s"], "role": "%s", "engine": "h100-Qwen2.5-7B-tp1",
          "events": { "endpoint": "%s", "replay": "%s" } %s }
        """
        .formatted(
            member.name(), engine.url(), MODEL, member.role().name().toLowerCase(Locale.ROOT), engine.eventsEndpoint(),
            engine.replayEndpoint(), transfer);
  }

  /** Sequences whose KV went from one engine to another, since the engines started last. */
  long transferred() {
    return members.stream().mapToLong(member -> member.engine().transferStats().received()).sum();
  }

  private String config() {
    StringBuilder pods = new StringBuilder();
    members.forEach(member -> pods.append(pod(member)));
    return
        """
        kvasir {
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          access.open-routing-details = true
          management { host = "127.0.0.1", port = 0 }
          models = [{ name = "%s", directory = "bundled:%s", block-size = 16 }]
          # Prompts are short and decode engines warm: not worth it in earnest, but what is to be tried here.
          routing.profiles.prefill-decode.workflow.remote-prefill = always
          execution { first-byte-timeout = 4 s, idle-timeout = 3 s, stranded-timeout = 1 s, total-timeout = 30 s }
          cell.health { probe-timeout = 1 s, breaker-open = 1 s }
          pods = [ %s ]
        }
        """
        .formatted(MODEL, MODEL, pods);
  }
}
