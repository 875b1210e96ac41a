package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.index.Chain;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.RequestTemplate;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
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

  private final Map<String, PromptModel> models = new HashMap<>();
  private final Map<String, String> adapters = new HashMap<>();
  private final PromptModel other;
  private final PromptMetrics metrics;
  private final Executor background;
  private final Semaphore comparisons = new Semaphore(MAX_COMPARISONS);

  private Prompts(PromptMetrics metrics, PromptModel other, Executor background) {
    this.metrics = metrics;
    this.other = other;
    this.background = background;
  }

  /**
   * Loads the models' files.
   *
   * @param configs the models
   * @param memoBytes limit of the cache of prompt prefixes, for all models together, in bytes
   * @param engines an engine's {@code /tokenize} by model name, null for none
   * @param background executor for comparisons with engines, on threads that may block
   * @param clock the time, in the engines' zone: some templates print it
   * @param nanos clock for the times of stages and for the pause after an engine's failure
   * @throws IOException when a model cannot be loaded as configured, naming it and what is missing
   */
  public static Prompts load(
      Collection<ModelConfig> configs,
      long memoBytes,
      Function<String, @Nullable EngineTokenizer> engines,
      Executor background,
      Clock clock,
      NanoClock nanos,
      Metrics metrics)
      throws IOException {
    PromptMetrics promptMetrics = new PromptMetrics(metrics, nanos);
    PrefixMemo memo = new PrefixMemo(memoBytes);
    promptMetrics.memo(memo);
    Prompts prompts = new Prompts(
        promptMetrics, new PromptModel(ModelConfig.text("other"), null, null, null, memo, promptMetrics), background);
    for (ModelConfig config : configs) {
      EngineTokenizer engine = engines.apply(config.name());
      CachingEngineTokenizer tokens = engine == null ? null : new CachingEngineTokenizer(engine, nanos);
      prompts.add(load(config, tokens, clock, memo, promptMetrics));
    }
    return prompts;
  }

  private static PromptModel load(
      ModelConfig config, @Nullable CachingEngineTokenizer engine, Clock clock, PrefixMemo memo, PromptMetrics metrics)
      throws IOException {
    if (config.mode() == PromptMode.ENGINE && engine == null) {
      throw new IOException("model " + config.name() + ": mode engine needs an engine that answers /tokenize");
    }
    try {
      ModelFiles files = ModelFiles.read(config);
      byte[] json = files.tokenizer();
      if (config.mode() == PromptMode.EXACT && json == null) {
        throw new IOException("no tokenizer.json; give its directory or file, or set mode to engine or text");
      }
      Tokenizer tokenizer = json == null ? null : Tokenizer.of(json);
      ChatTemplates templates = files.templates();
      ChatRenderer rendering =
          templates == null ? null
              : new ChatRenderer(templates, config.templateKwargs(), () -> LocalDateTime.now(clock));
      return new PromptModel(config, tokenizer, rendering, engine, memo, metrics);
    } catch (IOException e) {
      throw new IOException("model " + config.name() + ": " + e.getMessage(), e);
    }
  }

  private void add(PromptModel model) throws IOException {
    ModelConfig config = model.config();
    List<String> names = new ArrayList<>(config.adapters());
    names.add(config.name());
    for (String name : names) {
      if (models.put(name, model) != null) {
        throw new IOException("two models or adapters are named " + name);
      }
    }
    config.adapters().forEach(adapter -> adapters.put(adapter, adapter));
  }

  /** The models, in no order. */
  public Collection<PromptModel> models() {
    return models.values().stream().distinct().toList();
  }

  /**
   * The prompt of a request to model {@code requested}. A body that cannot be read gives an empty chain and the reason;
   * this method does not throw.
   */
  public Prompt prepare(Api api, String requested, JsonNode body) {
    return prepare(api, requested, body, false);
  }

  /**
   * The prompt as {@link #prepare(Api, String, JsonNode)} makes it, of a request whose caller may be allowed more.
   *
   * @param templateGranted whether the request may have a chat template of its own even if its model does not allow it
   */
  public Prompt prepare(Api api, String requested, JsonNode body, boolean templateGranted) {
    PromptModel model = models.getOrDefault(requested, other);
    Prompt prompt;
    try {
      checkTemplate(model, api, requested, body, templateGranted);
      PromptSource source = PromptSource.of(api, body);
      BlockNamespace namespace = namespace(model, requested, body);
      prompt = model.prepare(source, requested, namespace);
      if (model == other && prompt.reason() == PromptReason.AS_CONFIGURED) {
        prompt = new Prompt(prompt.chain(), prompt.tokens(), prompt.mode(), PromptReason.UNKNOWN_MODEL, null);
      }
      sample(model, source, requested, prompt);
    } catch (TemplateException.OfRequest e) {
      prompt = Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason());
    } catch (RuntimeException e) {
      log.debug("a prompt for {} could not be read", requested, e);
      prompt = new Prompt(Chain.EMPTY, 0, PromptMode.NONE, PromptReason.UNREADABLE, e.toString());
    }
    metrics.prepared(model.name(), prompt);
    return prompt;
  }

  /**
   * The token ids of a request's prompt as an engine of that model makes them, null when they are not known; of a
   * prompt with media items those before the first one. May wait for an engine.
   *
   * @param templateGranted whether the request may have a chat template of its own even if its model does not allow it
   * @throws RuntimeException when the model's template refuses the conversation, the body is no conversation, or it has
   *     a chat template that is not allowed
   */
  public int @Nullable [] tokens(Api api, String requested, JsonNode body, boolean templateGranted) {
    PromptModel model = models.getOrDefault(requested, other);
    checkTemplate(model, api, requested, body, templateGranted);
    return model.engineTokenIds(PromptSource.of(api, body), requested);
  }

  private static void checkTemplate(
      PromptModel model, Api api, String requested, JsonNode body, boolean templateGranted) {
    // A completion's prompt is text or token ids: no template is rendered for it, here or at an engine.
    if (api != Api.COMPLETIONS && !templateGranted && !model.config().requestTemplates()) {
      RequestTemplate.requireNamed(body, requested, model.templates());
    }
  }

  private BlockNamespace namespace(PromptModel model, String requested, JsonNode body) {
    String salt = body.path("cache_salt").asText(null);
    String name = model == other ? requested : model.name();
    return BlockNamespace.of(name, model.config().blockSize(), adapters.get(requested), salt);
  }

  private void sample(PromptModel model, PromptSource source, String requested, Prompt prompt) {
    double share = model.config().paritySample();
    if (share == 0 || ThreadLocalRandom.current().nextDouble() >= share || !isComparable(source)
        || !comparisons.tryAcquire()) {
      return;
    }
    try {
      background.execute(() -> {
        try {
          model.compare(source, requested, prompt);
        } finally {
          comparisons.release();
        }
      });
    } catch (RejectedExecutionException e) {
      comparisons.release();
    }
  }

  private static boolean isComparable(PromptSource source) {
    return source instanceof PromptSource.Untokenized prompt && prompt.firstItem() < 0;
  }
}
