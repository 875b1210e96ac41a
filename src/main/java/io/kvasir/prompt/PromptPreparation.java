package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.prompt.CachingEngineTokenizer.Answer;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.RedactedException;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way of a model's prompts through the modes. When one fails the next one is used:
 *
 * <table>
 * <caption>What prepares a conversation</caption>
 * <tr><th>mode</th><th>our template</th><th>the engine's {@code /tokenize}</th><th>the prompt</th></tr>
 * <tr><td>exact</td><td>renders</td><td>is not asked</td><td>our tokens of the text</td></tr>
 * <tr><td>exact</td><td>fails, or there is none</td><td>answers</td><td>the engine's tokens</td></tr>
 * <tr><td>exact</td><td>fails, or there is none</td><td>does not</td><td>chunks of the messages' words</td></tr>
 * <tr><td>engine</td><td>is not needed</td><td>answers</td><td>the engine's tokens</td></tr>
 * <tr><td>engine</td><td>renders</td><td>does not</td><td>chunks of the text</td></tr>
 * <tr><td>engine</td><td>fails, or there is none</td><td>does not</td><td>chunks of the messages' words</td></tr>
 * <tr><td>text</td><td>renders</td><td>is not asked</td><td>chunks of the text</td></tr>
 * <tr><td>text</td><td>fails, or there is none</td><td>is not asked</td><td>chunks of the messages' words</td></tr>
 * <tr><td>any</td><td>refuses the conversation</td><td>is not asked then</td><td>none</td></tr>
 * </table>
 *
 * <p>The engine is not asked about conversations that its {@code /tokenize} does not render as it reads them. A text is
 * tokenised here in exact mode, by the engine in engine mode, and else goes in chunks. Thread-safe.
 */
final class PromptPreparation {
  private static final Logger log = LoggerFactory.getLogger(PromptPreparation.class);

  private final ModelConfig config;
  private final LocalTokenizer local;
  private final @Nullable CachingEngineTokenizer engine;
  private final ObjectNode templateKwargs;
  private final PrefixMemo memo;
  private final ParityTracker parityTracker;
  private final TemplateFailures templateFailures;
  private final Faults faults = new Faults();
  private final PromptMetrics.StageTimer templateTime;
  private final PromptMetrics.StageTimer tokensTime;
  private final PromptMetrics.StageTimer engineTime;
  private final PromptMetrics.StageTimer textTime;
  private final CounterDataPoint remembered;
  private final CounterDataPoint made;

