package io.kvasir.prompt;

import io.kvasir.prompt.template.TemplateException;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The conversations that a model's chat template could not render, which go by their engine's tokens, or by their text:
 * said in the log once a reason, and for a while in readiness. Any client can send one, so a failure is a problem only
 * until {@link #REPORTED} has passed without another. Thread-safe.
 */
final class TemplateFailures {
  private static final Logger log = LoggerFactory.getLogger(TemplateFailures.class);

  static final Duration REPORTED = Duration.ofMinutes(10);

  private static final String ENGINES_TEMPLATE =
      "send such a conversation to an engine: where it answers, give the model the engine's chat template"
          + " (chat-template), or mode = engine";

  private final String model;
  private final NanoClock clock;
  private final Set<Kind> logged = EnumSet.noneOf(Kind.class);
  private @Nullable Failure last;
  private long lastNanos;
  private long reported;

  /** What is said in the log once. */
  private enum Kind {
    FAILED(PromptReason.TEMPLATE_FAILED, ENGINES_TEMPLATE),
    LIMIT(PromptReason.TEMPLATE_LIMIT, ENGINES_TEMPLATE),
    /** No template is of use where engines render in code of their own, whatever they are started with. */
    NO_TEMPLATE(
        PromptReason.TEMPLATE_FAILED,
        "give the model mode = engine where its engines render without a template, as those of DeepSeek-V3.2 and later"
            + " do, else the template that they are started with (chat-template)");

    private final PromptReason reason;
    private final String remedy;

    Kind(PromptReason reason, String remedy) {
      this.reason = reason;
      this.remedy = remedy;
    }
  }

  private record Failure(Kind kind, String why) {}

  TemplateFailures(String model, NanoClock clock) {
    this.model = model;
    this.clock = clock;
  }

  /** Notes a failure, and returns its reason. What the template says of a conversation is left out. */
  PromptReason add(TemplateException e, int messages) {
    return e instanceof TemplateException.Limit
        ? add(Kind.LIMIT, String.valueOf(e.getMessage()), messages)
        : add(Kind.FAILED, "the chat template failed in line " + e.line(), messages);
  }

  /** Notes a conversation of a model that has no template to render it by, and returns the reason. */
  PromptReason addUntemplated(int messages) {
    return add(Kind.NO_TEMPLATE, "the model's files have no chat template", messages);
  }

  private synchronized PromptReason add(Kind kind, String why, int messages) {
    reported = isRecent() ? reported + 1 : 1;
    lastNanos = clock.nanos();
    last = new Failure(kind, why);
    if (logged.add(kind)) {
      log.warn(
          "model {}: a conversation of {} messages could not be rendered here, so its engine tokenises it or it is"
              + " routed by its text: {} (further ones are only counted, as {} in kvasir_prompts_total)",
          model, messages, why, kind.reason.label());
    }
    return kind.reason;
  }

  /** What operators have to know; nothing without failures of late. */
  synchronized List<Problem> problems() {
    Failure its = last;
    return its == null || !isRecent() ? List.of() : List.of(Problem.warning(
        ("model %s: %d conversations could not be rendered here, so their engine tokenised them or they were routed by"
                + " their text, the last time because %s").formatted(model, reported, its.why),
        "%s; this is shown for %d minutes after the last one".formatted(its.kind.remedy, REPORTED.toMinutes())));
  }

  private boolean isRecent() {
    return last != null && clock.nanos() - lastNanos < REPORTED.toNanos();
  }
}
