package io.kvasir.lmcache;

import static io.kvasir.Await.await;
import static io.kvasir.lmcache.ScriptedController.row;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.HttpCalls;
import io.kvasir.index.Chain;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** LMCache over sockets, with a scripted controller. */
final class LmCacheTest {
  private static final CacheMatches FOUND = CacheMatches.decode("w0=512@host");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final ScriptedController controller = new ScriptedController();
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final AtomicBoolean chosen = new AtomicBoolean(true);
  private @Nullable LmCache lmcache;

  LmCacheTest() throws IOException {}

  @AfterEach
  void close() {
    if (lmcache != null) {
      lmcache.close();
    }
    controller.close();
  }

  private LmCacheSettings settings(Duration pollInterval, Duration timeout) {
    return settings(pollInterval, timeout, false);
  }

  private LmCacheSettings settings(Duration pollInterval, Duration timeout, boolean peers) {
    return new LmCacheSettings(
        controller.address(), null,
        new LmCacheSettings.PollSettings(pollInterval, Duration.ofMinutes(1)),
        new LmCacheSettings.LookupSettings(timeout, 256, 4, Duration.ofMinutes(1), peers),
        Map.of("lm-0", "w0"), null);
  }

  private LmCache start(Duration pollInterval, Duration timeout) {
    return start(pollInterval, timeout, false);
  }

  private LmCache start(Duration pollInterval, Duration timeout, boolean peers) {
    LmCache started = new LmCache(settings(pollInterval, timeout, peers), NanoClock.SYSTEM);
    started.start(() -> Set.of("w0", "w1"), chosen::get, CostModel.bundled(), new Metrics(registry));
    lmcache = started;
    return started;
  }

  @Test
  void lookupsThatNeverFindWhatEventsSayIsThere_areTold_untilOneDoes() {
    ManualClock clock = new ManualClock();
    LmCache cache = new LmCache(settings(Duration.ofHours(1), TIMEOUT), clock);
    cache.start(() -> Set.of("w0", "w1"), chosen::get, CostModel.bundled(), new Metrics(registry));
    lmcache = cache;
    for (int i = 0; i < 200; i++) {
      cache.compared(512, 0);
    }
    assertThat(cache.view().problems()).as("within the time for which a result is used").isEmpty();
    clock.advance(Duration.ofMinutes(3));
    cache.compared(255, 0);
    assertThat(cache.view().problems()).as("less than a chunk").isEmpty();
    cache.compared(512, 0);

    assertThat(cache.view().problems()).singleElement().asString()
        .contains("finds none of the prompts", "201 in a row", "one PYTHONHASHSEED");
    assertThat(cache.problems()).anySatisfy(fault -> assertThat(fault.what()).contains("201 in a row"));

    cache.compared(512, 256);

    assertThat(cache.view().problems()).isEmpty();
    for (int i = 0; i < 49; i++) {
      clock.advance(Duration.ofMinutes(3));
      cache.compared(512, 0);
    }
    assertThat(cache.view().problems()).as("too few").isEmpty();
  }

  @Test
  void polls_sumUpByWorker_andReportMismatches() {
    controller.setWorkers(
        row("lm-0", 0, "10.0.0.1", 1000, 1000, 10),
        row("lm-0", 1, "10.0.0.1", 1000, 1000, 11),
        row("stranger", 0, "10.0.0.2", 1000, 1000, 5));
    LmCache cache = start(Duration.ofMillis(100), TIMEOUT);

    await("key counts", () -> cache.keys().isFresh(System.nanoTime()));
    assertThat(cache.keys().byWorker()).isEqualTo(Map.of("w0", 21L, "stranger", 5L));
    await("mismatches", () -> cache.view().problems().size() == 1);
    assertThat(cache.view().problems().getFirst()).contains("'stranger' belongs to no worker");
    assertThat(cache.view().instances()).extracting(LmCacheView.InstanceView::id).containsExactly("lm-0", "stranger");
  }

  @Test
  void controllerThatFailsInEveryWay_keepsTheLastCounts_andIsPolledAgain() throws IOException {
    controller.setWorkers(row("w1", 0, "10.0.0.1", 1000, 1000, 7));
    LmCache cache = start(Duration.ofMillis(100), TIMEOUT);
    await("key counts", () -> cache.keys().isFresh(System.nanoTime()));

    for (int status : List.of(404, 500, 503)) {
      controller.status = status;
      await(status + " is reported", () -> cache.view().failure().orElse("").contains("answered " + status));
    }
    controller.status = 200;
    controller.workers = "{\"workers\":[{\"instance_id\":\"w1\"";
    await("half a response is reported", () -> cache.view().failure().orElse("").contains("no whole JSON"));
    controller.stop();
    int polls = controller.polls.get();
    await("the failure is reported", () -> cache.problems().size() == 1 && controller.polls.get() == polls);
    assertThat(cache.keys().byWorker()).isEqualTo(Map.of("w1", 7L));
    assertThat(cache.keys().isFresh(System.nanoTime())).isTrue();

    controller.setWorkers(row("w1", 0, "10.0.0.1", 2000, 2000, 9));
    controller.restart();
    await("it answers again", () -> cache.keys().byWorker().equals(Map.of("w1", 9L)));
    await("nothing is degraded any more", () -> cache.problems().isEmpty());

    controller.workers = ScriptedController.NO_WORKERS;
    await("the empty list of a restarted controller counts", () -> !cache.keys().isFresh(System.nanoTime()));
  }

