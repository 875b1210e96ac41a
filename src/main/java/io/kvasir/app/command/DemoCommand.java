package io.kvasir.app.command;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigUtil;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.StartException;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir demo}. */
@Command(
    name = "demo",
    description = {
      "Starts a router and simulated engines on this machine, and shows what to try.",
      "Each engine has an HTTP and a ZMQ endpoint of its own, as real ones do."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true)
public final class DemoCommand implements Callable<Integer> {
  private static final String MODEL = "kvasir-demo";
  private static final Duration START_TIMEOUT = Duration.ofSeconds(60);
  private static final String GUIDE =
      "You answer travellers who visit the north. Keep it short, name places and prices, and say when the sun sets."
          + " In June the nights stay light and the ferries run late; in December roads over the fells may close, and"
          + " whoever wants to see the northern lights should leave the towns, dress warmly and have patience.";

  @Option(names = "--port", defaultValue = "8080", description = "Port of the gateway; 0 for a free one.")
  private int port;

  @Option(names = "--management-port", defaultValue = "7626", description = "Port of management; 0 for a free one.")
  private int managementPort;

  @Option(names = "--workers", defaultValue = "4", description = "Simulated engines, 1 to 64.")
  private int workers;

  @Option(names = "--speed", defaultValue = "1", description = "How many times faster than real the engines are.")
  private double speed;

  @Option(
      names = "--prefill-decode",
      description = {
        "Half of the engines read prompts, the other half generate from the KV they hand over,",
        "as vLLM with NixlConnector; profile prefill-decode."
      })
  private boolean prefillDecode;

  @Option(
      names = "--profile",
      description = "Routing profile. Default: expected-cost, or prefill-decode where the engines are divided.")
  private @Nullable String profile;

  @Override
  public Integer call() throws ConfigException, StartException, InterruptedException {
    if (workers < 1 || workers > 64) {
      throw new StartException("--workers has to be from 1 to 64, not " + workers);
    }
    if (prefillDecode && workers < 2) {
      throw new StartException("--prefill-decode needs --workers of at least 2: one reads prompts, one generates");
    }
    if (prefillDecode && profile != null) {
      throw new StartException("--prefill-decode has a profile of its own: leave out --profile");
    }
    System.setProperty("kvasir.log.level", "WARN");
    CountDownLatch stop = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(() -> {
      stop.countDown();
      await(stopped);
    }));
    try {
      run(stop);
      return 0;
    } finally {
      stopped.countDown();
    }
  }

  private void run(CountDownLatch stop) throws ConfigException, StartException, InterruptedException {
    List<SimEngine> engines = new ArrayList<>();
    try {
      for (int i = 0; i < workers; i++) {
        engines.add(engine(i));
      }
      try (Node node = new Node(KvasirConfig.of(config(engines)))) {
        awaitReady(node);
        try (DemoTraffic traffic = new DemoTraffic(node.gatewayUrl(), MODEL)) {
          node.demo().offer(traffic);
          explain(node);
          new DemoStatus(node, workers).showUntil(stop);
        }
      }
    } finally {
      engines.forEach(SimEngine::close);
    }
  }

  private SimEngine engine(int number) throws StartException {
    SimSettings settings =
        SimSettings.builder()
            .host("127.0.0.1")
            .port(0)
            .model(MODEL)
            .speed(speed)
            .seed(number)
            .role(role(number))
            .transfer(prefillDecode ? TransferSettings.of(TransferDialect.VLLM_NIXL) : TransferSettings.NONE)
            .events(EventSettings.DEFAULT.withLoopback())
            .build();
    try {
      return SimEngine.start(settings);
    } catch (IllegalArgumentException wrong) {
      throw new StartException("a simulated engine cannot start: --" + wrong.getMessage(), wrong);
    } catch (IOException cannot) {
      throw new StartException("a simulated engine cannot start: " + cannot.getMessage(), cannot);
    }
  }

  private Role role(int number) {
    return !prefillDecode ? Role.BOTH : number % 2 == 0 ? Role.PREFILL : Role.DECODE;
  }

  private static String name(Role role) {
    return role.name().toLowerCase(Locale.ROOT);
  }

  private Config config(List<SimEngine> engines) {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < engines.size(); i++) {
      SimEngine engine = engines.get(i);
      pods.append(
          """
          { name = "%s-%d", url = "%s", models = ["%s"], engine = "h100-Qwen2.5-7B-tp1", role = %s
            kv-transfer.dialect = %s
            events { endpoint = "%s", replay = "%s" } }
          """
              .formatted(
                  prefillDecode ? name(role(i)) : "sim", i + 1, engine.url(), MODEL, name(role(i)),
                  engine.settings().kv().transfer().dialect(), engine.eventsEndpoint(), engine.replayEndpoint()));
    }
    return ConfigFactory.parseString(
        """
        kvasir {
          gateway { host = "127.0.0.1", port = %d, drain-timeout = 1 s }
          access.open-routing-details = true
          management { host = "127.0.0.1", port = %d }
          routing {
            profile = %s
            # Prompts to try things with are short: too short to be worth it, in earnest.
            profiles.prefill-decode.workflow.remote-prefill = always
          }
          models = [{ name = "%s", directory = "bundled:%s", block-size = 16 }]
          pods = [ %s ]
        }
        """
            .formatted(port, managementPort, ConfigUtil.quoteString(profile()), MODEL, MODEL, pods));
  }

  private String profile() {
    return prefillDecode ? "prefill-decode" : Objects.requireNonNullElse(profile, "expected-cost");
  }

  private void awaitReady(Node node) throws StartException, InterruptedException {
    Instant deadline = Instant.now().plus(START_TIMEOUT);
    while (!node.readiness().obstacles().isEmpty() || healthy(node) < workers) {
      if (Instant.now().isAfter(deadline)) {
        throw new StartException(
            "the demo did not get ready: %s, %d workers answer"
                .formatted(node.readiness().obstacles().stream().map(Problem::line).toList(), healthy(node)));
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  /** How many of a node's workers are healthy. */
  public static long healthy(Node node) {
    return node.cells().workers().stream()
        .filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY)
        .count();
  }

  private void explain(Node node) {
    String gateway = node.gatewayUrl().toString();
    System.out.printf(
        """

        Kvasir is ready at %s with %d simulated engines; metrics at %s/metrics

        A cold request, its prefix cached nowhere:

          %s

        A warm one, which begins alike and so goes where the first one went (look at %s,
        X-Router-Reason and cached_tokens):

          %s

        The console, where the demo's own traffic is started, too:

          %s/console/

        Workers, load and cached tokens, in another terminal:

          kvasir top --management %s

        Ctrl-C stops everything.

        """,
        gateway, workers, node.managementUrl(), curl(gateway, "When does the sun set in Tromso in June?"),
        prefillDecode ? "X-Router-Prefill-Backend, X-Router-Backend" : "X-Router-Backend",
        curl(gateway, "And which ferry leaves last?"), node.managementUrl(), node.managementUrl());
  }

  private static String curl(String gateway, String question) {
    return "curl -si " + gateway + "/v1/chat/completions -H 'Content-Type: application/json' -d '{\"model\":\"" + MODEL
        + "\",\"max_tokens\":32,\"messages\":[{\"role\":\"system\",\"content\":\"" + GUIDE
        + "\"},{\"role\":\"user\",\"content\":\"" + question + "\"}]}'";
  }

  private static void await(CountDownLatch latch) {
    try {
      boolean ended = latch.await(10, TimeUnit.SECONDS);
      if (!ended) {
        System.err.println("kvasir: the demo did not stop in time");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
