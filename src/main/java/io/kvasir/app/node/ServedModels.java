package io.kvasir.app.node;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.config.KvasirConfig.PromptConfig;
import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.Parity;
import io.kvasir.prompt.PromptModel;
import io.kvasir.prompt.Prompts;
import io.kvasir.telemetry.Metrics;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * The models this node prepares prompts for: loaded at start, compared with their engines as soon as one
 * answers and again while they differ, and reported as degraded when they do. Owns its client and threads.
 */
final class ServedModels implements AutoCloseable {
  private static final Duration TOKENIZE_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration CHECK_INTERVAL = Duration.ofSeconds(2);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Cells cells;
  private final Prompts prompts;
  private final ExecutorService background = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(TOKENIZE_TIMEOUT)
          .executor(background)
          .build();

  /**
   * Loads every model of the configuration.
   *
   * @throws StartException when one cannot be loaded; names it and what is missing
   */
  ServedModels(PromptConfig config, Cells cells, Metrics metrics, Readiness readiness) throws StartException {
    this.cells = cells;
    try {
      this.prompts =
          Prompts.load(
              config.models(),
              config.memoBytes(),
              model -> body -> tokenize(model, body),
              background,
              Clock.system(ZoneId.systemDefault()),
              metrics);
    } catch (IOException unusable) {
      close();
      throw new StartException(String.valueOf(unusable.getMessage()), unusable);
    }
    readiness.degradation(this::degraded);
    background.execute(this::watch);
  }

  Prompts prompts() {
    return prompts;
  }

  @Override
  public void close() {
    http.shutdownNow();
    background.shutdownNow();
  }

  /** Compares those models that have not agreed with an engine yet, until closed. */
  private void watch() {
    try {
      while (true) {
        Thread.sleep(CHECK_INTERVAL);
        check();
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void check() {
    for (PromptModel model : prompts.models()) {
      if (model.state().parity().verdict() != Parity.Verdict.SAME && healthy(model.name()) != null) {
        model.check();
      }
    }
  }

  private List<String> degraded() {
    return prompts.models().stream()
        .map(PromptModel::state)
        .filter(state -> state.mode() != state.configured())
        .map(
            state ->
                "model %s is routed in %s mode instead of %s: %s"
                    .formatted(
                        state.model(), state.mode().label(), state.configured().label(), state.parity().difference()))
        .toList();
  }

  private int[] tokenize(String model, String body) throws IOException {
    URI pod = healthy(model);
    if (pod == null) {
      throw new IOException("no healthy worker serves " + model);
    }
    HttpRequest request =
        HttpRequest.newBuilder(pod.resolve("/tokenize"))
            .header("Content-Type", "application/json")
            .timeout(TOKENIZE_TIMEOUT)
            .POST(BodyPublishers.ofString(body))
            .build();
    try {
      HttpResponse<byte[]> answer = http.send(request, BodyHandlers.ofByteArray());
      if (answer.statusCode() != 200) {
        throw new IOException(pod + "/tokenize answered " + answer.statusCode());
      }
      JsonNode tokens = JSON.readTree(answer.body());
      return EngineTokenizer.ids(tokens);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for " + pod, stopped);
    }
  }

  private @Nullable URI healthy(String model) {
    return cells.workers(model).stream()
        .filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY)
        .map(WorkerSummary::url)
        .findAny()
        .orElse(null);
  }
}
