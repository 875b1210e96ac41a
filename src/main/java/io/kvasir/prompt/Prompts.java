package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.RequestTemplate;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The prompts of all models: prepares the prompt of each request. Thread-safe; blocks only where an engine tokenises.
 */
public final class Prompts {
  private static final Logger log = LoggerFactory.getLogger(Prompts.class);

  /** The most sampled comparisons at a time; further requests are not compared. */
  private static final int MAX_COMPARISONS = 2;
  private static final int BYTES_PER_TOKEN = 4;

  private volatile ModelTable models = new ModelTable(Map.of(), Set.of());
  private final PromptModel other;
  private final PromptMetrics metrics;
  private final Executor background;
  private final PreparationLimiter limiter;
  private final Semaphore comparisons = new Semaphore(MAX_COMPARISONS);
  private final ModelLoader loader;
  private final Faults faults = new Faults();

  /** Loads a model as all of these prompts are loaded. */
  @FunctionalInterface
  private interface ModelLoader {
    PromptModel load(ModelConfig config) throws IOException;
  }

  /**
   * The models by the names that requests may call them by.
   *
   * @param adapters names of LoRA adapters
   */
  private record ModelTable(Map<String, PromptModel> byName, Set<String> adapters) {
    PromptModel of(String name, PromptModel otherwise) {
      return byName.getOrDefault(name, otherwise);
    }
  }

  private Prompts(
      PromptMetrics metrics, PromptModel other, PreparationLimiter limiter, Executor background, ModelLoader loader) {
    this.metrics = metrics;
    this.limiter = limiter;
    this.other = other;
    this.background = background;
    this.loader = loader;
  }

  /**
   * Loads the models' files.
   *
   * @param configs the models
   * @param settings of all models together
   * @param engines an engine's {@code /tokenize} by model name, null for none
   * @param background executor for comparisons with engines, on threads that may block
   * @param clock the time, in the engines' zone: some templates print it
   * @param nanos clock for the times of stages and for the pause after an engine's failure
   * @throws IOException when a model cannot be loaded as configured, naming it and what is missing
   */
  public static Prompts load(
      Collection<ModelConfig> configs,
      PromptSettings settings,
      Function<String, @Nullable EngineTokenizer> engines,
      Executor background,
      Clock clock,
      NanoClock nanos,
      Metrics metrics)
      throws IOException {
    PromptMetrics promptMetrics = new PromptMetrics(metrics, nanos);
    PrefixMemo memo = new PrefixMemo(settings.memoBytes());
    promptMetrics.memo(memo);
    Prompts prompts = new Prompts(
        promptMetrics,
        new PromptModel(ModelConfig.text("other"), null, null, null, memo, promptMetrics),
        new PreparationLimiter(settings, nanos, new PreparationMetrics(metrics.registry())),
        background,
        config -> {
          EngineTokenizer engine = engines.apply(config.name());
          CachingEngineTokenizer tokens = engine == null ? null : new CachingEngineTokenizer(engine, nanos);
          return load(config, tokens, clock, nanos, memo, promptMetrics);
        });
    for (ModelConfig config : configs) {
      prompts.add(prompts.loader.load(config));
    }
    return prompts;
  }

  /**
   * Prompts of some of these models, with the same tokenizers and templates, but with a memo, a limiter and metrics of
   * their own, and without engines.
   *
   * @param names of models that these prompts have
   */
  public Prompts separate(Collection<String> names, PromptSettings settings, NanoClock nanos, Metrics separateMetrics) {
    PromptMetrics promptMetrics = new PromptMetrics(separateMetrics, nanos);
    PrefixMemo memo = new PrefixMemo(settings.memoBytes());
    promptMetrics.memo(memo);
    Prompts separate = new Prompts(
        promptMetrics,
        other.separate(memo, promptMetrics),
        new PreparationLimiter(settings, nanos, new PreparationMetrics(separateMetrics.registry())),
        background,
        loader);
    ModelTable now = models;
    Map<String, PromptModel> separated = new HashMap<>();
    for (String name : names) {
      separated.put(name, now.of(name, other).separate(memo, promptMetrics));
    }
    separate.models = new ModelTable(Map.copyOf(separated), Set.of());
    return separate;
  }

