package io.kvasir.lmcache;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Chain;
import io.kvasir.load.Ports;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/**
 * LMCache's own controller, which comes with {@code pip install lmcache torch} and needs no accelerator. Runs where
 * {@code LMCACHE_CONTROLLER} names its program: {@code LMCACHE_CONTROLLER=$(which lmcache_controller)}.
 */
@EnabledIfEnvironmentVariable(named = "LMCACHE_CONTROLLER", matches = ".+")
final class RealControllerIT {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  @TempDir private Path directory = Path.of("");

  @Test
  void controllerThatKnowsNobody_isPolledAndLookedUpIn() throws Exception {
    int port = Ports.free();
    ProcessBuilder builder =
        new ProcessBuilder(
                System.getenv("LMCACHE_CONTROLLER"), "--host", "127.0.0.1", "--port", Integer.toString(port),
                "--monitor-ports", "{\"pull\":%d,\"reply\":%d}".formatted(Ports.free(), Ports.free()))
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("controller.log").toFile());
    builder.environment().put("PYTHONHASHSEED", "0");
    Process controller = builder.start();
    LmCache lmcache =
        new LmCache(
            new LmCacheSettings(
                URI.create("http://127.0.0.1:" + port), null,
                new LmCacheSettings.PollSettings(Duration.ofMillis(500), Duration.ofMinutes(1)),
                new LmCacheSettings.LookupSettings(Duration.ofSeconds(2), 256, 4, Duration.ofMillis(1), false),
                Map.of(), null),
            NanoClock.SYSTEM);
    try {
      lmcache.start(Set::of, () -> true, CostModel.bundled(), new Metrics(new PrometheusRegistry()));
      Instant deadline = Instant.now().plus(PATIENCE);
      while (lmcache.view().age().isEmpty()) {
        assertThat(controller.isAlive()).as("the controller runs").isTrue();
        assertThat(Instant.now()).as("the controller is polled").isBefore(deadline);
        LockSupport.parkNanos(20_000_000);
      }
      assertThat(lmcache.view().instances()).isEmpty();
      CacheMatches found = CacheMatches.UNKNOWN;
      while (!found.known()) {
        assertThat(Instant.now()).as("a lookup is answered").isBefore(deadline);
        found = lmcache.find(prompt()).toCompletableFuture().get(60, TimeUnit.SECONDS);
      }
      assertThat(found).isEqualTo(new CacheMatches(List.of()));
    } finally {
      lmcache.close();
      controller.destroy();
      assertThat(controller.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static RoutingContext prompt() {
    return new RoutingContext("r", "m", Role.BOTH, Set.of())
        .put(Slots.CHAIN, new Chain(LongStream.rangeClosed(1, 64).toArray(), 16))
        .put(Slots.PROMPT_TOKENS, 1024L)
        .put(Slots.FACTS, new TestFacts(Map.of(), () -> IntStream.range(0, 1024).toArray()));
  }
}