  /**
   * A request on its way through the modes.
   *
   * @param requested the model's name in it
   * @param engine for which it is prepared
   * @param permit closed before an engine is waited for
   * @param times where its parts' times are noted, null for nowhere
   */
  record Job(
      String requested, EngineVersion engine, BlockNamespace namespace, Permit permit, @Nullable PromptTimes times) {
    Job of(EngineVersion other) {
      return new Job(requested, other, namespace, permit, times);
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

  /** What our own template makes of a conversation. */
  private sealed interface Rendering {
    /** The text, up to the first media item. */
    record Done(RenderedText text) implements Rendering {}

    /** The template or the engine would refuse the request. */
    record Refused(Prompt prompt) implements Rendering {}

    /** The template failed. */
    record Failed(PromptReason reason) implements Rendering {}

    /** There is no template. */
    record Untemplated() implements Rendering {}
  }

  /**
   * The preparation of a model's prompts.
   *
   * @param templateKwargs the configuration's, as an engine's {@code /tokenize} is told them
   * @param parityTracker knows in which mode prompts are prepared, and is told how the engine answers
   */
  PromptPreparation(
      ModelConfig config,
      LocalTokenizer local,
      @Nullable CachingEngineTokenizer engine,
      ObjectNode templateKwargs,
      PrefixMemo memo,
      ParityTracker parityTracker,
      TemplateFailures templateFailures,
      PromptMetrics metrics) {
    this.config = config;
    this.local = local;
    this.engine = engine;
    this.templateKwargs = templateKwargs;
    this.memo = memo;
    this.parityTracker = parityTracker;
    this.templateFailures = templateFailures;
    templateTime = metrics.stage("template");
    tokensTime = metrics.stage("tokens");
    engineTime = metrics.stage("engine");
    textTime = metrics.stage("text");
    remembered = metrics.remembered(config.name());
    made = metrics.made(config.name());
  }

  /** The prompt of a request, in the mode that its shape has now. */
  Prompt prepare(PromptSource source, Job job) {
    BlockNamespace namespace = job.namespace();
    PromptMode mode = parityTracker.mode(source);
    return switch (source) {
      case PromptSource.Unknown unknown -> Prompt.unknown(unknown.reason());
      case PromptSource.TokenIds given ->
          tokenized(PromptMode.EXACT, PrefixMemo.ofIds(namespace, given.ids()), PromptReason.AS_CONFIGURED);
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

  private Prompt conversation(PromptSource.Chat chat, int item, PromptMode mode, Job job) {
    PromptReason reason = item >= 0 ? PromptReason.MULTIMODAL : reason(mode);
    return switch (mode) {
      case EXACT -> switch (rendering(chat, item, job)) {
        case Rendering.Refused refused -> refused.prompt();
        case Rendering.Done done -> {
          Prompt prompt = exact(job, done.text(), chat.addSpecialTokens(), reason);
          yield item >= 0 ? prompt.withoutLastToken() : prompt;
        }
        case Rendering.Failed failed -> byEngineOrWords(chat, item, failed.reason(), job);
        case Rendering.Untemplated _ ->
            byEngineOrWords(chat, item, templateFailures.addUntemplated(messages(chat)), job);
      };
      case ENGINE -> byEngine(chat, item, reason, job, why -> byText(chat, item, why, job));
      case TEXT, NONE -> byText(chat, item, reason, job);
    };
  }

  private Prompt byEngineOrWords(PromptSource.Chat chat, int item, PromptReason reason, Job job) {
    return byEngine(chat, item, reason, job, _ -> words(chat, reason, job));
  }

  /** The prompt in chunks of the text that our own template makes, without one in chunks of the messages' words. */
  private Prompt byText(PromptSource.Chat chat, int item, PromptReason reason, Job job) {
    return switch (rendering(chat, item, job)) {
      case Rendering.Refused refused -> refused.prompt();
      case Rendering.Done done -> chunks(job.namespace(), done.text().toString(), reason);
      case Rendering.Failed failed -> words(chat, failed.reason(), job);
      case Rendering.Untemplated _ -> words(chat, reason, job);
    };
  }

  private Prompt words(PromptSource.Chat chat, PromptReason reason, Job job) {
    return chunks(job.namespace(), PlainText.of(chat.body()), reason);
  }

  private Rendering rendering(PromptSource.Chat chat, int item, Job job) {
    ChatRenderer renderer = local.renderer();
    if (renderer == null || !local.renders(chat, job.engine())) {
      return new Rendering.Untemplated();
    }
    try {
      return new Rendering.Done(render(renderer, chat.body(), item, job));
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return new Rendering.Refused(Prompt.refused(PromptReason.TEMPLATE_REFUSED, e.reason()));
    } catch (TemplateException.RefusedTemplate e) {
      return new Rendering.Refused(Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason()));
    } catch (TemplateException e) {
      return new Rendering.Failed(templateFailures.add(e, messages(chat)));
    }
  }

  private static int messages(PromptSource.Chat chat) {
    return chat.body().path("messages").size();
  }

  private RenderedText render(ChatRenderer chatRenderer, ObjectNode body, int item, Job job) {
    long start = templateTime.start();
    RenderedText text =
        item < 0
            ? chatRenderer.render(body, job.engine())
            : chatRenderer.renderUpToItem(body, item, job.engine());
    job.noteTemplate(templateTime.record(start));
    return text;
  }

  private Prompt exact(Job job, RenderedText text, boolean special, PromptReason reason) {
    BlockNamespace namespace = job.namespace();
    Tokenizer tokenizer = local.tokenizer();
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
      if (faults.isNew(e)) {
        log.warn(
            "model {}: the tokenizer failed on a prompt of {} characters, which goes by its text (further ones are only"
                + " counted, as {} in kvasir_prompts_total)",
            config.name(), text.length(), PromptReason.TOKENIZER_FAILED.label(), RedactedException.of(e));
      }
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
    TextChunks chunks = TextChunks.of(namespace.hash(), text);
    long _ = textTime.record(start);
    return new Prompt(chunks.chain(), chunks.tokens(), PromptMode.TEXT, reason, null);
  }

  /**
   * The prompt by the engine's tokens of the conversation, or of the messages before its first item.
   *
   * @param otherwise makes it where the engine is not to be asked or has no answer, given why
   */
  private Prompt byEngine(
      PromptSource.Chat chat, int item, PromptReason reason, Job job, Function<PromptReason, Prompt> otherwise) {
    if (!local.isTokenizedAlike(chat, job.engine())) {
      return otherwise.apply(PromptReason.ENGINE_REFUSED);
    }
    if (engine == null) {
      return otherwise.apply(PromptReason.ENGINE_FAILED);
    }
    if (item == 0) {
      return new Prompt(Chain.EMPTY, 0, PromptMode.ENGINE, PromptReason.MULTIMODAL, null);
    }
    ObjectNode body = item > 0 ? PromptMedia.before(chat.body(), item) : chat.body();
    Answer answer = engineAnswer(job, new PromptSource.Chat(body, chat.addSpecialTokens()));
    return answer.tokens() == null ? otherwise.apply(answer.reason())
        : item < 0 ? tokenized(PromptMode.ENGINE, answer.tokens(), reason)
        : tokenized(PromptMode.ENGINE, answer.tokens(), PromptReason.MULTIMODAL).withoutLastToken();
  }

  private Answer engineAnswer(Job job, PromptSource.Untokenized prompt) {
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
}
