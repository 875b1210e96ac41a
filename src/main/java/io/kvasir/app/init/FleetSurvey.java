package io.kvasir.app.init;

import io.kvasir.app.node.StartException;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.EngineSurvey;
import io.kvasir.engines.EngineTokens;
import io.kvasir.engines.SurveyedEngine;
import io.kvasir.http.HttpCallException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Asks the engines of a fleet what they are, many at the same time, and gives their pods names. */
final class FleetSurvey {
  /** Engines that are asked at the same time: one that is silent takes a time-out of each page. */
  private static final int MOST_AT_ONCE = 64;

  private final EngineSurvey survey;
  private final @Nullable String key;

  /**
   * A survey of a fleet.
   *
   * @param key the engines' API key, null when they need none
   */
  FleetSurvey(EngineSurvey survey, @Nullable String key) {
    this.survey = survey;
    this.key = key;
  }

  /**
   * Asks the engines at these URLs.
   *
   * @throws StartException when a URL is none, or an engine cannot be asked; the message has all that are wrong
   */
  List<FleetEngine> survey(List<String> urls) throws StartException, InterruptedException {
    Set<EngineAddress> engines = parsed(urls);
    List<FleetEngine> surveyed = new ArrayList<>();
    List<String> faults = new ArrayList<>();
    Map<EngineKind, Integer> numbers = new EnumMap<>(EngineKind.class);
    try (ExecutorService executor =
        Executors.newFixedThreadPool(Math.min(MOST_AT_ONCE, engines.size()), Thread.ofVirtual().factory())) {
      List<Future<FleetEngine>> answers =
          engines.stream().map(engine -> executor.submit(() -> survey(engine, isAlone(engine, engines)))).toList();
      for (Future<FleetEngine> answer : answers) {
        try {
          FleetEngine engine = answer.get();
          EngineKind kind = engine.description().identity().kind();
          surveyed.add(engine.named(prefix(kind) + "-" + (numbers.merge(kind, 1, Integer::sum) - 1)));
        } catch (ExecutionException failed) {
          if (!(failed.getCause() instanceof HttpCallException refused)) {
            throw new IllegalStateException(failed);
          }
          faults.add(String.valueOf(refused.getMessage()));
        }
      }
    }
    throwAny(faults);
    return surveyed;
  }

  private FleetEngine survey(EngineAddress address, boolean alone) throws HttpCallException, InterruptedException {
    SurveyedEngine engine = survey.survey(address, key, alone, null);
    return new FleetEngine(engine, survey.load(engine.description(), key), tokens(engine));
  }

  private EngineTokens tokens(SurveyedEngine engine) throws InterruptedException {
    try {
      return survey.tokens(engine.description(), key);
    } catch (HttpCallException cannot) {
      return EngineTokens.NONE;
    }
  }

  private static Set<EngineAddress> parsed(List<String> urls) throws StartException {
    List<String> faults = new ArrayList<>();
    Set<EngineAddress> engines = new LinkedHashSet<>();
    for (String url : urls) {
      try {
        EngineAddress engine = EngineUrl.parse(url);
        if (engines.stream().anyMatch(other -> other.url().equals(engine.url()))) {
          faults.add(engine.url() + " is there twice");
        }
        engines.add(engine);
      } catch (IllegalArgumentException wrong) {
        faults.add(String.valueOf(wrong.getMessage()));
      }
    }
    throwAny(faults);
    return engines;
  }

  private static boolean isAlone(EngineAddress engine, Set<EngineAddress> engines) {
    return EngineSurvey.isAlone(engine.url(), engines.stream().map(EngineAddress::url));
  }

  private static String prefix(EngineKind kind) {
    return switch (kind) {
      case VLLM -> "vllm";
      case SGLANG -> "sglang";
      case TENSORRT_LLM -> "tensorrt";
      case LLM_D_SIMULATOR -> "llmd-sim";
      case LLAMA_CPP -> "llamacpp";
      case DYNAMO -> "dynamo";
      case UNKNOWN -> "engine";
    };
  }

  private static void throwAny(List<String> faults) throws StartException {
    if (!faults.isEmpty()) {
      throw new StartException(
          faults.size() == 1
              ? faults.getFirst()
              : "engines cannot be asked:\n  " + String.join("\n  ", faults));
    }
  }
}
