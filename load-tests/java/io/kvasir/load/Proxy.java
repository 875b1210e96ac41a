package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the whole of Kvasir costs, beside other routers: {@code load-tests/proxy [--peers smg,vllm-router,nginx]
 * [--scale F] [--json OUT]}. Each router stands alone between the same four fake engines and the same load; latency is
 * what it adds to asking an engine directly. Everything shares the machine's cores, so figures of one run compare.
 */
final class Proxy {
  private static final Path OUT = Path.of("load-tests", "out");
  private static final int ENGINES = 4;

  /** The model that Kvasir brings along, so that prompts are rendered and tokenised. */
  private static final String MODEL = "kvasir-demo";

  private Proxy() {}

  /** A router that can be started before engines. */
  private enum Router {
    KVASIR {
      @Override
      ChildProcess start(int port, List<Integer> engines) throws IOException {
        String pods =
            IntStream.range(0, engines.size())
                .mapToObj(
                    i ->
                        "{ name = engine-%d, url = \"http://127.0.0.1:%d\", models = [%s], max-in-flight = 1000 }"
                            .formatted(i, engines.get(i), MODEL))
                .collect(Collectors.joining("\n    "));
        Path config = OUT.resolve("kvasir.conf");
        Files.writeString(
            config,
            """
            kvasir {
              gateway { host = "127.0.0.1", port = %d }
              access.open-routing-details = true
              management.port = %d
              models = [{ name = %s, directory = "bundled:kvasir-demo" }]
              pods = [
                %s
              ]
            }
            """
                .formatted(port, Ports.free(), MODEL, pods));
        return quiet(List.of("./kvasir", "serve", "--config", config.toString()));
      }
    },
    SMG {
      @Override
      ChildProcess start(int port, List<Integer> engines) throws IOException {
        return python("smg", List.of("launch", "--backend", "vllm"), port, engines);
      }
    },
    VLLM_ROUTER {
      @Override
      ChildProcess start(int port, List<Integer> engines) throws IOException {
        return python("vllm-router", List.of(), port, engines);
      }
    },
    NGINX {
      @Override
      ChildProcess start(int port, List<Integer> engines) throws IOException {
        String upstreams =
            engines.stream().map(engine -> "server 127.0.0.1:" + engine + ";").collect(Collectors.joining(" "));
        Path config = OUT.resolve("nginx.conf").toAbsolutePath();
        Files.writeString(
            config,
            """
            daemon off;
            pid %s/nginx.pid;
            worker_processes 2;
            events { worker_connections 8192; }
            http {
              access_log off;
              client_max_body_size 64m;
              client_body_buffer_size 512k;
              keepalive_requests 1000000000;
              upstream engines { %s keepalive 512; keepalive_requests 1000000000; }
              server {
                listen 127.0.0.1:%d;
                location / {
                  proxy_pass http://engines;
                  proxy_http_version 1.1;
                  proxy_set_header Connection "";
                  proxy_buffering off;
                }
              }
            }
            """
                .formatted(OUT.toAbsolutePath(), upstreams, port));
        return quiet(List.of("nginx", "-p", OUT.toAbsolutePath().toString(), "-c", config.toString()));
      }
    };

    abstract ChildProcess start(int port, List<Integer> engines) throws IOException;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Router parse(String name) {
      return Arrays.stream(values())
          .filter(router -> router.toString().equals(name.strip()))
          .findFirst()
          .orElseThrow(
              () -> new IllegalArgumentException("--peers: there is no " + name + "; there are " + peers()));
    }

    static List<Router> peers() {
      return List.of(SMG, VLLM_ROUTER, NGINX);
    }

    ChildProcess quiet(List<String> command) throws IOException {
      return ChildProcess.quiet(toString(), OUT.resolve(this + ".log"), command);
    }

    ChildProcess python(String program, List<String> first, int port, List<Integer> engines) throws IOException {
      List<String> command = new ArrayList<>();
      command.add("load-tests/.venv-" + this + "/bin/" + program);
      command.addAll(first);
      command.addAll(List.of("--host", "127.0.0.1", "--port", String.valueOf(port), "--policy", "cache_aware"));
      command.addAll(List.of("--prometheus-port", String.valueOf(Ports.free()), "--worker-urls"));
      engines.forEach(engine -> command.add("http://127.0.0.1:" + engine));
      return quiet(command);
    }
  }

  public static void main(String[] arguments) throws Exception {
    List<Router> routers = new ArrayList<>(List.of(Router.KVASIR));
    List<Router> peers = Router.peers();
    double scale = 1;
    Path json = null;
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      String value = arguments[i + 1];
      switch (arguments[i]) {
        case "--peers" ->
            peers = value.equals("none") ? List.of() : Arrays.stream(value.split(",", -1)).map(Router::parse).toList();
        case "--scale" -> scale = Double.parseDouble(value);
        case "--json" -> json = Path.of(value);
        default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
    }
    routers.addAll(peers);
    Files.createDirectories(OUT);
    System.exit(run(routers, scale, json));
  }

  private static int run(List<Router> routers, double scale, @Nullable Path json) throws Exception {
    List<Figures> all = new ArrayList<>();
    Map<Router, String> failed = new LinkedHashMap<>();
    Figures direct;
    try (ChildProcess engines =
            ChildProcess.java(
                "engines",
                OUT.resolve("engines.log"),
                List.of("-Xmx256m"),
                FakeEngines.class,
                Stream.concat(Stream.of(MODEL, "20"), Stream.generate(() -> "0").limit(ENGINES))
                    .toArray(String[]::new));
        LoadGenerator.Remote load = new LoadGenerator.Remote(OUT.resolve("load.log"))) {
      List<Integer> ports = Arrays.stream(engines.awaitLine("ports ").split(" ", -1)).map(Integer::valueOf).toList();
      DataPathProbe probe = new DataPathProbe(load, MODEL, scale);
      direct = probe.measure("direct", ports.getFirst(), CpuClock.NONE);
      for (Router router : routers) {
        int port = Ports.free();
        try (ChildProcess child = router.start(port, ports)) {
          awaitAnswers(load, child, port);
          all.add(probe.measure(router.toString(), port, CpuClock.of(child)));
        } catch (IOException e) {
          failed.put(router, String.valueOf(e.getMessage()));
          DataPathProbe.progress(router.toString(), "failed: " + e.getMessage());
        }
      }
    }
    print(direct, all);
    failed.forEach((router, why) -> System.out.printf("%s was not measured: %s%n", router, why));
    ResultFile.write(json, new ObjectMapper(), all.stream().map(each -> result(direct, each)).toList());
    return failed.isEmpty() ? 0 : 1;
  }

  /** Waits until requests succeed: routers take a while to believe in their engines. */
  private static void awaitAnswers(LoadGenerator.Remote load, ChildProcess router, int port)
      throws IOException, InterruptedException {
    DataPathProbe.progress(router.name().toLowerCase(Locale.ROOT), "starting");
    router.awaitPort(port, Duration.ofMinutes(5));
    long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (true) {
      LoadResult tally = load.run(new Task(port, MODEL, ArrivalMode.CLOSED, 4, 0, 0.3, 0, 1000));
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
        "%-12s %9.0f %10s %10s %10.3f %10.3f %10s %10.0f %7s   (latency as it is)%n",
        direct.name(),
        direct.requestsPerSecond(),
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
