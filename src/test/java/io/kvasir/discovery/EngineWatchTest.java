package io.kvasir.discovery;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.EnginePage;
import io.kvasir.execution.FakeCells;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Engines that tell what they are, late or something else than before. */
final class EngineWatchTest {
  private static final URI ENGINE = URI.create("http://10.0.0.1:8000");

  private final FakeCells cells = new FakeCells();
  private volatile @Nullable LearntPod answer;
  /** What the engine was asked as. */
  private final Queue<String> askedAs = new ConcurrentLinkedQueue<>();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
  }

  @Test
  void configuredUrl_isAnnouncedWhenItsEngineAnswers() {
    Config described = ConfigFactory.parseString("url = \"" + ENGINE + "\", ranks = 2");
    ConfiguredPods pods =
        new ConfiguredPods(List.of(new BarePod(ENGINE, described)), EngineWatchTest::read, this::learn, cells.pods);
    opened.add(pods);

    await(() -> !pods.problems().isEmpty());
    assertThat(pods.problems()).singleElement().asString().contains(ENGINE.toString(), "no answer");

    answer = answer(vllm("0.32.0"), 16, "m");
    await(() -> !cells.pods.all().isEmpty());
    PodSpec pod = cells.pods.all().getFirst();
    assertThat(pod.name()).isEqualTo("engine-name");
    assertThat(pod.models()).containsExactly("m");
    assertThat(pod.engine().ranks()).as("what is described wins").isEqualTo(2);
    assertThat(Objects.requireNonNull(pod.learnt()).described()).contains("ranks").doesNotContain("models");
    await(() -> pods.problems().isEmpty());
  }

  @Test
  void engineThatNamesTooManyModels_isAProblem() {
    Set<String> names =
        IntStream.range(0, EngineDescription.MAX_MODELS).mapToObj(i -> "m" + i).collect(Collectors.toSet());
    PodSpec described = TestPods.pod("crowded").models(names).build();
    PodSpec learnt = described.with(new PodSpec.Learnt("{}", "vLLM 0.32.0", List.of()));

    assertThat(LearntPod.problem(described)).as("its operator wants them").isEmpty();
    assertThat(LearntPod.problem(learnt).orElseThrow().line()).contains("pod crowded", "only 1,024 are taken");
    assertThat(LearntPod.problem(TestPods.pod("few").build().with(learnt.learnt()))).isEmpty();
  }

  @Test
  void engineWhoseAnswerCannotBeRead_isAskedAgain() {
    AtomicInteger asked = new AtomicInteger();
    PodLearner unreadableAtFirst = (_, _) ->
        switch (asked.incrementAndGet()) {
          case 1 -> throw new IllegalArgumentException("port out of range");
          case 2 -> throw new StackOverflowError();
          default -> answer(vllm("0.32.0"), 16, "m");
        };
    Config described = ConfigFactory.parseString("url = \"" + ENGINE + "\"");
    ConfiguredPods pods =
        new ConfiguredPods(
            List.of(new BarePod(ENGINE, described)), EngineWatchTest::read, unreadableAtFirst, cells.pods);
    opened.add(pods);
    await(() -> !pods.problems().isEmpty());
    assertThat(pods.problems()).singleElement().asString().contains("cannot be read", "port out of range");
    await(() -> !cells.pods.all().isEmpty());
  }

  @Test
  void engineThatIsAnother_isDescribedAnew() {
    answer = answer(vllm("0.32.0"), 16, "m");
    PodSpec before =
        Objects.requireNonNull(
            new BarePod(ENGINE, ConfigFactory.parseString("url = \"" + ENGINE + "\""))
                .completed(Objects.requireNonNull(answer), EngineWatchTest::read, _ -> {}));
    PodSpec whole =
        new PodSpec("whole", URI.create("http://10.0.0.2:8000"), Role.BOTH, before.models(), Map.of(), before.engine(),
            List.of(), null);
    cells.pods.add(before);
    cells.pods.add(whole);
    Counter changes = EngineWatch.changes(new Metrics(new PrometheusRegistry()));
    opened.add(new EngineWatch(EngineWatchTest::read, this::learn, cells.pods, cells, Duration.ofMillis(20), changes));

    answer = answer(vllm("0.33.0"), 32, "m", "lora");
    await(() -> changes.get() == 1);
    assertThat(cells.pods.all()).contains(whole).hasSize(2);
    PodSpec after = cells.pods.all().stream().filter(pod -> !pod.equals(whole)).findFirst().orElseThrow();
    assertThat(after.engine().blockSize()).isEqualTo(32);
    assertThat(before.hasSameEngine(after)).isFalse();
    assertThat(before.changesTo(after))
        .contains("vLLM 0.32.0 is vLLM 0.33.0 now", "m, lora now", "KV blocks of 16 tokens have 32 now");

    answer = answer(vllm("0.33.0"), 32, "m");
    await(() -> changes.get() == 2);
    PodSpec unloaded = cells.pods.all().stream().filter(pod -> !pod.equals(whole)).findFirst().orElseThrow();
    assertThat(after.hasSameEngine(unloaded)).as("an adapter was unloaded").isTrue();
    assertThat(unloaded.models()).containsExactly("m");
  }

  @Test
  void engineThatWasLostForAMoment_isAskedAgainAtOnce() {
    answer = answer(vllm("0.32.0"), 16, "m");
    PodSpec before =
        Objects.requireNonNull(
            new BarePod(ENGINE, ConfigFactory.parseString("url = \"" + ENGINE + "\""))
                .completed(Objects.requireNonNull(answer), EngineWatchTest::read, _ -> {}));
    cells.pods.add(before);
    cells.worker(before.name(), before.workerId(0), ENGINE, 0, 1, "m");
    Counter changes = EngineWatch.changes(new Metrics(new PrometheusRegistry()));
    opened.add(new EngineWatch(EngineWatchTest::read, this::learn, cells.pods, cells, Duration.ofHours(1), changes));

    answer = answer(vllm("0.32.0"), 64, "m");
    // A loss that the watch does not see before it has seen the worker is none.
    await(() -> {
      cells.lose(before.workerId(0));
      return changes.get() == 1;
    });
    assertThat(cells.pods.all()).singleElement().satisfies(pod -> assertThat(pod.engine().blockSize()).isEqualTo(64));
  }

  @Test
  void engineThatWasIllWhenItWasFirstSeen_isAskedWhenItIsWell() {
    answer = answer(vllm("0.32.0"), 16, "m");
    PodSpec before =
        Objects.requireNonNull(
            new BarePod(ENGINE, ConfigFactory.parseString("url = \"" + ENGINE + "\""))
                .completed(Objects.requireNonNull(answer), EngineWatchTest::read, _ -> {}));
    cells.pods.add(before);
    cells.worker(before.name(), before.workerId(0), ENGINE, 0, 1, "m");
    cells.setIll(before.workerId(0), true);
    Counter changes = EngineWatch.changes(new Metrics(new PrometheusRegistry()));
    AtomicInteger asked = new AtomicInteger();
    PodLearner counting = (engine, known) -> {
      asked.incrementAndGet();
      return learn(engine, known);
    };
    opened.add(new EngineWatch(EngineWatchTest::read, counting, cells.pods, cells, Duration.ofHours(1), changes));
    int looks = cells.looks();
    await(() -> cells.looks() > looks + 1);
    assertThat(asked).hasValue(0);

    answer = answer(vllm("0.33.0"), 64, "m");
    cells.setIll(before.workerId(0), false);
    await(() -> changes.get() == 1);
    assertThat(cells.pods.all()).singleElement().satisfies(pod -> assertThat(pod.engine().blockSize()).isEqualTo(64));
  }

  @Test
  void engineThatStaysWell_isAskedAsWhatItWas_andAsWhateverItMayBeAfterALoss() {
    answer = answer(vllm("0.32.0"), 16, "m");
    PodSpec before =
        Objects.requireNonNull(
            new BarePod(ENGINE, ConfigFactory.parseString("url = \"" + ENGINE + "\""))
                .completed(Objects.requireNonNull(answer), EngineWatchTest::read, _ -> {}));
    cells.pods.add(before);
    cells.worker(before.name(), before.workerId(0), ENGINE, 0, 1, "m");
    Counter changes = EngineWatch.changes(new Metrics(new PrometheusRegistry()));
    opened.add(new EngineWatch(EngineWatchTest::read, this::learn, cells.pods, cells, Duration.ofMillis(20), changes));

    await(() -> askedAs.size() > 3);
    assertThat(askedAs.poll()).isEqualTo("null");
    assertThat(askedAs).containsOnly("vLLM 0.32.0");

    await(() -> {
      cells.lose(before.workerId(0));
      return askedAs.contains("null");
    });
  }

  @Test
  void eventsThatTheEngineDoesNotTellOf_stayWhenNobodyIsFoundAtTheirEndpoint() {
    LearntPod found = new LearntPod("n", settings("m").set("events", settings("e")), vllm("0.32.0"), false, List.of());
    LearntPod missed = new LearntPod("n", settings("m"), vllm("0.32.0"), false, List.of("nobody is there"));
    assertThat(missed.after(found)).isEqualTo(found);
    LearntPod other = new LearntPod("n", settings("m"), vllm("0.33.0"), false, List.of());
    assertThat(other.after(found)).as("another engine").isEqualTo(other);
    LearntPod off = new LearntPod("n", settings("m"), vllm("0.32.0"), true, List.of());
    assertThat(off.after(found)).as("it says that it publishes none").isEqualTo(off);
  }

  @Test
  void enginePort_ofItsGrpc_isWhereItIsAskedAgain() {
    answer = answer(vllm("0.30.0"), 16, "m");
    PodSpec before =
        Objects.requireNonNull(
            new BarePod(ENGINE, ConfigFactory.parseString("url = \"" + ENGINE + "\", grpc-port = 50051"))
                .completed(Objects.requireNonNull(answer), EngineWatchTest::read, _ -> {}));
    cells.pods.add(before);
    Queue<EngineAddress> asked = new ConcurrentLinkedQueue<>();
    PodLearner recording = (engine, known) -> {
      asked.add(engine);
      return learn(engine, known);
    };
    Counter changes = EngineWatch.changes(new Metrics(new PrometheusRegistry()));
    opened.add(new EngineWatch(EngineWatchTest::read, recording, cells.pods, cells, Duration.ofMillis(20), changes));

    await(() -> !asked.isEmpty());
    assertThat(asked).containsOnly(new EngineAddress(ENGINE, 50_051));
  }

  private static ObjectNode settings(String model) {
    return JsonNodeFactory.instance.objectNode().put("model", model);
  }

  private LearntPod learn(EngineAddress engine, @Nullable EngineIdentity known) throws IOException {
    LearntPod now = answer;
    if (now == null || !engine.url().equals(ENGINE)) {
      throw new IOException("no answer");
    }
    askedAs.add(String.valueOf(known));
    return now;
  }

  private static EngineIdentity vllm(String version) {
    return new EngineIdentity(EngineKind.VLLM, version, null, false, Set.of(EnginePage.VERSION));
  }

  private static LearntPod answer(EngineIdentity engine, int blockSize, String... models) {
    ObjectNode settings = JsonNodeFactory.instance.objectNode().put("block-size", blockSize).put("ranks", 1);
    List.of(models).forEach(settings.putArray("models")::add);
    return new LearntPod("engine-name", settings, engine, true, List.of());
  }

  private static List<DiscoveredPod> read(Config listed, Consumer<String> faults) {
    return listed.getConfigList("pods").stream()
        .map(pod -> new DiscoveredPod(
            new PodSpec(
                pod.getString("name"), URI.create(pod.getString("url")), Role.BOTH,
                new LinkedHashSet<>(pod.getStringList("models")), Map.of(),
                new PodSpec.Engine("e", pod.getInt("ranks"), pod.getInt("block-size"), 8, 1), List.of(), null),
            false))
        .toList();
  }
}
