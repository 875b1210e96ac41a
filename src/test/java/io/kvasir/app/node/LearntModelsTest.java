package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.cell.PodSpec;
import io.kvasir.engines.ModelSearch;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptModel;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is learnt of an engine over real sockets. */
final class LearntModelsTest {
  private static final int CHECKS_UNTIL_RETRY = 5;

  /** In place of a status: the connection ends without an answer. */
  private static final int RESET = 0;

  private volatile int tokenize = 200;
  private final ScriptedPod engine =
      new ScriptedPod((request, out) -> {
        switch (request.target()) {
          case "/v1/models" -> out.json(200, "{\"object\": \"list\", \"data\": [{\"id\": \"m\"}]}");
          case "/tokenize" -> {
            if (tokenize != RESET) {
              out.json(tokenize, "{\"count\": 3, \"tokens\": [1, 2, 3]}");
            }
          }
          default -> out.json(404, "{}");
        }
      });

  private final List<PodSpec> pods = new CopyOnWriteArrayList<>();
  private final List<AutoCloseable> opened = new ArrayList<>(List.of(engine));
  private final Prompts prompts;
  private final LearntModels learnt;

  LearntModelsTest(@TempDir Path directory) throws Exception {
    KvasirConfig config = KvasirConfig.of(ConfigFactory.parseString("kvasir.pods = []"));
    prompts =
        Prompts.load(
            List.of(), config.prompts().settings(), _ -> _ -> new int[0], Runnable::run, Clock.systemUTC(),
            NanoClock.SYSTEM,
            new Metrics(new PrometheusRegistry()));
    PodSurvey survey = new PodSurvey(Duration.ofSeconds(60), null, config.fleet(), () -> pods);
    opened.add(survey);
    learnt =
        new LearntModels(
            prompts, config.prompts(), survey,
            new ModelSearch(List.of(), Map.of("HF_HUB_CACHE", directory.toString())), () -> pods, _ -> engine.url());
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {429, 500, 503, RESET})
  void engineThatIsBusyWhenAPodJoins_leavesTheModelAsItWas_andIsAskedAgain(int busy) throws Exception {
    pods.add(pod("a", "m"));
    learnt.check();
    assertThat(models()).containsExactly("m");
    tokenize = busy;
    pods.add(pod("b", "m", "adapter"));
    learnt.check();
    assertThat(models()).containsExactly("m");
    assertThat(learnt.problems()).singleElement().extracting(Problem::what).asString()
        .startsWith("prompts for the model m are prepared as before its pods changed: ").contains("/tokenize");
    tokenize = 200;
    checkUntilRetry();
    assertThat(prompts.models()).singleElement()
        .satisfies(model -> assertThat(model.config().adapters()).containsExactly("adapter"));
    assertThat(learnt.problems()).isEmpty();
  }

  @Test
  void engineThatIsBusyAtFirst_isAskedAgain() throws Exception {
    pods.add(pod("a", "m"));
    tokenize = 503;
    learnt.check();
    assertThat(models()).isEmpty();
    assertThat(learnt.problems()).singleElement().extracting(Problem::what).asString()
        .startsWith("prompts for the model m are compared by their text only: ").endsWith("/tokenize answered 503");
    tokenize = 200;
    checkUntilRetry();
    assertThat(models()).containsExactly("m");
    assertThat(learnt.problems()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {404, 501})
  void engineThatTokenisesNothing_hasItsModelForgotten(int none) throws Exception {
    pods.add(pod("a", "m"));
    learnt.check();
    tokenize = none;
    pods.add(pod("b", "m", "adapter"));
    learnt.check();
    assertThat(models()).isEmpty();
    assertThat(learnt.problems()).singleElement().extracting(Problem::what).asString()
        .contains("does not tokenise conversations");
  }

  private void checkUntilRetry() throws InterruptedException {
    for (int i = 0; i < CHECKS_UNTIL_RETRY; i++) {
      learnt.check();
    }
  }

  private List<String> models() {
    return prompts.models().stream().map(PromptModel::config).map(ModelConfig::name).toList();
  }

  private PodSpec pod(String name, String... models) {
    return new PodSpec(
        name, engine.url(), Role.BOTH, new LinkedHashSet<>(List.of(models)), Map.of(),
        new PodSpec.Engine("h100", 1, 16, 100, 1000), List.of(), null)
        .with(new PodSpec.Learnt("{}", "an engine", List.of()));
  }
}
