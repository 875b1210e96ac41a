package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.StartException;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/ingest}: how many cache events one node takes from sockets into its index. The publishers wait
 * where a vLLM would drop, so the rate is the router's own, and nothing may be missing at the end: the index has to
 * hold every block that the publishers hold, each behind its whole chain, and not one more.
 */
@Command(name = "load-tests/ingest", mixinStandardHelpOptions = true, sortOptions = false)
final class Ingest implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();

  @Option(names = "--engines", defaultValue = "8", description = "Publishers, each a worker.")
  private int engines;

  @Option(names = "--warm-up", defaultValue = "10", description = "Seconds before it counts.")
  private int warmUp;

  @Option(names = "--seconds", defaultValue = "20", description = "Seconds that count.")
  private int seconds;

  @Option(names = "--rate", defaultValue = "0", description = "Events a second of all; 0: as many as are taken.")
  private double rate;

  @Option(names = "--steps", defaultValue = "1500", description = "Steps of an engine before it begins again.")
  private int steps;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the result there, too.")
  private @Nullable Path json;

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Ingest()).execute(arguments));
  }

  @Override
  public void run() {
    try {
      measure();
    } catch (IOException | StartException | ConfigException e) {
      throw new IllegalStateException(e);
    }
  }

  private void measure() throws IOException, StartException, ConfigException {
    Process publishers = publishers();
    Node node = null;
    try {
      String[] ports = line(publishers, "ports ").split(" ");
      node = new Node(KvasirConfig.of(ConfigFactory.parseString(config(ports))));
      line(publishers, "subscribed");
      Node running = node;
      await("every worker to be well", () -> DemoCommand.healthy(running) == engines);
      say(publishers, "go");
      sleep(warmUp);
      ObjectNode result = count(node);
      say(publishers, "stop");
      long last = Long.parseLong(line(publishers, "published ")) - 1;
      await(
          "the last batch of every worker",
          () -> running.fleet().workers().stream().allMatch(worker -> worker.index().lastSequence() == last));
      int wrong = verify(node, last + 1, result);
      result.put("lost_messages", total(node, "kvasir_events_lost_messages"));
      result.put("gaps", total(node, "kvasir_events_gaps") - engines);
      result.put("mismatches", wrong);
      System.out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(result));
      if (json != null) {
        Files.write(json, JSON.writeValueAsBytes(result));
      }
      if (wrong > 0) {
        throw new IllegalStateException("the index does not hold what the publishers hold");
      }
    } finally {
      if (node != null) {
        node.close();
      }
      publishers.destroyForcibly();
    }
  }

  private ObjectNode count(Node node) {
    OperatingSystemMXBean machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    double eventsBefore = total(node, "kvasir_events");
    long batchesBefore = batches(node);
    long cpuBefore = machine.getProcessCpuTime();
    long begun = System.nanoTime();
    double queued = 0;
    while (System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(seconds)) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
      queued = Math.max(queued, total(node, "kvasir_events_queued_messages"));
    }
    double time = (System.nanoTime() - begun) / 1e9;
    double cpu = (machine.getProcessCpuTime() - cpuBefore) / 1e9;
    long batches = batches(node) - batchesBefore;
    double events = total(node, "kvasir_events") - eventsBefore;
    return JSON.createObjectNode()
        .put("engines", engines)
        .put("events_per_s", Math.round(events / time))
        .put("batches_per_s", Math.round(batches / time))
        .put("blocks_per_s", Math.round(new IngestScenario(0, steps).blocksPerStep() * batches / time))
        .put("cpu_cores", Math.round(100 * cpu / time) / 100.0)
        .put("cpu_us_per_event", Math.round(1e9 * cpu / events) / 1e3)
        .put("most_queued", queued)
        .put("mean_lag_ms", Math.round(1e5 * lag(node)) / 100.0);
  }

  private static long batches(Node node) {
    return node.fleet().workers().stream().mapToLong(status -> status.index().lastSequence()).sum();
  }

  /** Compares the index with what the publishers hold after as many steps; returns in how much it is wrong. */
  private int verify(Node node, long published, ObjectNode result) {
    int wrong = 0;
    long blocks = 0;
    Set<String> all = node.fleet().workers().stream().map(w -> w.worker().id()).collect(Collectors.toSet());
    for (WorkerStatus status : node.fleet().workers()) {
      int engine = Integer.parseInt(status.worker().id().substring(1));
      IngestScenario scenario = new IngestScenario(engine, steps);
      List<long[]> held =
          IngestScenario.heldAfter(scenario.steps(), (int) (published % scenario.steps().size()));
      Set<Long> hashes = new HashSet<>();
      Set<String> others = new TreeSet<>(all);
      others.remove(status.worker().id());
      for (long[] chain : held) {
        for (long hash : chain) {
          hashes.add(hash);
        }
        if (depth(node, chain, others) != chain.length) {
          wrong++;
        }
      }
      blocks += hashes.size();
      wrong += Math.abs(status.index().blocks() - hashes.size()) + (status.index().suspect() ? 1 : 0);
    }
    result.put("blocks_compared", blocks);
    return wrong;
  }

  private static int depth(Node node, long[] chain, Set<String> others) {
    DecisionRequest request =
        new DecisionRequest(
            "ingest", "m", "prefix-aware", RequestShape.INDIVISIBLE,
            new DecisionRequest.Prompt(new Chain(chain, IngestScenario.BLOCK), chain.length * IngestScenario.BLOCK),
            PreparedSlots.EMPTY, true, DecisionRequest.Constraints.excluding(others));
    if (node.cells().decide(request) instanceof Decision.Planned planned) {
      planned.close(new Outcome.Cancelled());
      return planned.last().depth();
    }
    return -1;
  }

  private static double total(Node node, String name) {
    return node.metrics().registry().scrape().stream()
        .filter(m -> m.getMetadata().getName().equals(name))
        .mapToDouble(
            m ->
                switch (m) {
                  case CounterSnapshot counter -> counter.getDataPoints().stream().mapToDouble(p -> p.getValue()).sum();
                  case GaugeSnapshot gauge -> gauge.getDataPoints().stream().mapToDouble(p -> p.getValue()).sum();
                  default -> 0;
                })
        .sum();
  }

  private static double lag(Node node) {
    return node.metrics().registry().scrape().stream()
        .filter(m -> m.getMetadata().getName().equals("kvasir_events_lag_seconds"))
        .map(HistogramSnapshot.class::cast)
        .flatMap(m -> m.getDataPoints().stream())
        .filter(p -> p.getCount() > 0)
        .mapToDouble(p -> p.getSum() / p.getCount())
        .max()
        .orElse(0);
  }

  private Process publishers() throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(List.of("-Xmx2g", "-cp", System.getProperty("java.class.path"), IngestPublishers.class.getName()));
    command.addAll(List.of(Integer.toString(engines), Integer.toString(steps), Double.toString(rate)));
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    return process;
  }

  private static String line(Process process, String prefix) throws IOException {
    String line = process.inputReader().readLine();
    if (line == null || !line.startsWith(prefix)) {
      throw new IOException("the publishers printed '" + line + "', not '" + prefix + "'");
    }
    return line.substring(prefix.length());
  }

  private static void say(Process process, String word) throws IOException {
    process.outputWriter().write(word + "\n");
    process.outputWriter().flush();
  }

  private String config(String[] ports) {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < engines; i++) {
      pods.append(
          "{ name = e%d, url = \"http://127.0.0.1:%s\", models = [m], events.endpoint = \"tcp://127.0.0.1:%s\" }\n"
              .formatted(i, ports[0], ports[i + 1]));
    }
    return """
        kvasir {
          log.level = warn
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          access.open-routing-details = true
          management.port = 0
          models = [{ name = m, mode = text, block-size = %d }]
          pods = [ %s ]
        }
        """
        .formatted(IngestScenario.BLOCK, pods);
  }

  private static void sleep(int seconds) {
    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(seconds));
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new IllegalStateException("waited too long for " + what);
      }
      LockSupport.parkNanos(20_000_000);
    }
  }
}
