package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.terminal.Table;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What routers cost while no request comes: health probes, engines' metrics, event sockets, gossip. All routers stand
 * before the same engines at the same time, so that their figures are of the same minutes.
 */
@Command(name = "idle", mixinStandardHelpOptions = true, sortOptions = false)
final class Idle implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Path OUT = Path.of("load-tests", "out", "idle");
  private static final String MODEL = "kvasir-demo";
  private static final Duration START_LIMIT = Duration.ofMinutes(2);

  /** How engines tell their events: each by a ZMQ socket that says nothing, or not at all. */
  private enum Events { ZMQ, NONE }

  @Option(names = "--workers", description = "Engines with a worker each, ${DEFAULT-VALUE}.")
  private int workers = 256;

  @Option(names = "--nodes", description = "Kvasir's nodes, in one cluster, ${DEFAULT-VALUE}.")
  private int nodes = 1;

  @Option(names = "--events", split = ",", description = "zmq, none or both: a Kvasir for each, ${DEFAULT-VALUE}.")
  private String[] events = {"zmq", "none"};

  @Option(names = "--peers", split = ",", description = "smg, vllm-router or none; with one node both are the default.")
  private String @Nullable [] peers;

  @Option(names = "--beside", description = "The launcher of another version of Kvasir, measured too.")
  private @Nullable Path beside;

  @Option(
      names = "--page",
      paramLabel = "TOPICS",
      description = "One Kvasir more, of which a page of the console is open: its topics, such as vitals,workers.")
  private @Nullable String page;

  @Option(names = "--settle", description = "Seconds before the measurement, ${DEFAULT-VALUE}.")
  private int settle = 30;

  @Option(names = "--seconds", description = "Length of the measurement, ${DEFAULT-VALUE}.")
  private int seconds = 30;

  @Option(names = "--json", description = "Writes the result there, too.")
  private @Nullable Path json;

  /** A process of a router, under measurement. */
  private record Router(String name, ChildProcess process) {}

  private record Sample(double cpuSeconds, double compilerSeconds, long contextSwitches) {
    static Sample of(ChildProcess process) {
      return new Sample(process.cpuSeconds(), process.compilerSeconds(), process.contextSwitches());
    }
  }

  /**
   * What a process costs while it is idle.
   *
   * @param compilerPercent the part of {@code cpuPercent} that the JVM spends on compiling, less as time passes
   */
  private record Result(
      String name,
      @JsonProperty("cpu_percent_of_a_core") double cpuPercent,
      @JsonProperty("compiler_percent_of_a_core") double compilerPercent,
      @JsonProperty("context_switches_per_second") double contextSwitches,
      long threads,
      @JsonProperty("rss_mb") double residentMegabytes) {}

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Idle()).execute(arguments));
  }

  @Override
  public Integer call() throws Exception {
    Files.createDirectories(OUT);
    List<Router> routers = new ArrayList<>();
    try (ChildProcess engines = ChildProcess.java("engines", OUT.resolve("engines.log"), List.of("-Xmx256m"),
        IdleEngines.class, MODEL, String.valueOf(workers))) {
      List<Integer> http = ports(engines.awaitLine("http "));
      List<Integer> publishers = ports(engines.awaitLine("events "));
      try (HttpClient viewer = HttpClient.newHttpClient()) {
        start(routers, http, publishers, viewer);
        progress("all are started; %d s to settle".formatted(settle));
        TimeUnit.SECONDS.sleep(settle);
        List<Result> results = measure(routers, engines);
        System.out.print(table(results));
        ResultFile.write(json, JSON, results);
        viewer.shutdownNow();
      } finally {
        routers.forEach(router -> router.process().close());
      }
    }
    return 0;
  }

  private void start(List<Router> routers, List<Integer> http, List<Integer> publishers, HttpClient viewer)
      throws IOException, InterruptedException {
    for (String kind : events) {
      Events each = Events.valueOf(kind.toUpperCase(Locale.ROOT));
      startCluster(routers, "kvasir, events " + kind, Path.of("kvasir"), http, each == Events.ZMQ ? publishers : null);
      if (beside != null) {
        startCluster(routers, "beside, events " + kind, beside, http, each == Events.ZMQ ? publishers : null);
      }
      if (page != null) {
        int management = startCluster(
            routers, "kvasir, events " + kind + ", page open", Path.of("kvasir"), http,
            each == Events.ZMQ ? publishers : null);
        URI stream = URI.create("http://127.0.0.1:%d/admin/watch?topics=%s".formatted(management, page));
        var _ = viewer.sendAsync(HttpRequest.newBuilder(stream).build(), BodyHandlers.discarding());
      }
    }
    for (String peer : peers == null ? defaultPeers() : peers) {
      if (!peer.equals("none")) {
        startPeer(routers, peer, http);
      }
    }
  }

  private String[] defaultPeers() {
    return nodes == 1 ? new String[] {"smg", "vllm-router"} : new String[0];
  }

  /** Starts a cluster's nodes, and returns the first one's management port. */
  private int startCluster(
      List<Router> routers, String name, Path launcher, List<Integer> http, @Nullable List<Integer> publishers)
      throws IOException, InterruptedException {
    List<Integer> clusterPorts = IntStream.range(0, nodes).mapToObj(_ -> Ports.free()).toList();
    List<Integer> managementPorts = new ArrayList<>();
    List<Router> started = new ArrayList<>();
    for (int node = 0; node < nodes; node++) {
      String title = nodes == 1 ? name : name + ", node " + (node + 1);
      String file = title.replaceAll("[^a-z0-9]+", "-");
      int management = Ports.free();
      managementPorts.add(management);
      Path config = OUT.resolve(file + ".conf");
      Files.writeString(config, configuration(clusterPorts, node, management, http, publishers));
      started.add(new Router(title, ChildProcess.quiet(title, OUT.resolve(file + ".log"),
          List.of(launcher.toAbsolutePath().toString(), "serve", "--config", config.toString()))));
    }
    routers.addAll(started);
    for (int node = 0; node < nodes; node++) {
      progress("waiting for " + started.get(node).name());
      started.get(node).process().awaitPort(managementPorts.get(node), START_LIMIT);
      if (!ManagementPort.awaitHealthy(managementPorts.get(node), workers, START_LIMIT)) {
        throw new IOException(started.get(node).name() + " does not see all engines healthy; see its log");
      }
    }
    return managementPorts.getFirst();
  }

  private String configuration(
      List<Integer> clusterPorts, int node, int management, List<Integer> http, @Nullable List<Integer> publishers) {
    String pods = IntStream.range(0, workers)
        .mapToObj(i -> "{ name = engine-%d, url = \"http://127.0.0.1:%d\", models = [%s]%s }".formatted(
            i, http.get(i), MODEL,
            publishers == null ? "" : ", events { endpoint = \"tcp://127.0.0.1:%d\" }".formatted(publishers.get(i))))
        .collect(Collectors.joining("\n    "));
    String seeds = nodes == 1
        ? ""
        : clusterPorts.stream().map("\"127.0.0.1:%d\""::formatted).collect(Collectors.joining(", "));
    return """
        kvasir {
          gateway { host = "127.0.0.1", port = %d }
          management { host = "127.0.0.1", port = %d }
          cluster { port = %d, seed-nodes = [%s] }
          models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [
            %s
          ]
        }
        """
        .formatted(Ports.free(), management, clusterPorts.get(node), seeds, MODEL, pods);
  }

  private static void startPeer(List<Router> routers, String name, List<Integer> http)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add("load-tests/.venv-" + name + "/bin/" + name);
    if (name.equals("smg")) {
      command.addAll(List.of("launch", "--backend", "vllm"));
    }
    int port = Ports.free();
    command.addAll(List.of("--host", "127.0.0.1", "--port", String.valueOf(port), "--policy", "cache_aware"));
    command.addAll(List.of("--prometheus-port", String.valueOf(Ports.free()), "--worker-urls"));
    http.forEach(engine -> command.add("http://127.0.0.1:" + engine));
    ChildProcess process = ChildProcess.quiet(name, OUT.resolve(name + ".log"), command);
    routers.add(new Router(name, process));
    progress("waiting for " + name);
    process.awaitPort(port, START_LIMIT);
  }

  private List<Result> measure(List<Router> routers, ChildProcess engines) throws IOException, InterruptedException {
    long[] countsBefore = counts(engines);
    List<Sample> before = routers.stream().map(router -> Sample.of(router.process())).toList();
    long began = System.nanoTime();
    progress("measuring for %d s".formatted(seconds));
    TimeUnit.SECONDS.sleep(seconds);
    List<Result> results = new ArrayList<>();
    for (int i = 0; i < routers.size(); i++) {
      Router router = routers.get(i);
      if (!router.process().isAlive()) {
        throw new IOException(router.name() + " has ended; see its log");
      }
      Sample now = Sample.of(router.process());
      double elapsed = (System.nanoTime() - began) / 1e9;
      results.add(new Result(
          router.name(),
          round(100 * (now.cpuSeconds() - before.get(i).cpuSeconds()) / elapsed),
          round(100 * Math.max(0, now.compilerSeconds() - before.get(i).compilerSeconds()) / elapsed),
          round((now.contextSwitches() - before.get(i).contextSwitches()) / elapsed),
          router.process().threads(),
          round(router.process().residentMegabytes())));
    }
    long[] countsAfter = counts(engines);
    double elapsed = (System.nanoTime() - began) / 1e9;
    System.out.printf(Locale.ROOT, "%d engines; from all routers together %.1f connections/s, %.1f requests/s%n",
        workers, (countsAfter[0] - countsBefore[0]) / elapsed, (countsAfter[1] - countsBefore[1]) / elapsed);
    return results;
  }

  private static long[] counts(ChildProcess engines) throws IOException {
    engines.writeLine("");
    return Arrays.stream(engines.awaitLine("counts ").split(" ", -1)).mapToLong(Long::parseLong).toArray();
  }

  private static List<Integer> ports(String line) {
    return Arrays.stream(line.split(" ", -1)).map(Integer::valueOf).toList();
  }

  private static Table table(List<Result> results) {
    Table table = new Table("router", "CPU % of a core", "of it compiling", "context switches/s", "threads", "RSS MB");
    for (Result result : results) {
      table.row(
          result.name(),
          "%.2f".formatted(result.cpuPercent()),
          "%.2f".formatted(result.compilerPercent()),
          "%.0f".formatted(result.contextSwitches()),
          String.valueOf(result.threads()),
          "%.0f".formatted(result.residentMegabytes()));
    }
    return table;
  }

  private static double round(double value) {
    return Math.round(value * 100) / 100.0;
  }

  private static void progress(String what) {
    System.err.println("idle: " + what);
  }
}
