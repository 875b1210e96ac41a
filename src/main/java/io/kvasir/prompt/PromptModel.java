package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One served model's way from a prompt to a chain, and what is known of its agreement with the engine.
 *
 * <p>What cannot be done in the model's mode is done in the next: where our tokens are not the engine's, the engine is
 * asked; where its answer does not come, text is cut into chunks. Thread-safe.
 */
public final class PromptModel {
  private static final Logger log = LoggerFactory.getLogger(PromptModel.class);

  /** In which mode a model is and is configured to be, and how its tokens compare: for operators and readiness. */
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
      @Nullable ChatRenderer rendering,
      @Nullable CachingEngineTokenizer engine,
      PrefixMemo memo,
      PromptMetrics metrics) {
    this.config = config;
    this.tokenizer = tokenizer;
    this.renderer = rendering;
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

  /** The name under which it is configured. */
  public String name() {
    return config.name();
  }

  /** In which mode it is, and why. */
  public ModelState state() {
    return new ModelState(config.name(), config.mode(), parityTracker.mode(), parityTracker.parity());
  }

  ModelConfig config() {
    return config;
  }

  Prompt prepare(PromptSource source, String requested, BlockNamespace namespace) {
    PromptMode mode = parityTracker.mode();
    return switch (source) {
      case PromptSource.Unknown unknown -> Prompt.unknown(unknown.reason());
      case PromptSource.TokenIds given ->
          known(PromptMode.EXACT, PrefixMemo.ofIds(namespace, given.ids()), whyNot(mode));
      case PromptSource.Text text -> switch (mode) {
        case EXACT -> exact(namespace, text.text(), text.addSpecialTokens(), PromptReason.AS_CONFIGURED);
        case ENGINE -> {
          Tokens tokens = fetchTokens(namespace, CachingEngineTokenizer.requestBody(requested, text));
          yield tokens == null
              ? chunks(namespace, text.text(), PromptReason.ENGINE_FAILED)
              : known(PromptMode.ENGINE, tokens, whyNot(mode));
        }
        case TEXT, NONE -> chunks(namespace, text.text(), whyNot(mode));
      };
      case PromptSource.Chat chat -> {
        int item = PromptMedia.firstMessage(chat.body());
        Prompt prompt = conversation(chat, item, mode, requested, namespace);
        yield item < 0 ? prompt : prompt.ofAtLeast(PromptMedia.estimatedTokens(chat.body()));
      }
    };
  }

  private PromptReason whyNot(PromptMode mode) {
    return mode == config.mode() ? PromptReason.AS_CONFIGURED : PromptReason.NO_PARITY;
  }

  private Prompt conversation(
      PromptSource.Chat chat, int item, PromptMode mode, String requested, BlockNamespace namespace) {
    if (mode == PromptMode.ENGINE) {
      Prompt prompt = engineTokenized(chat, item, requested, namespace);
      if (prompt != null) {
        return prompt;
      }
    }
    PromptReason why =
        mode == PromptMode.ENGINE ? PromptReason.ENGINE_FAILED : item >= 0 ? PromptReason.MULTIMODAL : whyNot(mode);
    if (renderer == null) {
      return chunks(namespace, PlainText.of(chat.body()), mode == PromptMode.EXACT ? PromptReason.TEMPLATE_FAILED
          : why);
    }
    String text;
    try {
      text = render(renderer, chat.body(), item);
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return new Prompt(Chain.EMPTY, 0, PromptMode.NONE, PromptReason.TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException e) {
      log.debug("model {}: the chat template failed", config.name(), e);
      return chunks(namespace, PlainText.of(chat.body()), PromptReason.TEMPLATE_FAILED);
    }
    if (mode != PromptMode.EXACT) {
      return chunks(namespace, text, why);
    }
    Prompt prompt = exact(namespace, text, chat.addSpecialTokens(), why);
    return item >= 0 ? withoutLastToken(prompt) : prompt;
  }

  /** What follows may change the last token before an item: the block it is in is not known. */
  private static Prompt withoutLastToken(Prompt prompt) {
    Chain chain = prompt.chain();
    int blocks = Math.max(0, prompt.tokens() - 1) / chain.blockSize();
    return blocks >= chain.length()
        ? prompt
        : new Prompt(new Chain(Arrays.copyOf(chain.hashes(), blocks), chain.blockSize()),
            prompt.tokens(), prompt.mode(), prompt.reason(), prompt.detail());
  }

  private String render(ChatRenderer by, ObjectNode body, int item) {
    long start = System.nanoTime();
    String text = item < 0 ? by.render(body) : by.renderUpToItem(body, item);
    templateTime.record(System.nanoTime() - start);
    return text;
  }

  private Prompt exact(BlockNamespace namespace, String text, boolean special, PromptReason why) {
    if (tokenizer == null) {
      return chunks(namespace, text, PromptReason.TOKENIZER_FAILED);
    }
    long start = System.nanoTime();
    Tokens tokens;
    try {
      tokens = memo.tokens(tokenizer, namespace, text, special);
    } catch (RuntimeException e) {
      log.warn("model {}: the tokenizer failed on a prompt of {} characters", config.name(), text.length(), e);
      return chunks(namespace, text, PromptReason.TOKENIZER_FAILED);
    }
    tokensTime.record(System.nanoTime() - start);
    return known(PromptMode.EXACT, tokens, why);
  }

  private Prompt known(PromptMode mode, Tokens tokens, PromptReason why) {
    remembered.inc(tokens.reused());
    made.inc(tokens.tokens() - tokens.reused());
    return new Prompt(tokens.chain(), tokens.tokens(), mode, why, null);
  }

  private Prompt chunks(BlockNamespace namespace, String text, PromptReason why) {
    long start = System.nanoTime();
    Chain chain = TextChunks.chain(namespace.hash(), text);
    textTime.record(System.nanoTime() - start);
    return new Prompt(chain, TextChunks.tokens(text), PromptMode.TEXT, why, null);
  }

  /** The engine's tokens of the conversation, or of what stands before its first item; null when it does not tell. */
  private @Nullable Prompt engineTokenized(PromptSource.Chat chat, int item, String requested,
      BlockNamespace namespace) {
    if (item == 0) {
      return new Prompt(Chain.EMPTY, 0, PromptMode.ENGINE, PromptReason.MULTIMODAL, null);
    }
    ObjectNode body = item > 0 ? PromptMedia.before(chat.body(), item) : chat.body();
    Tokens tokens =
        fetchTokens(namespace, CachingEngineTokenizer.requestBody(requested, body, chat.addSpecialTokens()));
    if (tokens == null) {
      return null;
    }
    return item < 0
        ? known(PromptMode.ENGINE, tokens, whyNot(PromptMode.ENGINE))
        : withoutLastToken(known(PromptMode.ENGINE, tokens, PromptReason.MULTIMODAL));
  }

  private @Nullable Tokens fetchTokens(BlockNamespace namespace, String question) {
    if (engine == null) {
      return null;
    }
    long start = System.nanoTime();
    Tokens tokens = engine.tokens(namespace, question);
    engineTime.record(System.nanoTime() - start);
    return tokens;
  }

  /** A prompt's tokens as its engine has them, those before its first item; null where they cannot be told. */
  int @Nullable [] engineTokens(PromptSource source, String requested) {
    PromptMode mode = parityTracker.mode();
    int item = source instanceof PromptSource.Chat chat ? PromptMedia.firstMessage(chat.body()) : -1;
    if (mode == PromptMode.EXACT && item < 0) {
      return tokens(source);
    }
    try {
      return switch (source) {
        case PromptSource.TokenIds given -> given.ids();
        case PromptSource.Chat chat when mode == PromptMode.EXACT && tokenizer != null && renderer != null ->
            allButLast(
                tokenizer.encode(renderer.renderUpToItem(chat.body(), item), chat.addSpecialTokens()));
        case PromptSource.Text text when mode == PromptMode.ENGINE && engine != null ->
            engine.tokenize(CachingEngineTokenizer.requestBody(requested, text));
        case PromptSource.Chat chat when mode == PromptMode.ENGINE && engine != null && item < 0 ->
            engine.tokenize(CachingEngineTokenizer.requestBody(requested, chat.body(), chat.addSpecialTokens()));
        default -> null;
      };
    } catch (IOException silent) {
      log.debug("model {}: no engine told a prompt's tokens", config.name(), silent);
      return null;
    }
  }

  /** What follows may change the last token before an item. */
  private static int[] allButLast(int[] tokens) {
    return Arrays.copyOf(tokens, Math.max(0, tokens.length - 1));
  }

  /** Our own tokens of a prompt, made afresh; null where we make none. */
  int @Nullable [] tokens(PromptSource source) {
    return switch (source) {
      case PromptSource.TokenIds given -> given.ids();
      case PromptSource.Text text ->
          tokenizer == null ? null : tokenizer.encode(text.text(), text.addSpecialTokens());
      case PromptSource.Chat chat -> tokenizer == null || renderer == null
          ? null
          : tokenizer.encode(renderer.render(chat.body()), chat.addSpecialTokens());
      case PromptSource.Unknown unknown -> null;
    };
  }

  /**
   * Compares our tokens with the engine's: those of the prompt that last showed a difference, else of a conversation
   * made for it. Waits for the engine.
   */
  public Parity check() {
    PromptSource suspect = parityTracker.suspect();
    return compare(suspect == null ? ProbePrompt.source(renderer != null) : suspect, config.name(), null);
  }

  /** Compares our tokens of a request's prompt, and the chain it was routed by, with the engine's tokens. */
  Parity compare(PromptSource source, String requested, @Nullable Prompt routed) {
    Parity parity = comparison(source, requested, routed);
    parityTracker.record(source, parity);
    return parity;
  }

  private Parity comparison(PromptSource source, String requested, @Nullable Prompt routed) {
    if (engine == null || tokenizer == null || config.mode() != PromptMode.EXACT) {
      return new Parity(Parity.Verdict.UNANSWERED, null);
    }
    int[] ours;
    try {
      ours = tokens(source);
    } catch (RuntimeException e) {
      return new Parity(Parity.Verdict.UNANSWERED, null);
    }
    if (ours == null) {
      return new Parity(Parity.Verdict.UNANSWERED, null);
    }
    int[] theirs;
    try {
      theirs = engine.tokenize(switch (source) {
        case PromptSource.Chat chat ->
            CachingEngineTokenizer.requestBody(requested, chat.body(), chat.addSpecialTokens());
        case PromptSource.Text text -> CachingEngineTokenizer.requestBody(requested, text);
        case PromptSource.TokenIds given -> throw new IOException("ids need no tokenizer");
        case PromptSource.Unknown unknown -> throw new IOException("there is no prompt");
      });
    } catch (IOException | RuntimeException e) {
      return new Parity(Parity.Verdict.UNANSWERED, null);
    }
    Parity parity = Parity.compare(tokenizer, ours, theirs);
    if (parity.verdict() == Parity.Verdict.SAME && routed != null && routed.mode() == PromptMode.EXACT
        && routed.tokens() != theirs.length) {
      return Parity.different("the prompt was routed as " + routed.tokens() + " tokens and has " + theirs.length);
    }
    return parity;
  }
}
