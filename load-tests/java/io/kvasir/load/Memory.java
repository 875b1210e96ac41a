package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.terminal.Table;
import io.kvasir.load.DataPathProbe.CpuClock;
import io.kvasir.load.DataPathProbe.Figures;
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
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The memory of a router before four workers, and what its requests cost, by garbage collector: resident memory idle,
 * under load, and after large bodies and a rest.
 */
@Command(name = "memory", mixinStandardHelpOptions = true, sortOptions = false)
final class Memory implements Callable<Integer> {
  private static final int ENGINES = 4;
  private static final int LARGE_BODY = 8_000_000;

  /** The collectors by name, with JVM flags beside those of the launcher. */
  private static final Map<String, String> COLLECTORS = new LinkedHashMap<>();

  static {
    COLLECTORS.put("parallel", "");
    COLLECTORS.put("serial", "-XX:+UseSerialGC");
    COLLECTORS.put("g1", "-XX:+UseG1GC -XX:G1PeriodicGCInterval=10000");
    COLLECTORS.put("shenandoah", "-XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational");
    COLLECTORS.put("zgc", "-XX:+UseZGC");
  }

  @Option(names = "--collectors", split = ",", description = "These, in this order; ${DEFAULT-VALUE}.")
  private List<String> collectors = List.copyOf(COLLECTORS.keySet());

  @Option(names = "--flags", description = "JVM flags in place of collectors; may be repeated.")
  private List<String> flags = List.of();

  @Option(names = "--scale", description = "Of all durations of the load, ${DEFAULT-VALUE}.")
  private double scale = 0.5;

  @Option(names = "--idle", description = "Seconds of rest after the start, ${DEFAULT-VALUE}.")
  private int idle = 10;

  @Option(
      names = "--rest",
      description = "Seconds of rest after the load and after large bodies, ${DEFAULT-VALUE}; 0 leaves both out.")
  private int rest = 30;

  @Option(names = "--json", description = "Writes the result there, too.")
  private @Nullable Path json;

  private record Result(
      String name, double idleMegabytes, Figures figures, double restedMegabytes, double largeMegabytes,
      double afterMegabytes) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Memory()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Files.createDirectories(Router.OUT);
    List<Result> results = new ArrayList<>();
    Figures direct;
    try (ChildProcess engines =
            ChildProcess.java(
                "engines", Router.OUT.resolve("engines.log"), List.of("-Xmx256m"), FakeEngines.class,
                Stream.concat(Stream.of(Router.MODEL, "20"), Stream.generate(() -> "0").limit(ENGINES))
                    .toArray(String[]::new));
        LoadGenerator.Remote load = new LoadGenerator.Remote(Router.OUT.resolve("load.log"))) {
      List<Integer> ports = Arrays.stream(engines.awaitLine("ports ").split(" ", -1)).map(Integer::valueOf).toList();
      DataPathProbe probe = new DataPathProbe(load, Router.MODEL, scale);
      direct = probe.measure("direct", ports.getFirst(), CpuClock.NONE);
      for (String name : flags.isEmpty() ? collectors : flags) {
        results.add(measure(name, flags.isEmpty() ? flagsOf(name) : name, probe, load, ports));
      }
    }
    System.out.print(table(results, direct));
    ResultFile.write(json, new ObjectMapper(), results);
    return 0;
  }

  private static String flagsOf(String collector) {
    String flags = COLLECTORS.get(collector);
    if (flags == null) {
      throw new IllegalArgumentException("--collectors: there is no " + collector + "; there are "
          + String.join(", ", COLLECTORS.keySet()));
    }
    return flags;
  }

  private Result measure(
      String name, String options, DataPathProbe probe, LoadGenerator.Remote load, List<Integer> engines)
      throws IOException, InterruptedException {
    int port = Ports.free();
    try (ChildProcess router =
            Router.KVASIR.start(
                port, engines,
                List.of("KVASIR_JAVA_OPTS=" + options, "KVASIR_MANAGEMENT_PORT=" + Ports.free()))) {
      router.awaitPort(port, Duration.ofMinutes(5));
      TimeUnit.SECONDS.sleep(idle);
      double idleMegabytes = router.residentMegabytes();
      Figures figures = probe.measure(name, port, CpuClock.of(router));
      if (rest == 0) {
        return new Result(name, idleMegabytes, figures, 0, 0, 0);
      }
      TimeUnit.SECONDS.sleep(rest);
      double rested = router.residentMegabytes();
      DataPathProbe.progress(name, "large bodies");
      LoadResult large = load.run(new Task(port, Router.MODEL, ArrivalMode.CLOSED, 4, 0, 6, 0, LARGE_BODY, false));
      DataPathProbe.progress(name, large.requests() + " answered, " + large.errors() + " not");
      double largeMegabytes = router.residentMegabytes();
      TimeUnit.SECONDS.sleep(rest);
      return new Result(name, idleMegabytes, figures, rested, largeMegabytes, router.residentMegabytes());
    }
  }

  private static Table table(List<Result> results, Figures direct) {
    Table table = new Table(
        "collector", "us/request", "us/event", "ms/242 KB", "+p50 ms", "+p99 ms", "req/s", "idle MB", "load MB",
        "rested MB", "large MB", "after MB");
    for (Result result : results) {
      Figures figures = result.figures();
      table.row(
          result.name(),
          number("%.1f", figures.cpuMicrosPerRequest()),
          number("%.1f", figures.cpuMicrosPerEvent()),
          number("%.2f", figures.cpuMillisPerLongTurn()),
          number("%.3f", figures.p50AloneMillis() - direct.p50AloneMillis()),
          number("%.2f", figures.p99PacedMillis() - direct.p99PacedMillis()),
          number("%.0f", figures.requestsPerSecond()),
          number("%.0f", result.idleMegabytes()),
          number("%.0f", figures.residentMegabytes()),
          number("%.0f", result.restedMegabytes()),
          number("%.0f", result.largeMegabytes()),
          number("%.0f", result.afterMegabytes()));
    }
    return table;
  }

  private static String number(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }
}
