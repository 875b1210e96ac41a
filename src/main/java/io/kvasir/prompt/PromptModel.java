package io.kvasir.prompt;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Rendition;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.PromptPreparation.Job;
import io.kvasir.prompt.chat.ChatBodies;
import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.MessagesRules;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.RedactedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The prompts of one served model, and the parity of its tokens with the engine's. Thread-safe. */
public final class PromptModel {
  private static final Logger log = LoggerFactory.getLogger(PromptModel.class);
  private static final JsonMapper JSON = new JsonMapper();

  /** The configured and current mode of a model, and the parity of its tokens: for operators and readiness. */
  public record ModelState(String model, PromptMode configured, PromptMode mode, Parity parity) {}

  private final ModelConfig config;
  private final @Nullable CachingEngineTokenizer engine;
  private final ObjectNode templateKwargs;
  private final LocalTokenizer local;
  private final KnownEngines engines = new KnownEngines();
  private final ParityTracker parityTracker;
  private final TemplateFailures templateFailures;
  private final PromptPreparation preparation;
  private final Faults faults = new Faults();
  private final @Nullable ParityChecker checker;

  PromptModel(
      ModelConfig config,
      @Nullable Tokenizer tokenizer,
      @Nullable ChatRenderer renderer,
      @Nullable CachingEngineTokenizer engine,
      PrefixMemo memo,
      PromptMetrics metrics) {
    this.config = config;
    this.engine = engine;
    templateKwargs = JSON.valueToTree(config.templateKwargs());
    templateFailures = new TemplateFailures(config.name(), metrics.clock());
    local = new LocalTokenizer(tokenizer, renderer);
    parityTracker = new ParityTracker(
        config.name(), config.mode(),
        renderer == null || renderer.isHarmony() ? PromptShape.TEXT : PromptShape.CHAT, metrics);
    preparation =
        new PromptPreparation(config, local, engine, templateKwargs, memo, parityTracker, templateFailures, metrics);
    checker = config.mode() != PromptMode.EXACT || tokenizer == null || engine == null
        ? null
        : new ParityChecker(config.name(), templateKwargs, local, engines, tokenizer, engine, parityTracker);
  }

  /** The same model without an engine, with another memo and other metrics. */
  PromptModel separate(PrefixMemo otherMemo, PromptMetrics metrics) {
    return new PromptModel(config, local.tokenizer(), local.renderer(), null, otherMemo, metrics);
  }

  /** The model's configured name. */
  public String name() {
    return config.name();
  }

  /** The model's current state. */
  public ModelState state() {
    return new ModelState(config.name(), config.mode(), parityTracker.mode(), parityTracker.parity());
  }

  /** As the configuration or its engine has it. */
  public ModelConfig config() {
    return config;
  }

  /** The prompt in a request's body, as this model's engines read it, where they are several most of them. */
  PromptSource source(PromptRequest request) {
    return source(request, engines.most());
  }

  private PromptSource source(PromptRequest request, EngineVersion engine) {
    return PromptSource.of(request.api(), request.body(), engine, (api, body) -> chat(api, body, engine));
  }

  private ObjectNode chat(Api api, ObjectNode body, EngineVersion engine) {
    ChatRenderer renderer = local.renderer();
    return renderer == null
        ? ChatRenderer.chat(api, body, engine, MessagesRules.UNKNOWN)
        : renderer.chat(api, body, engine);
  }

  /** The salt of a request, null for none: as this model's engines read it, where they are several most of them. */
  @Nullable String salt(PromptRequest request) {
    return PromptSalts.of(request.api(), request.body(), engines.most());
  }

  /** Whether all of this model's engines read a {@code cache_salt} in requests to an API. */
  boolean allReadSalt(Api api) {
    return engines.different().stream().allMatch(engine -> PromptSalts.isRead(api, engine));
  }

  /** As {@link Prompts#conversation} says. */
  ObjectNode conversation(Api api, ObjectNode body) {
    EngineVersion engine = engines.most();
    return api == Api.RESPONSES
        ? ChatBodies.ofTranslatedResponses(body)
        : ChatBodies.withImageUrls(chat(api, body, engine), engine);
  }

  /** Whether {@code /tokenize} of this model's engines makes the tokens of a prompt that they read to answer it. */
  public boolean isTokenizedAlike(PromptRequest request) {
    return !(source(request) instanceof PromptSource.Untokenized prompt)
        || local.isTokenizedAlike(prompt, engines.most());
  }

  /** The model's chat templates, null when it has none. */
  @Nullable ChatTemplates templates() {
    ChatRenderer renderer = local.renderer();
    return renderer == null ? null : renderer.templates();
  }

  /**
   * Prepares the prompt of a request.
   *
   * @param source the prompt in its body
   * @param permit closed before an engine is waited for
   * @param times where its parts' times are noted, null for nowhere
   */
  Prompt prepare(
      PromptRequest request,
      PromptSource source,
      BlockNamespace namespace,
      Permit permit,
      @Nullable PromptTimes times) {
    Job job = new Job(request.model(), engines.most(), namespace, permit, times);
    Prompt prompt = preparation.prepare(source, job);
    List<EngineVersion> different = engines.different();
    // A chat of token ids is a conversation for the makes that do not read them.
    boolean conversation = source instanceof PromptSource.Chat || request.api() == Api.CHAT;
    return different.size() > 1 && conversation && prompt.mode() != PromptMode.NONE
        ? prompt.with(renditions(different.subList(1, different.size()), request, job, prompt))
        : prompt;
  }