  @Test
  void unusedKeyCounts_areNotPolled_untilTheyAreUsed() {
    chosen.set(false);
    LmCache cache = start(Duration.ofMillis(100), TIMEOUT);
    await("the first poll", () -> cache.view().age().isPresent());
    // Long enough for many polls.
    await("some intervals", () -> cache.view().age().orElseThrow().toMillis() > 500);
    assertThat(controller.polls.get()).isEqualTo(1);

    cache.keys();
    await("it is polled again", () -> controller.polls.get() > 1);
  }

  /** Of a profile that requests choose, which is not the default. */
  @Test
  void lookups_keepPollingGoing_soThatAControllerThatCameLaterIsNoProblem() throws IOException {
    chosen.set(false);
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    controller.stop();
    LmCache cache = start(Duration.ofMillis(100), TIMEOUT);
    await("the failure is reported", () -> cache.problems().size() == 1);
    controller.restart();

    assertThat(cache.find(prompt(128, new int[] {1})).toCompletableFuture().join()).isEqualTo(FOUND);
    await("nothing is degraded any more", () -> cache.problems().isEmpty());
  }

  @Test
  void lookup_findsWorkerTierAndTokens_andRemoteMatchesAnyWorker() {
    controller.layout =
        "{\"lm-0\":[\"LocalCPUBackend\",768],\"w1\":[\"LocalDiskBackend\",1024],\"x\":[\"RemoteBackend\",1280]}";
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);

    CacheMatches found = cache.find(prompt(128, new int[] {5, 6})).toCompletableFuture().join();

