package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig.PromptConfig;
import io.kvasir.cell.PodSpec;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineTokens;
import io.kvasir.engines.ModelSearch;
import io.kvasir.engines.PromptBlocks;
import io.kvasir.engines.ServedModel;
import io.kvasir.engines.SurveyedEngine;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.Prompts;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How prompts are prepared for models that the configuration does not name and engines of learnt pods serve: as one of
 * those engines tells, by the model's files where they are on this machine, by the engine's {@code /tokenize} where
 * they are not. Checked by one thread; any thread may read {@link #problems}.
 */
final class LearntModels {
  private static final Logger LOG = LoggerFactory.getLogger(LearntModels.class);

  /** Checks after which an engine that did not answer is asked again. */
  private static final int RETRY_AFTER = 5;

  private final Prompts prompts;
  private final ModelConfig settings;
  private final Set<String> configured = new HashSet<>();
  private final PodSurvey survey;
  private final ModelSearch files;
  private final Supplier<List<PodSpec>> pods;
  private final Function<String, @Nullable URI> healthy;
  private final Map<String, Group> learnt = new HashMap<>();
  private final Map<String, Problem> problems = new ConcurrentHashMap<>();

  /** Those of base models whose engines have not answered since their pods are what they are. */
  private final Map<String, Problem> unanswered = new ConcurrentHashMap<>();

  private int checks;

  /**
   * Pods of one base model.
   *
   * @param models all names that they serve
   * @param blockSize into how many tokens their prompts are cut
   */
  private record Group(Set<String> models, int blockSize) {}

  /**
   * Knows no models yet.
   *
   * @param pods those that are known
   * @param healthy a healthy worker of a model, null when there is none
   */
  LearntModels(
      Prompts prompts,
      PromptConfig config,
      PodSurvey survey,
      ModelSearch files,
      Supplier<List<PodSpec>> pods,
      Function<String, @Nullable URI> healthy) {
    this.prompts = prompts;
    this.settings = config.learnt();
    for (ModelConfig model : config.models()) {
      configured.add(model.name());
      configured.addAll(model.adapters());
    }
    this.survey = survey;
    this.files = files;
    this.pods = pods;
    this.healthy = healthy;
  }

  /** What keeps prompts of these models from being compared with what engines cache. */
  List<Problem> problems() {
    Map<String, Problem> all = new TreeMap<>(problems);
    all.putAll(unanswered);
    return List.copyOf(all.values());
  }

  /** Learns what is new and forgets what is gone. Waits for engines. */
  void check() throws InterruptedException {
    checks++;
    Map<String, Group> groups = groups();
    unanswered.keySet().retainAll(groups.keySet());
    learnt.entrySet().removeIf(known -> {
      boolean left = !groups.containsKey(known.getKey());
      if (left) {
        known.getValue().models().stream().filter(model -> !configured.contains(model)).forEach(this::forget);
      }
      return left;
    });
    for (Map.Entry<String, Group> group : groups.entrySet()) {
      URI engine = healthy.apply(group.getKey());
      boolean due = !unanswered.containsKey(group.getKey()) || checks % RETRY_AFTER == 0;
      if (engine != null && due && !group.getValue().equals(learnt.get(group.getKey()))) {
        learn(group.getKey(), group.getValue(), engine);
      }
    }
  }

  private Map<String, Group> groups() {
    Map<String, List<PodSpec>> members = new LinkedHashMap<>();
    for (PodSpec pod : pods.get()) {
      String base = pod.models().iterator().next();
      if (pod.learnt() != null && !configured.contains(base)) {
        members.computeIfAbsent(base, _ -> new ArrayList<>()).add(pod);
      }
    }
    Map<String, Group> groups = new LinkedHashMap<>();
    members.forEach((base, these) -> {
      Set<String> names = new TreeSet<>();
      NavigableMap<Integer, Integer> sizes = new TreeMap<>();
      for (PodSpec pod : these) {
        names.addAll(pod.models());
        sizes.merge(pod.engine().blockSize(), 1, Integer::sum);
      }
      groups.put(base, new Group(names, promptBlock(sizes)));
    });
    return groups;
  }

  /**
   * The size of blocks that fit into those of all engines, where one of them has such; otherwise that which most have.
   *
   * @param sizes how many engines have blocks of each
   */
  private static int promptBlock(NavigableMap<Integer, Integer> sizes) {
    Integer shared = PromptBlocks.shared(sizes.navigableKeySet());
    return shared != null ? shared
        : sizes.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
  }

  private void learn(String base, Group group, URI engine) throws InterruptedException {
    try {
      SurveyedEngine found = survey.survey(EngineAddress.of(engine), null);
      for (ServedModel model : found.description().baseModels()) {
        if (!configured.contains(model.name())) {
          learn(found, model, group);
        }
      }
      learnt.put(base, group);
      unanswered.remove(base);
    } catch (IOException | RuntimeException failed) {
      // Files or answers that cannot be read are no reason to leave the other models alone.
      LOG.debug("the model {} could not be learnt from {}: {}", base, engine, failed.getMessage());
      unanswered.put(
          base,
          Problem.warning(
              "prompts for the model " + base
                  + (learnt.containsKey(base) ? " are prepared as before its pods changed: "
                      : " are compared by their text only: ")
                  + failed.getMessage(),
              "see that its engines answer, or name the model in kvasir.models"));
    }
  }

  private void learn(SurveyedEngine engine, ServedModel model, Group group)
      throws IOException, InterruptedException {
    EngineDescription description = engine.description();
    Optional<ModelSearch.Found> found =
        files.find(model, description.baseModels().size() == 1, description.identity().simulated());
    EngineTokens tokens = found.isPresent() ? EngineTokens.OTHER : survey.tokens(engine);
    String directory =
        found.or(() -> ModelSearch.bundled(description, tokens)).map(ModelSearch.Found::directory).orElse(null);
    if (directory == null && !tokens.serve()) {
      forget(model.name());
      problems.put(
          model.name(),
          Problem.warning(
              "prompts for the model " + model.name() + " are compared by their text only, which engines' events do"
                  + " not describe: its tokenizer is not on this machine, and its engine does not tokenise"
                  + " conversations (/tokenize)",
              "name the model in kvasir.models, with the directory of its Hugging Face files"));
      return;
    }
    Set<String> adapters = new TreeSet<>(group.models());
    description.baseModels().forEach(base -> adapters.remove(base.name()));
    adapters.removeAll(configured);
    problems.remove(model.name());
    prompts.learn(
        new ModelConfig(
            model.name(),
            model.equals(description.baseModels().getFirst()) ? adapters : Set.of(),
            group.blockSize(),
            directory == null ? PromptMode.ENGINE : PromptMode.EXACT,
            directory == null ? ModelConfig.FileSources.NONE : ModelConfig.FileSources.in(directory),
            settings.templateKwargs(),
            settings.paritySample(),
            settings.requestTemplates()));
  }

  private void forget(String model) {
    problems.remove(model);
    prompts.forget(model);
  }
}
