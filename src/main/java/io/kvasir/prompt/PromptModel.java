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
  public record State(String model, Mode configured, Mode mode, Parity parity) {}

  private final ModelConfig config;
  private final @Nullable Tokenizer tokenizer;
  private final @Nullable Rendering rendering;
  private final @Nullable EngineTokens engine;
  private final PrefixMemo memo;
  private final PromptMetrics.Stage templateTime;
  private final PromptMetrics.Stage tokensTime;
  private final PromptMetrics.Stage engineTime;
  private final PromptMetrics.Stage textTime;
  private final CounterDataPoint remembered;
  private final CounterDataPoint made;
  private final Agreement agreement;

  PromptModel(
      ModelConfig config,
      @Nullable Tokenizer tokenizer,
      @Nullable Rendering rendering,
      @Nullable EngineTokens engine,
      PrefixMemo memo,
      PromptMetrics metrics) {
    this.config = config;
    this.tokenizer = tokenizer;
    this.rendering = rendering;
    this.engine = engine;
    this.memo = memo;
    templateTime = metrics.stage("template");
    tokensTime = metrics.stage("tokens");
    engineTime = metrics.stage("engine");
    textTime = metrics.stage("text");
    remembered = metrics.tokens(config.name(), "remembered");
    made = metrics.tokens(config.name(), "made");
    agreement = new Agreement(config.name(), config.mode(), metrics);
  }

  /** The name under which it is configured. */
  public String name() {
    return config.name();
  }

  /** In which mode it is, and why. */
  public State state() {
    return new State(config.name(), config.mode(), agreement.mode(), agreement.parity());
  }

  ModelConfig config() {
    return config;
  }

  Prompt prepare(PromptSource source, String requested, Namespace namespace) {
    Mode mode = agreement.mode();
    return switch (source) {
      case PromptSource.Unknown unknown -> Prompt.unknown(unknown.why());
      case PromptSource.Given given -> known(Mode.EXACT, PrefixMemo.given(namespace, given.ids()), whyNot(mode));
      case PromptSource.Text text -> switch (mode) {
        case EXACT -> exact(namespace, text.text(), text.addSpecialTokens(), Why.AS_CONFIGURED);
        case ENGINE -> {
          Tokens tokens = ask(namespace, EngineTokens.question(requested, text));
          yield tokens == null
              ? chunks(namespace, text.text(), Why.ENGINE_FAILED)
              : known(Mode.ENGINE, tokens, whyNot(mode));
        }
        case TEXT, NONE -> chunks(namespace, text.text(), whyNot(mode));
      };
      case PromptSource.Chat chat -> {
        int item = Items.firstMessage(chat.body());
        Prompt prompt = conversation(chat, item, mode, requested, namespace);
        yield item < 0 ? prompt : prompt.ofAtLeast(Items.estimatedTokens(chat.body()));
      }
    };
  }

  private Why whyNot(Mode mode) {
    return mode == config.mode() ? Why.AS_CONFIGURED : Why.NO_PARITY;
  }

  private Prompt conversation(
      PromptSource.Chat chat, int item, Mode mode, String requested, Namespace namespace) {
    if (mode == Mode.ENGINE) {
      Prompt prompt = asked(chat, item, requested, namespace);
      if (prompt != null) {
        return prompt;
      }
    }
    Why why = mode == Mode.ENGINE ? Why.ENGINE_FAILED : item >= 0 ? Why.MULTIMODAL : whyNot(mode);
    if (rendering == null) {
      return chunks(namespace, PlainText.of(chat.body()), mode == Mode.EXACT ? Why.TEMPLATE_FAILED : why);
    }
    String text;
    try {
      text = render(rendering, chat.body(), item);
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return new Prompt(Chain.EMPTY, 0, Mode.NONE, Why.TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException e) {
      log.debug("model {}: the chat template failed", config.name(), e);
      return chunks(namespace, PlainText.of(chat.body()), Why.TEMPLATE_FAILED);
    }
    if (mode != Mode.EXACT) {
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
            prompt.tokens(), prompt.mode(), prompt.why(), prompt.detail());
  }

  private String render(Rendering by, ObjectNode body, int item) {
    long start = System.nanoTime();
    String text = item < 0 ? by.render(body) : by.renderUpToItem(body, item);
    templateTime.took(System.nanoTime() - start);
    return text;
  }

  private Prompt exact(Namespace namespace, String text, boolean special, Why why) {
    if (tokenizer == null) {
      return chunks(namespace, text, Why.TOKENIZER_FAILED);
    }
    long start = System.nanoTime();
    Tokens tokens;
    try {
      tokens = memo.tokens(tokenizer, namespace, text, special);
    } catch (RuntimeException e) {
      log.warn("model {}: the tokenizer failed on a prompt of {} characters", config.name(), text.length(), e);
      return chunks(namespace, text, Why.TOKENIZER_FAILED);
    }
    tokensTime.took(System.nanoTime() - start);
    return known(Mode.EXACT, tokens, why);
  }

  private Prompt known(Mode mode, Tokens tokens, Why why) {
    remembered.inc(tokens.remembered());
    made.inc(tokens.tokens() - tokens.remembered());
    return new Prompt(tokens.chain(), tokens.tokens(), mode, why, null);
  }

  private Prompt chunks(Namespace namespace, String text, Why why) {
    long start = System.nanoTime();
    Chain chain = TextChunks.chain(namespace.hash(), text);
    textTime.took(System.nanoTime() - start);
    return new Prompt(chain, TextChunks.tokens(text), Mode.TEXT, why, null);
  }

  /** The engine's tokens of the conversation, or of what stands before its first item; null when it does not tell. */
  private @Nullable Prompt asked(PromptSource.Chat chat, int item, String requested, Namespace namespace) {
    if (item == 0) {
      return new Prompt(Chain.EMPTY, 0, Mode.ENGINE, Why.MULTIMODAL, null);
    }
    ObjectNode body = item > 0 ? Items.before(chat.body(), item) : chat.body();
    Tokens tokens = ask(namespace, EngineTokens.question(requested, body, chat.addSpecialTokens()));
    if (tokens == null) {
      return null;
    }
    return item < 0
        ? known(Mode.ENGINE, tokens, whyNot(Mode.ENGINE))
        : withoutLastToken(known(Mode.ENGINE, tokens, Why.MULTIMODAL));
  }

  private @Nullable Tokens ask(Namespace namespace, String question) {
    if (engine == null) {
      return null;
    }
    long start = System.nanoTime();
    Tokens tokens = engine.tokens(namespace, question);
    engineTime.took(System.nanoTime() - start);
    return tokens;
  }

  /** A prompt's tokens as its engine has them, those before its first item; null where they cannot be told. */
  int @Nullable [] engineTokens(PromptSource source, String requested) {
    Mode mode = agreement.mode();
    int item = source instanceof PromptSource.Chat chat ? Items.firstMessage(chat.body()) : -1;
    if (mode == Mode.EXACT && item < 0) {
      return tokens(source);
    }
    try {
      return switch (source) {
        case PromptSource.Given given -> given.ids();
        case PromptSource.Chat chat when mode == Mode.EXACT && tokenizer != null && rendering != null ->
            allButLast(
                tokenizer.encode(rendering.renderUpToItem(chat.body(), item), chat.addSpecialTokens()));
        case PromptSource.Text text when mode == Mode.ENGINE && engine != null ->
            engine.ask(EngineTokens.question(requested, text));
        case PromptSource.Chat chat when mode == Mode.ENGINE && engine != null && item < 0 ->
            engine.ask(EngineTokens.question(requested, chat.body(), chat.addSpecialTokens()));
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
      case PromptSource.Given given -> given.ids();
      case PromptSource.Text text ->
          tokenizer == null ? null : tokenizer.encode(text.text(), text.addSpecialTokens());
      case PromptSource.Chat chat -> tokenizer == null || rendering == null
          ? null
          : tokenizer.encode(rendering.render(chat.body()), chat.addSpecialTokens());
      case PromptSource.Unknown unknown -> null;
    };
  }

  /**
   * Compares our tokens with the engine's: those of the prompt that last showed a difference, else of a conversation
   * made for it. Waits for the engine.
   */
  public Parity check() {
    PromptSource suspect = agreement.suspect();
    return compare(suspect == null ? Probe.source(rendering != null) : suspect, config.name(), null);
  }

  /** Compares our tokens of a request's prompt, and the chain it was routed by, with the engine's tokens. */
  Parity compare(PromptSource source, String requested, @Nullable Prompt routed) {
    Parity parity = comparison(source, requested, routed);
    agreement.note(source, parity);
    return parity;
  }

  private Parity comparison(PromptSource source, String requested, @Nullable Prompt routed) {
    if (engine == null || tokenizer == null || config.mode() != Mode.EXACT) {
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
      theirs = engine.ask(switch (source) {
        case PromptSource.Chat chat -> EngineTokens.question(requested, chat.body(), chat.addSpecialTokens());
        case PromptSource.Text text -> EngineTokens.question(requested, text);
        case PromptSource.Given given -> throw new IOException("ids need no tokenizer");
        case PromptSource.Unknown unknown -> throw new IOException("there is no prompt");
      });
    } catch (IOException | RuntimeException e) {
      return new Parity(Parity.Verdict.UNANSWERED, null);
    }
    Parity parity = Parity.of(tokenizer, ours, theirs);
    if (parity.verdict() == Parity.Verdict.SAME && routed != null && routed.mode() == Mode.EXACT
        && routed.tokens() != theirs.length) {
      return Parity.different("the prompt was routed as " + routed.tokens() + " tokens and has " + theirs.length);
    }
    return parity;
  }
}
