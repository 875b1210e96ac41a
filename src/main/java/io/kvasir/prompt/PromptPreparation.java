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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way of a model's prompts through the modes. When one fails the next one is used: where our tokens differ from the
 * engine's, or a conversation cannot be rendered here, the engine tokenises; without its answer, the text is hashed in
 * chunks. Thread-safe.
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
    if (mode == PromptMode.ENGINE) {
      return local.isTokenizedAlike(chat, job.engine())
          ? byEngine(chat, item, reason(mode), job)
          : locally(chat, item, mode, PromptReason.ENGINE_REFUSED, job);
    }
    return locally(chat, item, mode, item >= 0 ? PromptReason.MULTIMODAL : reason(mode), job);
  }

  /** The prompt by our own template and, in exact mode, our own tokenizer. */
  private Prompt locally(
      PromptSource.Chat chat, int item, PromptMode mode, PromptReason reason, Job job) {
    ChatRenderer renderer = local.renderer();
    if (renderer == null || !local.renders(chat, job.engine())) {
      PromptReason why = mode == PromptMode.EXACT ? templateFailures.addUntemplated(messages(chat)) : reason;
      return unrendered(chat, item, mode, why, job);
    }
    RenderedText text;
    try {
      text = render(renderer, chat.body(), item, job);
    } catch (TemplateException.Raised | TemplateException.Request e) {
      return Prompt.refused(PromptReason.TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException.RefusedTemplate e) {
      return Prompt.refused(PromptReason.REQUEST_TEMPLATE_REFUSED, e.reason());
    } catch (TemplateException e) {
      PromptReason failure = templateFailures.add(e, messages(chat));
      return unrendered(chat, item, mode, failure, job);
    }
    if (mode != PromptMode.EXACT) {
      return chunks(job.namespace(), text.toString(), reason);
    }
    Prompt prompt = exact(job, text, chat.addSpecialTokens(), reason);
    return item >= 0 ? prompt.withoutLastToken() : prompt;
  }

  private static int messages(PromptSource.Chat chat) {
    return chat.body().path("messages").size();
  }

  /** The prompt by the engine's tokens where they would have been ours; by the messages' texts where they would not. */
  private Prompt unrendered(
      PromptSource.Chat chat, int item, PromptMode mode, PromptReason reason, Job job) {
    return mode == PromptMode.EXACT && engine != null && local.isTokenizedAlike(chat, job.engine())
        ? byEngine(chat, item, reason, job)
        : chunks(job.namespace(), PlainText.of(chat.body()), reason);
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
   * The prompt by the engine's tokens of the conversation, or of the messages before its first item; without them by
   * its text.
   */
  private Prompt byEngine(PromptSource.Chat chat, int item, PromptReason reason, Job job) {
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
