package io.kvasir.app.admin;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.NamedCertificate;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.BarePod;
import io.kvasir.discovery.LearntPod;
import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.engines.EngineSurvey;
import io.kvasir.engines.SurveyedEngine;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.ModelConfig;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What of a configuration is examined. */
final class ExaminedConfig {
  private static final Logger LOG = LoggerFactory.getLogger(ExaminedConfig.class);
  private static final Duration SURVEY_TIMEOUT = Duration.ofSeconds(10);
  private static final int MOST_AT_ONCE = 64;

  private ExaminedConfig() {}

  /**
   * The engines of its pods. Those of pods that are described by little more than a URL are asked what the router would
   * ask them.
   */
  static List<EngineTarget> engines(KvasirConfig config, HttpCalls calls) throws InterruptedException {
    List<EngineTarget> engines = new ArrayList<>();
    for (PodSpec pod : config.fleet().pods()) {
      engines.add(target(pod, config));
    }
    EngineSurvey survey = new EngineSurvey(calls, SURVEY_TIMEOUT);
    List<Callable<EngineTarget>> bare = new ArrayList<>();
    for (BarePod pod : config.fleet().discovery().bare()) {
      bare.add(() -> target(pod, config, survey));
    }
    // One that is silent takes seconds.
    try (ExecutorService threads = Executors.newFixedThreadPool(MOST_AT_ONCE, Thread.ofVirtual().factory())) {
      for (Future<EngineTarget> target : threads.invokeAll(bare)) {
        engines.add(target.get());
      }
    } catch (ExecutionException failed) {
      throw new IllegalStateException("an engine could not be asked what it is", failed.getCause());
    }
    return engines;
  }

  /**
   * Its models, and those that a router would learn from engines that it asks: it finds their files, or has the engines
   * tokenise, and tells at {@code /ready} where it can do neither.
   */
  static List<ModelConfig> models(KvasirConfig config, List<EngineTarget> engines) {
    List<ModelConfig> models = new ArrayList<>(config.prompts().models());
    Set<String> named = new HashSet<>();
    models.forEach(model -> {
      named.add(model.name());
      named.addAll(model.adapters());
    });
    Set<URI> asked = config.fleet().discovery().bare().stream().map(BarePod::url).collect(Collectors.toSet());
    for (EngineTarget engine : engines) {
      if (asked.contains(engine.url())) {
        engine.models().stream().filter(named::add).map(ModelConfig::engine).forEach(models::add);
      }
    }
    return models;
  }

  private static EngineTarget target(PodSpec pod, KvasirConfig config) {
    return new EngineTarget(
        pod.name(), pod.url(), config.fleet().podKeys().of(pod.url()), pod.models(), pod.engine().blockSize(),
        pod.engine().ranks(), pod.events(), pod.worker(0, 0));
  }

  private static EngineTarget target(BarePod pod, KvasirConfig config, EngineSurvey survey)
      throws InterruptedException {
    String key = config.fleet().podKeys().of(pod.url());
    String name = pod.described().hasPath("name") ? pod.described().getString("name") : pod.url().getAuthority();
    try {
      SurveyedEngine engine =
          survey.survey(config.fleet().surveyAddress(pod.address()), key, isAlone(pod, config), null);
      PodSpec completed =
          pod.completed(
              LearntPod.of(engine), config.fleet().podsReader(),
              fault -> LOG.warn("the pod at {} would have no workers: {}", pod.url(), fault));
      if (completed != null) {
        return target(completed, config);
      }
    } catch (HttpCallException silent) {
      LOG.debug("{} is examined by its URL: {}", pod.url(), silent.getMessage());
    }
    // What is wrong with an engine that does not answer the examination finds, too.
    return new EngineTarget(name, pod.url(), key, Set.of(), null, 1, null);
  }

  /** Whether no other engine of the configuration is on its host. */
  private static boolean isAlone(BarePod pod, KvasirConfig config) {
    Stream<URI> described = config.fleet().pods().stream().map(PodSpec::url);
    Stream<URI> bare = config.fleet().discovery().bare().stream().map(BarePod::url);
    return EngineSurvey.isAlone(pod.url(), Stream.concat(described, bare));
  }

  /** The certificates it names. */
  static List<CertificateExam> certificates(KvasirConfig config) {
    return NamedCertificate.of(config).stream()
        .map(named -> CertificateExam.of(named.setting(), named.file(), named.host()))
        .toList();
  }
}
