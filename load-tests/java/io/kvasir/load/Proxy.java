package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.load.ByTurns.Build;
import io.kvasir.load.ByTurns.Comparison;
import io.kvasir.load.DataPathProbe.CpuClock;
import io.kvasir.load.DataPathProbe.Figures;
import io.kvasir.load.DataPathProbe.LongTurns;
import io.kvasir.load.LoadGenerator.ArrivalMode;
import io.kvasir.load.LoadGenerator.LoadResult;
import io.kvasir.load.LoadGenerator.Task;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the whole of Kvasir costs, beside other routers: {@code load-tests/proxy [--peers smg,vllm-router,nginx]
 * [--only long-turns] [--scale F] [--json OUT]}; or beside another build of it, by turns: {@code --against CHECKOUT
 * [--turns N]}. Each router stands alone between the same four fake engines and the same load; latency is what it adds
 * to asking an engine directly. Everything shares the machine's cores, so figures of one run compare.
 */
final class Proxy {
  private static final Path OUT = Router.OUT;
  private static final int ENGINES = 4;

  /** How often two builds that are compared are started. */
  private static final int STARTS = 4;

  private static final String MODEL = Router.MODEL;

  private Proxy() {}

  public static void main(String[] arguments) throws Exception {
    List<Router> routers = new ArrayList<>(List.of(Router.KVASIR));
    List<Router> peers = Router.peers();
    double scale = 1;
    Path json = null;
    boolean longTurns = false;
    Path against = null;
    int turns = 12;
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      String value = arguments[i + 1];
      switch (arguments[i]) {
        case "--peers" ->
            peers = value.equals("none") ? List.of() : Arrays.stream(value.split(",", -1)).map(Router::parse).toList();
        case "--scale" -> scale = Double.parseDouble(value);
        case "--against" -> against = Path.of(value);
        case "--turns" -> turns = Integer.parseInt(value);
        case "--json" -> json = Path.of(value);
        case "--only" -> {
          if (!value.equals("long-turns")) {
            throw new IllegalArgumentException("--only: there is no " + value + "; there is long-turns");
          }
          longTurns = true;
        }
        default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
    }
    routers.addAll(peers);
    Files.createDirectories(OUT);
    System.exit(against == null ? run(routers, scale, json, longTurns) : compare(against, turns, scale, json));
  }

  private static int run(List<Router> routers, double scale, @Nullable Path json, boolean longTurns)
      throws Exception {
    List<Figures> all = new ArrayList<>();
    List<LongTurns> turns = new ArrayList<>();
    Map<Router, String> failed = new LinkedHashMap<>();
    @Nullable Figures direct;
    try (ChildProcess engines = engines();
        LoadGenerator.Remote load = new LoadGenerator.Remote(OUT.resolve("load.log"))) {
      List<Integer> ports = ports(engines);
      DataPathProbe probe = new DataPathProbe(load, MODEL, scale);
      direct = longTurns ? null : probe.measure("direct", ports.getFirst(), CpuClock.NONE);
      for (Router router : routers) {
        int port = Ports.free();
        try (ChildProcess child = router.start(port, ports, management())) {
          awaitAnswers(load, child, port);
          if (direct == null) {
            turns.add(probe.measureLongTurns(router.toString(), port, CpuClock.of(child)));
          } else {
            all.add(probe.measure(router.toString(), port, CpuClock.of(child)));
          }
        } catch (IOException e) {
          failed.put(router, String.valueOf(e.getMessage()));
          DataPathProbe.progress(router.toString(), "failed: " + e.getMessage());
        }
      }
    }
    if (direct == null) {
      System.out.printf("%-12s %s%n", "router", LongTurns.COLUMNS);
      turns.forEach(each -> System.out.printf("%-12s %s%n", each.name(), each));
    } else {
      print(direct, all);
    }
    failed.forEach((router, why) -> System.out.printf("%s was not measured: %s%n", router, why));
    List<?> results = direct == null ? turns : all.stream().map(each -> result(direct, each)).toList();
    ResultFile.write(json, new ObjectMapper(), results);
    return failed.isEmpty() ? 0 : 1;
  }

