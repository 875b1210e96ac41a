package io.kvasir.prompt;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.prompt.CachingEngineTokenizer.Answer;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.EngineVersion;
import io.kvasir.prompt.template.MessagesRules;
import io.kvasir.prompt.template.Preparation;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.RedactedException;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The prompt preparation of one served model, and the parity of its tokens with the engine's.
 *
 * <p>When a mode fails the next one is used: where our tokens differ from the engine's, the engine tokenises; without
 * its answer, the text is hashed in chunks. Thread-safe.
 */
public final class PromptModel {
  private static final Logger log = LoggerFactory.getLogger(PromptModel.class);
  private static final JsonMapper JSON = new JsonMapper();

  /** The configured and current mode of a model, and the parity of its tokens: for operators and readiness. */
  public record ModelState(String model, PromptMode configured, PromptMode mode, Parity parity) {}

  private final ModelConfig config;
  private final @Nullable Tokenizer tokenizer;
  private final @Nullable ChatRenderer renderer;
  private final @Nullable CachingEngineTokenizer engine;
  private final PrefixMemo memo;
  private final PromptMetrics.StageTimer templateTime;
  private final PromptMetrics.StageTimer tokensTime;
  private final PromptMetrics.StageTimer engineTime;
  private final PromptMetrics.StageTimer textTime;
  private final CounterDataPoint remembered;
  private final CounterDataPoint made;
  private final ObjectNode templateKwargs;
  private final LocalTokenizer local;
  private final KnownEngines engines = new KnownEngines();
  private final ParityTracker parityTracker;
  private final TemplateFailures templateFailures;
  private final @Nullable ParityChecker checker;

  /**
   * A request on its way through the modes.
   *
   * @param requested the model's name in it
   * @param engine for which it is prepared
   * @param permit closed before an engine is waited for
   * @param times where its parts' times are noted, null for nowhere
   */
  private record PreparationJob(
      String requested, EngineVersion engine, BlockNamespace namespace, Permit permit, @Nullable PromptTimes times) {
    PreparationJob of(EngineVersion other) {
      return new PreparationJob(requested, other, namespace, permit, times);
    }

    void noteTemplate(long nanos) {
      if (times != null) {
        times.addTemplate(nanos);
      }
    }

    void noteTokens(long nanos) {
      if (times != null) {
        times.addTokens(nanos);
      }
    }
  }

  PromptModel(
      ModelConfig config,
      @Nullable Tokenizer tokenizer,
      @Nullable ChatRenderer renderer,
      @Nullable CachingEngineTokenizer engine,
      PrefixMemo memo,
      PromptMetrics metrics) {
    this.config = config;
    this.tokenizer = tokenizer;
    this.renderer = renderer;
    this.engine = engine;
    this.memo = memo;
    templateTime = metrics.stage("template");
    tokensTime = metrics.stage("tokens");
    engineTime = metrics.stage("engine");
    textTime = metrics.stage("text");
    remembered = metrics.tokens(config.name(), "remembered");
    made = metrics.tokens(config.name(), "made");
    templateKwargs = JSON.valueToTree(config.templateKwargs());
    templateFailures = new TemplateFailures(config.name(), metrics.clock());
    local = new LocalTokenizer(tokenizer, renderer);
    parityTracker = new ParityTracker(
        config.name(), config.mode(),
        renderer == null || renderer.isHarmony() ? PromptShape.TEXT : PromptShape.CHAT, metrics);
    checker = config.mode() != PromptMode.EXACT || tokenizer == null || engine == null
        ? null
        : new ParityChecker(config.name(), templateKwargs, local, engines, tokenizer, engine, parityTracker);
  }

  /** The same model without an engine, with another memo and other metrics. */
  PromptModel separate(PrefixMemo otherMemo, PromptMetrics metrics) {
    return new PromptModel(config, tokenizer, renderer, null, otherMemo, metrics);
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
    return PromptSource.of(request.api(), request.body(),
        renderer == null
            ? (api, body) -> ChatRenderer.chat(api, body, engine, MessagesRules.UNKNOWN)
            : (api, body) -> renderer.chat(api, body, engine));
  }

  /** Whether {@code /tokenize} of this model's engines makes the tokens of a prompt that they read to answer it. */
  public boolean isTokenizedAlike(PromptRequest request) {
    return !(source(request) instanceof PromptSource.Untokenized prompt)
        || local.isTokenizedAlike(prompt, engines.most());
  }

  /** The model's chat templates, null when it has none. */
  @Nullable ChatTemplates templates() {
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
    PreparationJob job = new PreparationJob(request.model(), engines.most(), namespace, permit, times);
    Prompt prompt = prepare(source, job);
    List<EngineVersion> different = engines.different();
    return different.size() > 1 && source instanceof PromptSource.Chat && prompt.mode() != PromptMode.NONE
        ? prompt.with(renditions(different.subList(1, different.size()), request, job, prompt))
        : prompt;
  }

