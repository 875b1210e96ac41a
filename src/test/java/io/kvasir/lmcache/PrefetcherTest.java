package io.kvasir.lmcache;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.index.Tier;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Role;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Prefetches over sockets: by the simulated coordinator, and by one that is slow or answers with errors. */
final class PrefetcherTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);

  private final ScriptedController controller = new ScriptedController();
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final AtomicBoolean byDefault = new AtomicBoolean(true);
  private final List<AutoCloseable> owned = new ArrayList<>(List.of(controller));

  PrefetcherTest() throws IOException {}

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable part : owned.reversed()) {
      part.close();
    }
  }

  @Test
  void pays_whereFetchingTakesSoMuchLessThanComputing_andNoLongerThanTheBudget() {
    EngineCost engine = new EngineCost(0.1, 0, 0, 1e6);
    // 1000 tokens from a remote store take 5 + 12 ms, from a disk 2 + 25 ms; computing them takes 100 ms.
    assertThat(pays(engine, 1000, 83, 100, 0, match(1000, Tier.REMOTE))).isTrue();
    assertThat(pays(engine, 1000, 83.1, 100, 0, match(1000, Tier.REMOTE))).isFalse();
    assertThat(pays(engine, 1000, 73, 100, 0, match(1000, Tier.DISK))).isTrue();
    assertThat(pays(engine, 1000, 73.1, 100, 0, match(1000, Tier.DISK))).isFalse();
    assertThat(pays(engine, 1001, 0, 100, 0, match(1000, Tier.REMOTE))).as("too few tokens").isFalse();
    assertThat(pays(engine, 1000, 0, 16, 0, match(1000, Tier.REMOTE))).as("too long").isFalse();
    assertThat(pays(engine, 500, 0, 100, 500, match(1000, Tier.REMOTE))).as("half is on the device").isTrue();
    assertThat(pays(engine, 500, 0, 100, 501, match(1000, Tier.REMOTE))).isFalse();
    assertThat(pays(new EngineCost(0.017, 0, 0, 1e6), 1, 0.1, 100, 0, match(1000, Tier.REMOTE))).isFalse();
  }

  private static boolean pays(
      EngineCost engine, int minTokens, double minSavingMs, long budgetMs, int held, Match match) {
    PrefetchSettings settings =
        new PrefetchSettings(
            URI.create("http://localhost"), true, minTokens, minSavingMs, Duration.ofMillis(budgetMs));
    return Prefetcher.pays(settings, engine, prompt("w0", 2000, held, match, null), match);
  }

  @Test
  void simulatedCoordinator_prefetches_alsoAfterARestart() throws IOException {
    CacheCoordinator coordinator = own(CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(30)));
    int port = coordinator.url().getPort();
    own(
        SimEngine.start(
            SimSettings.builder().host("127.0.0.1").port(0).model("kvasir-demo").speed(0).events(EventSettings.OFF)
                .hostTier(HostTierSettings.of(64).withCoordinator(coordinator.url(), "lm-0", Duration.ofMillis(50)))
                .build()));
    LmCache lmcache = start(coordinator.url(), LONG);
    await("the instance is known", () -> instances(lmcache).equals(List.of("lm-0")));

    lmcache.prefetch(far("w0"));
    assertThat(prefetches("completed")).isEqualTo(1);
    lmcache.prefetch(far("w1"));
    assertThat(prefetches("unknown_instance")).isEqualTo(1);
    lmcache.prefetch(prompt("w0", 200_000, 0, match(100_000, Tier.DISK), null));
    assertThat(prefetches("no_tokens")).isEqualTo(1);
    lmcache.prefetch(prompt("w0", 200_000, 99_999, match(100_000, Tier.DISK), tokens()));
    assertThat(prefetches("not_worth")).isEqualTo(1);
    lmcache.prefetch(prompt("w0", 200_000, 0, match(100_000, Tier.HOST), tokens()));
    lmcache.prefetch(new PrefetchCandidate(worker("w0"), 200_000, 0, new CacheMatches(List.of()), tokens()));

    coordinator.close();
    await("the failure is reported", () -> lmcache.problems().toString().contains("coordinator"));
    for (int i = 0; i < 3; i++) {
      lmcache.prefetch(far("w0"));
    }
    assertThat(prefetches("failed")).isEqualTo(3);

    own(CacheCoordinator.start("127.0.0.1", port, Duration.ofSeconds(30)));
    await("it fetches again", () -> {
      lmcache.prefetch(far("w0"));
      return prefetches("completed") == 2;
    });
    await("nothing is degraded any more", () -> lmcache.problems().isEmpty());
  }

  @Test
  void errorsAndTimeoutsOfTheCoordinator_endThePrefetch() throws IOException {
    AtomicInteger status = new AtomicInteger(200);
    LinkedBlockingDeque<String> submitted = new LinkedBlockingDeque<>();
    HttpServer slow = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    slow.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    slow.createContext("/", exchange -> {
      String path = exchange.getRequestURI().getPath();
      String content = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      boolean listed = path.equals("/instances");
      if (exchange.getRequestMethod().equals("POST")) {
        submitted.add(content);
      }
      byte[] body =
          (listed ? "{\"instances\":[{\"instance_id\":\"lm-0\",\"ip\":\"x\"},{\"instance_id\":\"stranger\"}]}"
                  : "{\"status\":\"pending\",\"request_id\":\"a/b\"}")
              .getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(listed ? 200 : status.get(), body.length);
      try (exchange) {
        exchange.getResponseBody().write(body);
      }
    });
    slow.start();
    own(() -> slow.stop(0));
    LmCache lmcache = start(URI.create("http://127.0.0.1:" + slow.getAddress().getPort()), SHORT);
    await("the instance is known", () -> instances(lmcache).contains("lm-0"));
    await("the unmapped instance is reported",
        () -> lmcache.view().problems().toString().contains("'stranger' belongs to no worker"));

    // A prefetch that is always pending is late however slow this machine is.
    await("the prefetch was submitted and is late", () -> {
      lmcache.prefetch(far("w0"));
      return !submitted.isEmpty();
    });
    assertThat(prefetches("late")).isPositive();
    assertThat(prefetches("completed")).isZero();
    assertThat(submitted.getFirst())
        .contains("\"instance_id\":\"lm-0\"", "\"model_name\":\"kvasir-demo\"", "\"cache_salt\":\"salt\"");
    status.set(500);
    await("it is refused", () -> {
      lmcache.prefetch(far("w0"));
      return prefetches("refused") >= 1;
    });
  }

  @Test
  void disabledPrefetching_onlyListsTheCoordinatorsInstances() throws IOException {
    CacheCoordinator coordinator = own(CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(30)));
    LmCache lmcache = start(new PrefetchSettings(coordinator.url(), false, 1, 0, LONG));
    await("it is known", () -> lmcache.view().coordinator().orElseThrow().age().isPresent());

    lmcache.prefetch(far("w0"));

    assertThat(registry.scrape(name -> name.equals("kvasir_lmcache_prefetches")).stream()
        .flatMap(snapshot -> snapshot.getDataPoints().stream())).isEmpty();
  }

  /** It knows the engines' ranks. */
  @Test
  void prefetches_keepTheControllersPollsGoing() throws IOException {
    byDefault.set(false);
    controller.stop();
    CacheCoordinator coordinator = own(CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(30)));
    LmCache lmcache = start(coordinator.url(), LONG);
    await("the failure is reported", () -> lmcache.view().failure().isPresent());
    controller.restart();

    // One keeps them going for six of their intervals, in which a busy machine may come to nothing.
    await("it is polled again", () -> {
      lmcache.prefetch(far("w0"));
      return lmcache.view().failure().isEmpty();
    });
  }

  private LmCache start(URI coordinator, Duration budget) {
    return start(new PrefetchSettings(coordinator, true, 1024, 0, budget));
  }

  private LmCache start(PrefetchSettings prefetch) {
    LmCache lmcache =
        own(
            new LmCache(
                new LmCacheSettings(
                    controller.address(), null,
                    new LmCacheSettings.PollSettings(Duration.ofMillis(100), Duration.ofHours(1)),
                    new LmCacheSettings.LookupSettings(LONG, 256, 4, LONG, false),
                    Map.of("lm-0", "w0"), prefetch),
                NanoClock.SYSTEM));
    lmcache.start(() -> Set.of("w0", "w1"), byDefault::get, CostModel.bundled(), new Metrics(registry));
    return lmcache;
  }

  private <T extends AutoCloseable> T own(T part) {
    owned.add(part);
    return part;
  }

  private static List<String> instances(LmCache lmcache) {
    return lmcache.view().coordinator().orElseThrow().instances();
  }

  private double prefetches(String result) {
    return TestMetrics.sum(registry, "kvasir_lmcache_prefetches", result);
  }

  /** A prompt for which fetching saves much and takes little. */
  private static PrefetchCandidate far(String worker) {
    return prompt(worker, 9000, 0, match(8192, Tier.REMOTE), tokens());
  }

  private static Match match(int tokens, Tier tier) {
    return new Match(CacheMatches.ANY_WORKER, tokens, tier);
  }

  private static PrefetchCandidate prompt(String worker, int tokens, int held, Match match,
      @Nullable RequestFacts facts) {
    return new PrefetchCandidate(
        worker(worker), tokens, held, new CacheMatches(List.of(match)), facts == null ? RequestFacts.NONE : facts);
  }

  private static Worker worker(String id) {
    return new Worker(
        id, id, URI.create("http://localhost"), 0, 1, 0, Role.BOTH, Set.of("kvasir-demo"), Map.of(), 16, "any", null);
  }

  private static RequestFacts tokens() {
    return new TestFacts(Map.of("cache_salt", "salt"), () -> IntStream.range(0, 600).toArray());
  }
}