  /** This build beside another, by turns. */
  private static int compare(Path against, int turns, double scale, @Nullable Path json) throws Exception {
    try (ChildProcess engines = engines();
        LoadGenerator.Remote load = new LoadGenerator.Remote(OUT.resolve("load.log"))) {
      List<Integer> ports = ports(engines);
      ByTurns byTurns = new ByTurns(new DataPathProbe(load, MODEL, scale));
      for (int start = 0; start < STARTS; start++) {
        compare(against, load, ports, byTurns, (turns + STARTS - 1) / STARTS, start % 2 == 0);
      }
      System.out.println(Comparison.COLUMNS);
      byTurns.comparisons().forEach(System.out::println);
      ResultFile.write(json, new ObjectMapper(), byTurns.comparisons());
    }
    return 0;
  }

  private static void compare(
      Path against, LoadGenerator.Remote load, List<Integer> engines, ByTurns byTurns, int turns, boolean oursFirst)
      throws Exception {
    int ourPort = Ports.free();
    int theirPort = Ports.free();
    try (ChildProcess ours = Router.KVASIR.start(ourPort, engines, management());
        ChildProcess theirs =
            Router.kvasir("other", against.resolve("kvasir"), theirPort, engines, management())) {
      awaitAnswers(load, ours, ourPort);
      awaitAnswers(load, theirs, theirPort);
      byTurns.measure(
          new Build("this", ours, ourPort), new Build("other", theirs, theirPort), turns, oursFirst);
    }
  }

  private static List<String> management() {
    return List.of("KVASIR_MANAGEMENT_PORT=" + Ports.free());
  }

  private static ChildProcess engines() throws IOException {
    return ChildProcess.java(
        "engines",
        OUT.resolve("engines.log"),
        List.of("-Xmx256m"),
        FakeEngines.class,
        Stream.concat(Stream.of(MODEL, "20"), Stream.generate(() -> "0").limit(ENGINES)).toArray(String[]::new));
  }

  private static List<Integer> ports(ChildProcess engines) throws IOException {
    return Arrays.stream(engines.awaitLine("ports ").split(" ", -1)).map(Integer::valueOf).toList();
  }

  /** Waits until requests succeed: routers take a while to believe in their engines. */
  private static void awaitAnswers(LoadGenerator.Remote load, ChildProcess router, int port)
      throws IOException, InterruptedException {
    DataPathProbe.progress(router.name().toLowerCase(Locale.ROOT), "starting");
    router.awaitPort(port, Duration.ofMinutes(5));
    long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (true) {
      LoadResult tally = load.run(new Task(port, MODEL, ArrivalMode.CLOSED, 4, 0, 0.3, 0, 1000, false));
      if (tally.errors() == 0 && tally.requests() > 0) {
        return;
      }
      if (!router.isAlive() || System.nanoTime() - end > 0) {
        throw new IOException("no answers: " + tally.firstError() + "; see its log");
      }
      Thread.sleep(300);
    }
  }

  private static void print(Figures direct, List<Figures> all) {
    System.out.printf("%-12s %s%n", "router", Figures.COLUMNS);
    System.out.printf(
        Locale.ROOT,
        "%-12s %9.0f %10s %9s %10s %10.3f %10.3f %10s %10.0f %7s   (latency as it is)%n",
        direct.name(),
        direct.requestsPerSecond(),
        "",
        "",
        "",
        direct.p50AloneMillis(),
        direct.p99PacedMillis(),
        "",
        direct.streamMillis(),
        "");
    all.forEach(each -> System.out.printf("%-12s %s%n", each.name(), each.beside(direct)));
  }

  private static Map<String, Object> result(Figures direct, Figures each) {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("name", each.name());
    result.put("cpu_us_per_request", round(each.cpuMicrosPerRequest()));
    result.put("cpu_us_per_request_at_500_per_second", round(each.cpuMicrosPerPacedRequest()));
    result.put("cpu_us_per_event", round(each.cpuMicrosPerEvent()));
    result.put("added_p50_ms", round(each.p50AloneMillis() - direct.p50AloneMillis()));
    result.put("added_p99_ms", round(each.p99PacedMillis() - direct.p99PacedMillis()));
    result.put("cpu_ms_per_long_turn", round(each.cpuMillisPerLongTurn()));
    result.put("rss_mb", round(each.residentMegabytes()));
    return result;
  }

  private static double round(double value) {
    return Math.round(value * 1000) / 1000.0;
  }
}