  /**
   * What engines of other versions make of a conversation, where that is not the same. What they refuse, or we cannot
   * prepare for them, has no chain.
   */
  private List<Rendition> renditions(
      List<EngineVersion> others, PromptRequest request, PreparationJob job, Prompt prompt) {
    List<Rendition> renditions = new ArrayList<>(others.size());
    for (EngineVersion other : others) {
      Prompt its = rendition(request, job.of(other));
      if (its.tokens() != prompt.tokens() || !its.chain().equals(prompt.chain())) {
        renditions.add(
            new Rendition(
                Preparation.of(other).name(), its.chain(), its.tokens() == 0 ? prompt.tokens() : its.tokens()));
      }
    }
    return renditions;
  }

  private Prompt rendition(PromptRequest request, PreparationJob job) {
    try {
      return prepare(source(request, job.engine()), job);
    } catch (CancellationException e) {
      throw e;
    } catch (RuntimeException e) {
      log.debug("model {}: a prompt could not be prepared as by {}", config.name(), job.engine(),
          RedactedException.of(e));
      return Prompt.unknown(PromptReason.UNREADABLE);
    }
  }

  private Prompt prepare(PromptSource source, PreparationJob job) {
    BlockNamespace namespace = job.namespace();
    PromptMode mode = parityTracker.mode(source);
    return switch (source) {
      case PromptSource.Unknown unknown -> Prompt.unknown(unknown.reason());
      case PromptSource.TokenIds given ->
          tokenized(PromptMode.EXACT, PrefixMemo.ofIds(namespace, given.ids()), reason(mode));
      case PromptSource.Text text -> switch (mode) {
        case EXACT -> exact(
            job, RenderedText.of(text.text()), text.addSpecialTokens(), PromptReason.AS_CONFIGURED);
        case ENGINE -> {
          Answer answer = engineAnswer(job, text);
          yield answer.tokens() == null
              ? chunks(namespace, text.text(), answer.reason())
              : tokenized(PromptMode.ENGINE, answer.tokens(), reason(mode));
        }
        case TEXT, NONE -> chunks(namespace, text.text(), reason(mode));
      };
      case PromptSource.Chat chat -> {
        int item = chat.firstItem();
        Prompt prompt = conversation(chat, item, mode, job);
        yield item < 0 ? prompt : prompt.ofAtLeast(PromptMedia.estimatedTokens(chat.body()));
      }
    };
  }

  private PromptReason reason(PromptMode mode) {
    return mode == config.mode() ? PromptReason.AS_CONFIGURED : PromptReason.NO_PARITY;
  }

  private Prompt conversation(PromptSource.Chat chat, int item, PromptMode mode, PreparationJob job) {
    if (mode == PromptMode.ENGINE) {
      return local.isTokenizedAlike(chat, job.engine())
          ? byEngine(chat, item, reason(mode), job)
          : locally(chat, item, mode, PromptReason.ENGINE_REFUSED, job);
    }
    return locally(chat, item, mode, item >= 0 ? PromptReason.MULTIMODAL : reason(mode), job);
  }

