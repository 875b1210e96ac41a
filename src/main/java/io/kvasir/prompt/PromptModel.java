package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import java.io.IOException;
import java.util.Arrays;
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
  private final ParityTracker parityTracker;

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
    parityTracker = new ParityTracker(config.name(), config.mode(), metrics);
  }

  /** The model's configured name. */
  public String name() {
    return config.name();
  }

  /** The model's current state. */
  public ModelState state() {
    return new ModelState(config.name(), config.mode(), parityTracker.mode(), parityTracker.parity());
  }

  ModelConfig config() {
    return config;
  }

  /** The model's chat templates, null when it has none. */
  @Nullable ChatTemplates templates() {
    return renderer == null ? null : renderer.templates();
  }

  Prompt prepare(PromptSource source, String requested, BlockNamespace namespace) {
    PromptMode mode = parityTracker.mode();
    return switch (source) {
      case PromptSource.Unknown unknown -> Prompt.unknown(unknown.reason());
      case PromptSource.TokenIds given ->
          tokenized(PromptMode.EXACT, PrefixMemo.ofIds(namespace, given.ids()), reason(mode));
      case PromptSource.Text text -> switch (mode) {
        case EXACT -> exact(namespace, text.text(), text.addSpecialTokens(), PromptReason.AS_CONFIGURED);
        case ENGINE -> {
          Tokens tokens = engineTokens(namespace, text.tokenizeRequest(requested));
          yield tokens == null
              ? chunks(namespace, text.text(), PromptReason.ENGINE_FAILED)
              : tokenized(PromptMode.ENGINE, tokens, reason(mode));
        }
        case TEXT, NONE -> chunks(namespace, text.text(), reason(mode));
      };
      case PromptSource.Chat chat -> {
        int item = chat.firstItem();
        Prompt prompt = conversation(chat, item, mode, requested, namespace);
        yield item < 0 ? prompt : prompt.ofAtLeast(PromptMedia.estimatedTokens(chat.body()));
      }
    };
  }

  private PromptReason reason(PromptMode mode) {
    return mode == config.mode() ? PromptReason.AS_CONFIGURED : PromptReason.NO_PARITY;
  }

  private Prompt conversation(
      PromptSource.Chat chat, int item, PromptMode mode, String requested, BlockNamespace namespace) {
    if (mode == PromptMode.ENGINE) {
      Prompt prompt = byEngine(chat, item, requested, namespace);
      if (prompt != null) {
        return prompt;
      }
    }
    PromptReason reason =
        mode == PromptMode.ENGINE ? PromptReason.ENGINE_FAILED : item >= 0 ? PromptReason.MULTIMODAL : reason(mode);
    if (renderer == null) {
      return chunks(namespace, PlainText.of(chat.body()), mode == PromptMode.EXACT ? PromptReason.TEMPLATE_FAILED
          : reason);
    }
    String text;
    try {
      text = render(renderer, chat.body(), item);
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return Prompt.refused(PromptReason.TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException.OfRequest e) {
      return Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException e) {
      log.debug("model {}: the chat template failed", config.name(), e);
      return chunks(namespace, PlainText.of(chat.body()), PromptReason.TEMPLATE_FAILED);
    }
    if (mode != PromptMode.EXACT) {
      return chunks(namespace, text, reason);
    }
    Prompt prompt = exact(namespace, text, chat.addSpecialTokens(), reason);
    return item >= 0 ? withoutLastToken(prompt) : prompt;
  }

  /** The prompt without the block of the last token before an item, which may merge with what follows. */
  private static Prompt withoutLastToken(Prompt prompt) {
    Chain chain = prompt.chain();
    int blocks = Math.max(0, prompt.tokens() - 1) / chain.blockSize();
    return blocks >= chain.length()
        ? prompt
        : new Prompt(new Chain(Arrays.copyOf(chain.hashes(), blocks), chain.blockSize()),
            prompt.tokens(), prompt.mode(), prompt.reason(), prompt.detail());
  }

  private String render(ChatRenderer chatRenderer, ObjectNode body, int item) {
    long start = templateTime.start();
    String text = item < 0 ? chatRenderer.render(body) : chatRenderer.renderUpToItem(body, item);
    templateTime.record(start);
    return text;
  }

  private Prompt exact(BlockNamespace namespace, String text, boolean special, PromptReason reason) {
    if (tokenizer == null) {
      return chunks(namespace, text, PromptReason.TOKENIZER_FAILED);
    }
    long start = tokensTime.start();
    Tokens tokens;
    try {
      tokens = memo.tokens(tokenizer, namespace, text, special);
    } catch (RuntimeException e) {
      log.warn("model {}: the tokenizer failed on a prompt of {} characters", config.name(), text.length(), e);
      return chunks(namespace, text, PromptReason.TOKENIZER_FAILED);
    }
    tokensTime.record(start);
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
    textTime.record(start);
    return new Prompt(chain, TextChunks.tokens(text), PromptMode.TEXT, reason, null);
  }

  /**
   * The prompt by the engine's tokens of the conversation, or of the messages before its first item; null on failure.
   */
  private @Nullable Prompt byEngine(PromptSource.Chat chat, int item, String requested, BlockNamespace namespace) {
    if (item == 0) {
      return new Prompt(Chain.EMPTY, 0, PromptMode.ENGINE, PromptReason.MULTIMODAL, null);
    }
    ObjectNode body = item > 0 ? PromptMedia.before(chat.body(), item) : chat.body();
    Tokens tokens =
        engineTokens(namespace, new PromptSource.Chat(body, chat.addSpecialTokens()).tokenizeRequest(requested));
    if (tokens == null) {
      return null;
    }
    return item < 0
        ? tokenized(PromptMode.ENGINE, tokens, reason(PromptMode.ENGINE))
        : withoutLastToken(tokenized(PromptMode.ENGINE, tokens, PromptReason.MULTIMODAL));
  }

  private @Nullable Tokens engineTokens(BlockNamespace namespace, String tokenizeRequest) {
    if (engine == null) {
      return null;
    }
    long start = engineTime.start();
    Tokens tokens = engine.tokens(namespace, tokenizeRequest);
    engineTime.record(start);
    return tokens;
  }

  /** The token ids as the model's engine makes them, of media prompts those before the first item; null if unknown. */
  int @Nullable [] engineTokenIds(PromptSource source, String requested) {
    if (source instanceof PromptSource.TokenIds given) {
      return given.ids();
    }
    if (!(source instanceof PromptSource.Untokenized prompt)) {
      return null;
    }
    return switch (parityTracker.mode()) {
      case EXACT -> ownTokenIds(prompt, prompt.firstItem());
      case ENGINE -> {
        if (engine == null || prompt.firstItem() >= 0) {
          yield null;
        }
        try {
          yield engine.tokenize(prompt.tokenizeRequest(requested));
        } catch (IOException e) {
          log.debug("model {}: the engine did not tokenise a prompt", config.name(), e);
          yield null;
        }
      }
      case TEXT, NONE -> null;
    };
  }

  /** Our own token ids of a prompt, without the memo, up to message {@code item} if that is not -1; null if unknown. */
  private int @Nullable [] ownTokenIds(PromptSource.Untokenized prompt, int item) {
    String text = switch (prompt) {
      case PromptSource.Text given -> given.text();
      case PromptSource.Chat chat when renderer == null -> null;
      case PromptSource.Chat chat when item < 0 -> renderer.render(chat.body());
      case PromptSource.Chat chat -> renderer.renderUpToItem(chat.body(), item);
    };
    if (tokenizer == null || text == null) {
      return null;
    }
    int[] ids = tokenizer.encode(text, prompt.addSpecialTokens());
    // The last token before an item may merge with what follows.
    return item < 0 ? ids : Arrays.copyOf(ids, Math.max(0, ids.length - 1));
  }

  /**
   * Compares our tokens with the engine's: those of the prompt that last showed a difference, else of {@link
   * ProbePrompt}. Waits for the engine.
   */
  public Parity check() {
    PromptSource suspect = parityTracker.suspect();
    return compare(suspect == null ? ProbePrompt.source(renderer != null) : suspect, config.name(), null);
  }

  /** Compares our tokens of a request's prompt, and the number of tokens it was routed by, with the engine's. */
  Parity compare(PromptSource source, String requested, @Nullable Prompt routed) {
    Parity parity = comparison(source, requested, routed);
    parityTracker.record(source, parity);
    return parity;
  }

  private Parity comparison(PromptSource source, String requested, @Nullable Prompt routed) {
    if (engine == null || tokenizer == null || config.mode() != PromptMode.EXACT
        || !(source instanceof PromptSource.Untokenized prompt)) {
      return Parity.UNANSWERED;
    }
    int[] ours;
    int[] theirs;
    try {
      ours = ownTokenIds(prompt, -1);
      if (ours == null) {
        return Parity.UNANSWERED;
      }
      theirs = engine.tokenize(prompt.tokenizeRequest(requested));
    } catch (IOException | RuntimeException e) {
      return Parity.UNANSWERED;
    }
    Parity parity = Parity.compare(tokenizer, ours, theirs);
    if (parity.verdict() == Parity.Verdict.SAME && routed != null && routed.mode() == PromptMode.EXACT
        && routed.tokens() != theirs.length) {
      return Parity.different("the prompt was routed as " + routed.tokens() + " tokens and has " + theirs.length);
    }
    return parity;
  }
}