  private static PromptModel load(
      ModelConfig config, @Nullable CachingEngineTokenizer engine, Clock clock, NanoClock nanos, PrefixMemo memo,
      PromptMetrics metrics)
      throws IOException {
    if (config.mode() == PromptMode.ENGINE && engine == null) {
      throw new IOException("model " + config.name() + ": mode engine needs an engine that answers /tokenize");
    }
    try {
      ModelFiles files = ModelFiles.read(config);
      if (config.mode() == PromptMode.EXACT && files.tokenizer() == null) {
        throw new IOException("no tokenizer.json; give its directory or file, or set mode to engine or text");
      }
      ChatTemplates templates = files.templates();
      ChatRenderer rendering =
          templates == null && !files.harmony() ? null
              : new ChatRenderer(
                  templates, files.harmony(), config.templateKwargs(), () -> LocalDateTime.now(clock), nanos);
      return new PromptModel(config, files.tokenizer(), rendering, engine, memo, metrics);
    } catch (IOException e) {
      throw new IOException("model " + config.name() + ": " + e.getMessage(), e);
    }
  }

  private void add(PromptModel model) throws IOException {
    ModelConfig config = model.config();
    Map<String, PromptModel> byName = new HashMap<>(models.byName());
    Set<String> adapters = new HashSet<>(models.adapters());
    List<String> names = new ArrayList<>(config.adapters());
    names.add(config.name());
    for (String name : names) {
      if (byName.put(name, model) != null) {
        throw new IOException("two models or adapters are named " + name);
      }
    }
    adapters.addAll(config.adapters());
    models = new ModelTable(Map.copyOf(byName), Set.copyOf(adapters));
  }

  /**
   * Loads a model that was learnt while requests are prepared; it takes the place of one of its name. Names that
   * other models have are left to them.
   *
   * @throws IOException when it cannot be loaded; nothing has changed then
   */
  public synchronized void learn(ModelConfig config) throws IOException {
    PromptModel model = loader.load(config);
    ModelTable before = models;
    Map<String, PromptModel> byName = new HashMap<>(before.byName());
    Set<String> adapters = new HashSet<>(before.adapters());
    byName.values().removeIf(known -> known.name().equals(config.name()));
    adapters.removeIf(adapter -> !byName.containsKey(adapter));
    byName.putIfAbsent(config.name(), model);
    for (String adapter : config.adapters()) {
      if (byName.putIfAbsent(adapter, model) == null) {
        adapters.add(adapter);
      }
    }
    models = new ModelTable(Map.copyOf(byName), Set.copyOf(adapters));
    retire(before, config.name());
    log.info(
        "model {}: prompts are prepared by mode {}, in blocks of {} tokens, as its engines tell", config.name(),
        config.mode(), config.blockSize());
  }

  /** Forgets a model that was learnt: its prompts are compared by their text from now on. */
  public synchronized void forget(String name) {
    ModelTable before = models;
    Map<String, PromptModel> byName = new HashMap<>(before.byName());
    byName.values().removeIf(known -> known.name().equals(name));
    Set<String> adapters = new HashSet<>(before.adapters());
    adapters.retainAll(byName.keySet());
    models = new ModelTable(Map.copyOf(byName), Set.copyOf(adapters));
    if (retire(before, name)) {
      metrics.forget(name);
    }
  }

  private static boolean retire(ModelTable before, String name) {
    List<PromptModel> retired =
        before.byName().values().stream().filter(known -> known.name().equals(name)).distinct().toList();
    retired.forEach(PromptModel::retire);
    return !retired.isEmpty();
  }

  /** The limiter of large requests: each is read and prepared with a permit of it. */
  public PreparationLimiter limiter() {
    return limiter;
  }

  /** The models, in no order. */
  public Collection<PromptModel> models() {
    return models.byName().values().stream().distinct().toList();
  }

  /**
   * The prompt of a request. A body that cannot be read, or a chat template that the request must not have, gives an
   * empty chain and the reason.
   *
   * @param permit the request's, closed before an engine is waited for
   * @throws CancellationException when the client has left, of a large request
   */
  public Prompt prepare(PromptRequest request, Permit permit) {
    return prepare(request, permit, null);
  }

  /**
   * The same.
   *
   * @param times where its parts' times are noted, null for nowhere
   */
  public Prompt prepare(PromptRequest request, Permit permit, @Nullable PromptTimes times) {
    String requested = request.model();
    ModelTable now = models;
    PromptModel model = now.of(requested, other);
    Prompt prompt;
    try {
      checkTemplate(model, request);
      PromptSource source = model.source(request);
      BlockNamespace namespace = namespace(now, model, request);
      prompt = model.prepare(request, source, namespace, permit, times);
      if (model == other && prompt.reason() == PromptReason.AS_CONFIGURED) {
        prompt = new Prompt(prompt.chain(), prompt.tokens(), prompt.mode(), PromptReason.UNKNOWN_MODEL, null);
      }
      sample(model, source, request, prompt);
    } catch (CancellationException e) {
      throw e;
    } catch (TemplateException.RefusedTemplate e) {
      prompt = Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException.Request e) {
      prompt = Prompt.refused(PromptReason.TEMPLATE_REFUSED, e.reason());
    } catch (RuntimeException e) {
      // What clients send wrongly has reasons of its own: this is a fault of ours.
      if (faults.isNew(e)) {
        log.warn(
            "model {}: a prompt could not be prepared (further ones are only counted, as {} in kvasir_prompts_total)",
            model.name(), PromptReason.FAILED.label(), RedactedException.of(e));
      }
      prompt = Prompt.unknown(PromptReason.FAILED);
    }
    metrics.prepared(model.name(), prompt);
    return prompt;
  }