  /** The prompt by our own template and, in exact mode, our own tokenizer. */
  private Prompt locally(
      PromptSource.Chat chat, int item, PromptMode mode, PromptReason reason, PreparationJob job) {
    if (renderer == null || !renderer.renders(chat.body(), job.engine())) {
      return unrendered(chat, item, mode, mode == PromptMode.EXACT ? PromptReason.TEMPLATE_FAILED : reason, job);
    }
    RenderedText text;
    try {
      text = render(renderer, chat.body(), item, job);
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return Prompt.refused(PromptReason.TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException.RefusedTemplate e) {
      return Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException e) {
      PromptReason failure = templateFailures.add(e, chat.body().path("messages").size());
      return unrendered(chat, item, mode, failure, job);
    }
    if (mode != PromptMode.EXACT) {
      return chunks(job.namespace(), text.toString(), reason);
    }
    Prompt prompt = exact(job, text, chat.addSpecialTokens(), reason);
    return item >= 0 ? prompt.withoutLastToken() : prompt;
  }

  /** The prompt by the engine's tokens where they would have been ours; by the messages' texts where they would not. */
  private Prompt unrendered(
      PromptSource.Chat chat, int item, PromptMode mode, PromptReason reason, PreparationJob job) {
    return mode == PromptMode.EXACT && engine != null && local.isTokenizedAlike(chat, job.engine())
        ? byEngine(chat, item, reason, job)
        : chunks(job.namespace(), PlainText.of(chat.body()), reason);
  }

  private RenderedText render(ChatRenderer chatRenderer, ObjectNode body, int item, PreparationJob job) {
    long start = templateTime.start();
    RenderedText text =
        item < 0
            ? chatRenderer.render(body, job.engine())
            : chatRenderer.renderUpToItem(body, item, job.engine());
    job.noteTemplate(templateTime.record(start));
    return text;
  }

  private Prompt exact(PreparationJob job, RenderedText text, boolean special, PromptReason reason) {
    BlockNamespace namespace = job.namespace();
    if (tokenizer == null) {
      return chunks(namespace, text.toString(), PromptReason.TOKENIZER_FAILED);
    }
    long start = tokensTime.start();
    Tokens tokens;
    try {
      tokens = memo.tokens(tokenizer, namespace, text.utf8(), special, job.permit()::checkpoint);
    } catch (CancellationException e) {
      throw e;
    } catch (RuntimeException e) {
      log.warn("model {}: the tokenizer failed on a prompt of {} characters", config.name(), text.length(),
          RedactedException.of(e));
      return chunks(namespace, text.toString(), PromptReason.TOKENIZER_FAILED);
    }
    job.noteTokens(tokensTime.record(start));
    return tokenized(PromptMode.EXACT, tokens, reason);
  }

  private Prompt tokenized(PromptMode mode, Tokens tokens, PromptReason reason) {
    remembered.inc(tokens.reused());
    made.inc(tokens.tokens() - tokens.reused());
    return new Prompt(tokens.chain(), tokens.tokens(), mode, reason, null);
  }

  private Prompt chunks(BlockNamespace namespace, String text, PromptReason reason) {
    long start = textTime.start();
    Chain chain = TextChunks.chain(namespace.hash(), text);
    long _ = textTime.record(start);
    return new Prompt(chain, TextChunks.tokens(text), PromptMode.TEXT, reason, null);
  }

  /**
   * The prompt by the engine's tokens of the conversation, or of the messages before its first item; without them by
   * its text.
   */
  private Prompt byEngine(PromptSource.Chat chat, int item, PromptReason reason, PreparationJob job) {
    if (item == 0) {
      return new Prompt(Chain.EMPTY, 0, PromptMode.ENGINE, PromptReason.MULTIMODAL, null);
    }
    ObjectNode body = item > 0 ? PromptMedia.before(chat.body(), item) : chat.body();
    Answer answer = engineAnswer(job, new PromptSource.Chat(body, chat.addSpecialTokens()));
    if (answer.tokens() == null) {
      return locally(chat, item, PromptMode.ENGINE, answer.reason(), job);
    }
    return item < 0
        ? tokenized(PromptMode.ENGINE, answer.tokens(), reason)
        : tokenized(PromptMode.ENGINE, answer.tokens(), PromptReason.MULTIMODAL).withoutLastToken();
  }

  private Answer engineAnswer(PreparationJob job, PromptSource.Untokenized prompt) {
    if (engine == null) {
      return Answer.FAILED;
    }
    long start = engineTime.start();
    Answer answer = engine.answer(
        job.namespace(),
        prompt.tokenizeRequest(job.requested(), templateKwargs, job.engine()),
        job.engine(),
        job.permit()::close);
    job.noteTokens(engineTime.record(start));
    parityTracker.engineAnswered(engine.failure());
    return answer;
  }

  /** The token ids as the model's engine makes them, of media prompts those before the first item; null if unknown. */
  int @Nullable [] engineTokenIds(PromptSource source, String requested, Runnable beforeWaiting) {
    if (source instanceof PromptSource.TokenIds given) {
      return given.ids();
    }
    if (!(source instanceof PromptSource.Untokenized prompt)) {
      return null;
    }
    boolean unrendered =
        prompt instanceof PromptSource.Chat chat
            && (renderer == null || !renderer.renders(chat.body(), engines.most()));
    PromptMode mode = parityTracker.mode(source);
    return switch (mode == PromptMode.EXACT && unrendered ? PromptMode.ENGINE : mode) {
      case EXACT -> local.ids(prompt, prompt.firstItem(), engines.most());
      case ENGINE -> {
        if (engine == null || prompt.firstItem() >= 0 || !local.isTokenizedAlike(prompt, engines.most())) {
          yield null;
        }
        try {
          EngineVersion version = engines.most();
          String body = prompt.tokenizeRequest(requested, templateKwargs, version);
          beforeWaiting.run();
          yield engine.tokenize(body, version);
        } catch (IOException e) {
          log.debug("model {}: the engine did not tokenise a prompt: {}", config.name(), e.getMessage());
          yield null;
        }
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
    return tokenizer == null ? null : tokenizer.encode(text, false);
  }

  /** Prepares conversations from now on as the model's engines do, by their versions as far as those are known. */
  public void learnEngineVersions() {
    List<EngineVersion> versions = engine == null ? List.of() : engine.versions();
    if (!versions.isEmpty() && engines.learn(versions)) {
      log.info("model {}: conversations are prepared as by {}", config.name(), engines.different());
    }
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
    return Stream.concat(parityTracker.problems().stream(), templateFailures.problems().stream()).toList();
  }

  /** The comparisons of clients' prompts with the engine; null when there are none. */
  @Nullable ParityChecker checker() {
    return checker;
  }
}