  /**
   * What engines of other versions make of a conversation, where that is not the same. What they refuse, or we cannot
   * prepare for them, has no chain.
   */
  private List<Rendition> renditions(
      List<EngineVersion> others, PromptRequest request, Job job, Prompt prompt) {
    List<Rendition> renditions = new ArrayList<>(others.size());
    for (EngineVersion other : others) {
      Prompt its = rendition(request, job.of(other));
      if (its.tokens() != prompt.tokens() || !its.chain().equals(prompt.chain())) {
        renditions.add(
            new Rendition(
                EngineGroup.of(other).name(), its.chain(), its.tokens() == 0 ? prompt.tokens() : its.tokens()));
      }
    }
    return renditions;
  }

  private Prompt rendition(PromptRequest request, Job job) {
    try {
      return preparation.prepare(source(request, job.engine()), job);
    } catch (CancellationException e) {
      throw e;
    } catch (TemplateException e) {
      return Prompt.unknown(PromptReason.TEMPLATE_REFUSED);
    } catch (RuntimeException e) {
      if (faults.isNew(e)) {
        log.warn("model {}: a prompt could not be prepared as by {}; it is promised nothing by such engines",
            config.name(), job.engine(), RedactedException.of(e));
      }
      return Prompt.unknown(PromptReason.FAILED);
    }
  }

  /**
   * The token ids as the model's engine makes them, of media prompts those before the first item; null if unknown. Not
   * to be changed.
   */
  int @Nullable [] engineTokenIds(PromptSource source, String requested, Runnable beforeWaiting) {
    if (source instanceof PromptSource.TokenIds given) {
      return given.ids();
    }
    if (!(source instanceof PromptSource.Untokenized prompt)) {
      return null;
    }
    boolean unrendered = prompt instanceof PromptSource.Chat chat && !local.renders(chat, engines.most());
    PromptMode mode = parityTracker.mode(source);
    return switch (mode == PromptMode.EXACT && unrendered ? PromptMode.ENGINE : mode) {
      case EXACT -> local.ids(prompt, prompt.firstItem(), engines.most());
      case ENGINE -> {
        if (engine == null || prompt.firstItem() >= 0 || !local.isTokenizedAlike(prompt, engines.most())) {
          yield null;
        }
        EngineVersion version = engines.most();
        String body = prompt.tokenizeRequest(requested, templateKwargs, version);
        int[] ids = engine.ids(body, version, beforeWaiting);
        parityTracker.engineAnswered(engine.failure());
        yield ids;
      }
      case TEXT, NONE -> null;
    };
  }

  /**
   * The token ids of a whole prompt by the model's own tokenizer and template; null while the engine's are not known to
   * be the same, and of a prompt with media items.
   *
   * @throws RuntimeException when the template refuses the conversation or fails
   */
  int @Nullable [] ownTokenIds(PromptSource source) {
    return source instanceof PromptSource.Untokenized prompt
            && prompt.firstItem() < 0
            && parityTracker.mode(source) == PromptMode.EXACT
        ? local.ids(prompt, -1, engines.most())
        : null;
  }

  /** The tokens of a text by itself; null when the model has no tokenizer. */
  int @Nullable [] textTokens(String text) {
    Tokenizer tokenizer = local.tokenizer();
    return tokenizer == null ? null : tokenizer.encode(text, false);
  }

  /**
   * Prepares conversations from now on as the model's engines do, by their versions as far as those are known.
   *
   * @return one of each way in which they do it; none when those are the same as before
   */
  public List<EngineVersion> learnEngineVersions() {
    List<EngineVersion> versions = engine == null ? List.of() : engine.versions();
    return !versions.isEmpty() && engines.learn(versions) ? engines.different() : List.of();
  }

  /** Whether comparisons are open: our tokens have not agreed with the engine's yet, or differ. */
  public boolean needsCheck() {
    return checker != null && !parityTracker.openProbes().isEmpty();
  }

  /** Whether so many comparisons in a row had no answer that it may take a while until one does. */
  public boolean isEngineSilent() {
    return parityTracker.isSilent();
  }

  /** Compares our tokens of the open {@link ProbePrompt}s with the engine's. Waits for the engine. */
  public void check() {
    if (checker != null) {
      checker.check();
    }
  }

  /** What operators have to know about this model's prompts; nothing when all is as configured. */
  public List<Problem> problems() {
    return Stream.of(parityTracker.problems(), templateFailures.problems(), untokenized())
        .flatMap(List::stream)
        .toList();
  }

  private List<Problem> untokenized() {
    EngineVersion most = engines.most();
    return config.mode() != PromptMode.ENGINE || most.tokenizesConversations()
        ? List.of()
        : List.of(Problem.warning(
            "model %s: conversations are routed by their text, because /tokenize of %s takes none"
                .formatted(config.name(), most),
            "give the model the engine's files (directory), and mode = exact"));
  }

  /** The model is not served any more, or another has its name; requests that have it may still be prepared. */
  void retire() {
    parityTracker.retire();
  }

  /** The comparisons of clients' prompts with the engine; null when there are none. */
  @Nullable ParityChecker checker() {
    return checker;
  }
}