  /**
   * The token ids of a request's prompt as an engine of that model makes them, null when they are not known; of a
   * prompt with media items those before the first one. May wait for an engine.
   *
   * @param beforeWaiting runs before an engine is waited for, if it is
   * @throws RuntimeException when the model's template refuses the conversation, the body is no conversation, or it has
   *     a chat template that is not allowed
   */
  public int @Nullable [] tokens(PromptRequest request, Runnable beforeWaiting) {
    PromptModel model = models.of(request.model(), other);
    checkTemplate(model, request);
    return model.engineTokenIds(model.source(request), request.model(), beforeWaiting);
  }

  /**
   * The conversation of a request to {@code /v1/messages} or {@code /v1/responses} as members of a chat completion: of
   * the one what the model's engines make of it themselves, of the other what they can be sent where they take none.
   *
   * @param body not changed
   * @throws IllegalArgumentException in words for the client, when every engine would refuse it
   */
  public ObjectNode conversation(Api api, String model, ObjectNode body) {
    try {
      return models.of(model, other).conversation(api, body);
    } catch (TemplateException.Request refused) {
      throw new IllegalArgumentException(refused.reason(), refused);
    }
  }

  /** Whether every engine of a model reads a {@code cache_salt} in requests to an API. */
  public boolean allReadSalt(Api api, String model) {
    return models.of(model, other).allReadSalt(api);
  }

  /**
   * The token ids of a request's whole prompt by the model's own tokenizer and template; null where those are not in
   * use, fail, or do not have all of the prompt, as with media items. Never waits for an engine.
   *
   * @param permit the request's
   * @throws CancellationException when the client has left, of a large request
   */
  public int @Nullable [] ownTokens(PromptRequest request, Permit permit) {
    PromptModel model = models.of(request.model(), other);
    permit.checkpoint();
    try {
      checkTemplate(model, request);
      return model.ownTokenIds(model.source(request));
    } catch (RuntimeException e) {
      log.debug("a prompt for {} could not be read: {}", model.name(), e.getClass().getName());
      return null;
    }
  }

  /**
   * A text's tokens by the model's own tokenizer, without special ones around it; null when it is not known.
   *
   * @param permit of the request that has the text
   * @throws CancellationException when the client has left, of a large request
   */
  public int @Nullable [] textTokens(String model, String text, Permit permit) {
    permit.checkpoint();
    return models.of(model, other).textTokens(text);
  }

  private static void checkTemplate(PromptModel model, PromptRequest request) {
    // A completion's prompt is text or token ids: no template is rendered for it, here or at an engine.
    if (request.api() != Api.COMPLETIONS && !request.templateGranted() && !model.config().requestTemplates()) {
      RequestTemplate.requireNamed(request.body(), request.model(), model.templates());
    }
  }

  private BlockNamespace namespace(ModelTable now, PromptModel model, PromptRequest request) {
    String requested = request.model();
    String name = model == other ? requested : model.name();
    return BlockNamespace.of(
        name, model.config().blockSize(), now.adapters().contains(requested) ? requested : null,
        model.salt(request));
  }

  private void sample(PromptModel model, PromptSource source, PromptRequest request, Prompt prompt) {
    double share = model.config().paritySample();
    ParityChecker checker = model.checker();
    Supplier<String> sender = request.sender();
    if (share == 0 || checker == null || sender == null || ThreadLocalRandom.current().nextDouble() >= share
        || !ParityChecker.isComparable(source, prompt) || !comparisons.tryAcquire()) {
      return;
    }
    try {
      background.execute(() -> {
        // Comparisons are left out while large requests wait.
        try (Permit permit = limiter.tryAcquire((long) prompt.tokens() * BYTES_PER_TOKEN)) {
          if (permit != null) {
            checker.witness(source, request.model(), sender.get(), prompt, permit);
          }
        } finally {
          comparisons.release();
        }
      });
    } catch (RejectedExecutionException e) {
      comparisons.release();
    }
  }
}