    assertThat(found.encode().lines()).containsExactlyInAnyOrder("w0=768@host", "w1=1024@disk", "*=1280@remote");
    assertThat(controller.lookups).containsExactly("{\"tokens\":[5,6]}");
  }

  @Test
  void peers_loadFromEachOthersMemory() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",768],\"w1\":[\"LocalDiskBackend\",1024]}";
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT, true);

    CacheMatches found = cache.find(prompt(128, new int[] {5, 6})).toCompletableFuture().join();

    assertThat(found.encode().lines()).containsExactlyInAnyOrder("w0=768@host", "w1=1024@disk", "*=768@remote");
  }

  /** As many lookups as there may be at once are rejected, and none of them keeps its permit. */
  @Test
  void lookup_rejectedAtOnce_takesNoPermit() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    LmCacheSettings settings = settings(Duration.ofMinutes(5), TIMEOUT);
    AtomicBoolean closed = new AtomicBoolean(true);
    Executor executor = task -> {
      if (closed.get()) {
        throw new RejectedExecutionException("closed");
      }
      task.run();
    };
    AtomicLong nanos = new AtomicLong();
    try (HttpCalls calls = new HttpCalls()) {
      Lookups lookups =
          new Lookups(
              new Controller(settings.service(), TIMEOUT, calls), settings, new WorkerMap(settings.workers()),
              executor, nanos::get, new LmCacheMetrics(new Metrics(registry)));
      for (int i = 0; i < 10; i++) {
        assertThat(lookups.find(prompt(128, new int[] {1}))).isCompletedWithValue(CacheMatches.UNKNOWN);
        nanos.addAndGet(Duration.ofMinutes(1).toNanos());
      }
      closed.set(false);
      assertThat(lookups.find(prompt(128, new int[] {1})).join()).isEqualTo(FOUND);
    }
  }

  @Test
  void burst_causesOneLookup_andLaterRequestsUseItsResult() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    controller.gate = new CountDownLatch(1);
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);
    List<CompletableFuture<CacheMatches>> results = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      results.add(cache.find(prompt(128, new int[] {1})).toCompletableFuture());
    }
    results.getFirst().cancel(true);
    controller.gate.countDown();

    assertThat(results.subList(1, 50)).allSatisfy(one -> assertThat(one.join()).isEqualTo(FOUND));
    assertThat(cache.find(prompt(128, new int[] {1})).toCompletableFuture().join()).isEqualTo(FOUND);
    assertThat(controller.lookups).hasSize(1);
    assertThat(lookups("shared")).isEqualTo(49);
    assertThat(lookups("remembered")).isEqualTo(1);
  }

  @Test
  void promptsThatShareTheFirstMissingChunk_shareOneResult() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);
    cache.find(prompt(128, new int[] {1})).toCompletableFuture().join();

    // 16 blocks are a chunk: 48 are two that are held and the one that is missing.
    assertThat(cache.find(branch(48, 128)).toCompletableFuture().join()).isEqualTo(FOUND);
    assertThat(controller.lookups).hasSize(1);
    cache.find(branch(47, 128)).toCompletableFuture().join();
    assertThat(controller.lookups).hasSize(2);
  }

  /** The controller knows tokens alone. */
  @Test
  void resultOfAController_isEveryModels() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);
    cache.find(prompt(128, new int[] {1})).toCompletableFuture().join();
    RoutingContext other = new RoutingContext("r", "n", Role.BOTH, Set.of());
    long[] hashes = LongStream.rangeClosed(1, 128).toArray();
    other.put(Slots.CHAIN, new Chain(hashes, 16))
        .put(Slots.FACTS, new TestFacts(Map.of("cache_salt", "s"), () -> new int[] {1}));

    assertThat(cache.find(other).toCompletableFuture().join()).isEqualTo(FOUND);
    assertThat(controller.lookups).hasSize(1);
  }

  @Test
  void promptWithoutAWholeChunk_hasNoMatches_andOneWithoutTokensIsUnknown() {
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);

    assertThat(cache.find(prompt(15, new int[] {1})).toCompletableFuture().join())
        .isEqualTo(new CacheMatches(List.of()));
    assertThat(cache.find(prompt(0, new int[] {1})).toCompletableFuture().join()).isEqualTo(CacheMatches.UNKNOWN);
    assertThat(cache.find(prompt(128, null)).toCompletableFuture().join()).isEqualTo(CacheMatches.UNKNOWN);
    assertThat(controller.lookups).isEmpty();
    assertThat(lookups("no_tokens")).isEqualTo(1);
  }

  @Test
  void promptsWithoutTokens_doNotCountAsFailuresOfTheController() {
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);
    for (int i = 0; i < 5; i++) {
      RoutingContext refused = branch(i, 128).put(Slots.FACTS, new TestFacts(Map.of(), LmCacheTest::refused));
      assertThat(cache.find(refused).toCompletableFuture().join()).isEqualTo(CacheMatches.UNKNOWN);
    }

    assertThat(cache.find(branch(9, 128)).toCompletableFuture().join()).isEqualTo(FOUND);
    assertThat(lookups("failed")).isZero();
  }

  @Test
  void lateController_opensTheCircuit_andIsTriedAgain() {
    controller.gate = new CountDownLatch(1);
    LmCache cache = start(Duration.ofMinutes(5), Duration.ofMillis(250));
    for (int i = 0; i < 3; i++) {
      assertThat(cache.find(branch(i, 128)).toCompletableFuture().join()).isEqualTo(CacheMatches.UNKNOWN);
    }
    assertThat(lookups("late")).isEqualTo(3);
    controller.gate.countDown();
    controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";
    int[] next = {3};
    await("it answers", () -> cache.find(branch(next[0]++, 128)).toCompletableFuture().join().equals(FOUND));
  }

  @Test
  void lookupsBeyondTheMaximum_areUnknown() {
    controller.gate = new CountDownLatch(1);
    LmCache cache = start(Duration.ofMinutes(5), TIMEOUT);
    List<CompletableFuture<CacheMatches>> inProgress = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      inProgress.add(cache.find(branch(i, 128)).toCompletableFuture());
    }

    assertThat(cache.find(branch(4, 128)).toCompletableFuture().join()).isEqualTo(CacheMatches.UNKNOWN);
    assertThat(lookups("crowded")).isEqualTo(1);
    controller.gate.countDown();
    assertThat(inProgress).allSatisfy(one -> assertThat(one.join()).isEqualTo(new CacheMatches(List.of())));
  }

  private double lookups(String result) {
    return TestMetrics.sum(registry, "kvasir_lmcache_lookups", result);
  }

  /** A prompt of so many blocks of 16 tokens. */
  private static RoutingContext prompt(int blocks, int @Nullable [] tokens) {
    return context(LongStream.rangeClosed(1, blocks).toArray(), tokens);
  }

  /** The same that goes on otherwise after so many blocks. */
  private static RoutingContext branch(int common, int blocks) {
    return context(
        LongStream.rangeClosed(1, blocks).map(i -> i <= common ? i : 1000L * (common + 1) + i).toArray(),
        new int[] {common});
  }

  private static RoutingContext context(long[] hashes, int @Nullable [] tokens) {
    return new RoutingContext("r", "m", Role.BOTH, Set.of())
        .put(Slots.CHAIN, new Chain(hashes, 16))
        .put(Slots.PROMPT_TOKENS, 16L * hashes.length)
        .put(Slots.FACTS, new TestFacts(Map.of(), () -> tokens));
  }

  private static int[] refused() {
    throw new IllegalStateException("the template refuses the conversation");
  }
}
