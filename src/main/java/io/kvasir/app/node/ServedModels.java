package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig.PromptConfig;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.Pods;
import io.kvasir.cell.client.NodeCells;
import io.kvasir.engines.ModelSearch;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptModel;
import io.kvasir.prompt.Prompts;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models this node prepares prompts for: loaded at start, compared with their engines as soon as one
 * answers and again while they differ, and reported as degraded when they do. Owns its client and threads.
 */
final class ServedModels implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ServedModels.class);
  private static final Duration ENGINE_TIMEOUT = Duration.ofSeconds(2);

  /** Between two looks for engines that are new: until one is asked it is not known how it prepares prompts. */
  private static final Duration LOOK_INTERVAL = Duration.ofMillis(100);

  private static final int LOOKS_PER_CHECK = 20;

  /**
   * Of so many checks one, every half minute, asks engines for their versions again, as they may have been replaced,
   * and those that have not tokenised any probe, as those do that have no such route.
   */
  private static final int SELDOM = 15;

  private final Prompts prompts;
  private final ExecutorService background = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpCalls calls;
  private final LearntModels learnt;
  private final Pods pods;
  private final EngineVersions engines;
  private final LearntEngines learntEngines;
  private int checks;
  private int looks = 1;

  /**
   * Loads every model of the configuration.
   *
   * @param cells are told how workers' engines prepare prompts
   * @param tls for https pods, null for what the JVM trusts
   * @param keys the API keys of pods
   * @param survey of engines whose models the configuration does not name
   * @throws StartException when one cannot be loaded; names it and what is missing
   */
  ServedModels(
      PromptConfig config,
      NodeCells cells,
      @Nullable SSLContext tls,
      PodKeys keys,
      PodSurvey survey,
      Metrics metrics,
      Readiness readiness)
      throws StartException {
    this.pods = cells.pods();
    this.learntEngines = cells.learntEngines();
    this.calls = new HttpCalls(null, tls);
    this.engines = new EngineVersions(cells.cells(), cells.pods(), calls, keys, background, ENGINE_TIMEOUT);
    try {
      this.prompts =
          Prompts.load(
              config.models(),
              config.settings(),
              model -> new HttpTokenizer(calls, keys, engines, model, ENGINE_TIMEOUT),
              background,
              Clock.system(ZoneId.systemDefault()),
              NanoClock.SYSTEM,
              metrics);
      this.learnt =
          new LearntModels(
              prompts, config, survey, new ModelSearch(List.of(), System.getenv()), pods::all, engines::pod);
    } catch (IOException unusable) {
      close();
      throw new StartException(String.valueOf(unusable.getMessage()), unusable);
    }
    readiness.degradation(this::problems);
    background.execute(this::watch);
  }

  Prompts prompts() {
    return prompts;
  }

  @Override
  public void close() {
    calls.close();
    background.shutdownNow();
  }

  /** Compares our tokens with the engines' where they have not agreed yet, or differ, until closed. */
  private void watch() {
    try {
      while (true) {
        Thread.sleep(LOOK_INTERVAL);
        try {
          boolean due = looks++ % LOOKS_PER_CHECK == 0;
          learnVersions(due ? EngineVersions.Round.SILENT : EngineVersions.Round.NEW);
          if (due) {
            check();
          }
        } catch (RuntimeException failed) {
          LOG.warn("the tokens of a model could not be compared with its engines'", failed);
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void check() throws InterruptedException {
    learnt.check();
    boolean seldom = checks++ % SELDOM == 0;
    if (seldom) {
      learnVersions(EngineVersions.Round.ALL);
    }
    for (PromptModel model : prompts.models()) {
      learnVersions(model);
      boolean served = engines.pod(model.name()) != null;
      if (served && model.needsCheck() && (seldom || !model.isEngineSilent())) {
        model.check();
      }
    }
  }

  private void learnVersions(EngineVersions.Round round) throws InterruptedException {
    if (engines.refresh(round)) {
      learntEngines.replace(engines.learnt());
      prompts.models().forEach(ServedModels::learnVersions);
    }
  }

  private static void learnVersions(PromptModel model) {
    List<EngineVersion> different = model.learnEngineVersions();
    if (!different.isEmpty()) {
      LOG.info("model {}: conversations are prepared as by {}", model.name(), different);
    }
  }

  private List<Problem> problems() {
    List<Problem> problems = new ArrayList<>(learnt.problems());
    prompts.models().forEach(model -> problems.addAll(model.problems()));
    List<ModelConfig> models = prompts.models().stream().map(PromptModel::config).toList();
    problems.addAll(BlockSizeMismatches.problems(pods.all(), models));
    return problems;
  }
}
