package io.kvasir.prompt;

import io.kvasir.prompt.Parity.Verdict;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The results of all comparisons with a model's engine, and the mode that follows for each {@link PromptShape}.
 *
 * <p>What a client sends cannot be trusted to be typical, and one client must not slow down all others. So prompts of
 * our own decide: where the first probe differs, every prompt goes in engine mode; where the probe of another shape
 * differs, the prompts of that shape do; each until its probe agrees. A client's prompt that differs only makes that
 * its shape is probed. Where the probe does not confirm it, clients have to be witnesses together: a shape goes in
 * engine mode while, of the latest {@value #MAX_WITNESSES} senders whose prompts of that shape were compared, at least
 * {@value #QUORUM} and more than half have a latest prompt that differs. A sender counts once, however much it sends.
 * Thread-safe.
 */
final class ParityTracker {
  static final int QUORUM = 3;
  static final int MAX_WITNESSES = 16;

  /** After so many checks without a result operators are told: most fleets have answered the first. */
  static final int SILENT_CHECKS = 5;

  private static final Logger log = LoggerFactory.getLogger(ParityTracker.class);
  private static final long ALL_SHAPES = -1L;
  private static final String SAME_FILES =
      "give the model the files (tokenizer, chat template) that its engines have; it is compared again by itself";

  private final String model;
  private final PromptMode configured;
  private final PromptShape first;
  private final PromptMetrics metrics;
  private final Map<Integer, Evidence> evidence = new TreeMap<>();
  private Parity parity = Parity.UNCHECKED;
  private int silentChecks;
  private String silence = "";
  private boolean retired;
  private long differingShapes;
  private volatile long engineShapes;
  /** Why the engine does not tokenise prompts that it has to; null while it does. */
  private volatile @Nullable String engineFailure;
  private volatile long engineFailureNanos;

  /** What is known of one shape. */
  private static final class Evidence {
    private final PromptShape shape;
    private final Map<String, Verdict> witnesses =
        new LinkedHashMap<>(MAX_WITNESSES, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<String, Verdict> eldest) {
            return size() > MAX_WITNESSES;
          }
        };
    /** The difference of the probe, null while it does not differ. */
    private @Nullable String difference;

    Evidence(PromptShape shape) {
      this.shape = shape;
    }

    private long differing() {
      return witnesses.values().stream().filter(Verdict.DIFFERENT::equals).count();
    }

    /** Why prompts of this shape go in engine mode, null when they do not. */
    private @Nullable String reason() {
      long differing = differing();
      return difference != null ? difference
          : differing >= QUORUM && 2 * differing > witnesses.size()
              ? "the latest prompts of " + differing + " of " + witnesses.size() + " clients differ"
              : null;
    }
  }

  /**
   * A tracker without results.
   *
   * @param first the shape of the first probe, which stands for all
   */
  ParityTracker(String model, PromptMode configured, PromptShape first, PromptMetrics metrics) {
    this.model = model;
    this.configured = configured;
    this.first = first;
    this.metrics = metrics;
    metrics.mode(model, configured);
    // A former model of this name may have left another number.
    metrics.engineShapes(model, 0);
    metrics.silentChecks(model, 0);
  }

  /** The model is not served any more: what is recorded from now on is in no metric of its name. */
  synchronized void retire() {
    retired = true;
  }

  /** The mode for a prompt: two loads while nothing differs. */
  PromptMode mode(PromptSource source) {
    long engine = engineShapes;
    return engine == 0 ? configured
        : engine == ALL_SHAPES || (engine & PromptShape.of(source).bit()) != 0 ? PromptMode.ENGINE
        : configured;
  }

  /** The mode for prompts of any shape. */
  PromptMode mode() {
    return engineShapes == ALL_SHAPES ? PromptMode.ENGINE : configured;
  }

  /** The last result of the first probe that was one. */
  synchronized Parity parity() {
    return parity;
  }

  /** The shapes whose probes are to be asked for again: the first until it agrees, others while they differ. */
  synchronized List<PromptShape> openProbes() {
    List<PromptShape> open = new ArrayList<>();
    if (parity.verdict() != Verdict.SAME) {
      open.add(first);
    }
    evidence.values().stream().filter(each -> each.difference != null).forEach(each -> open.add(each.shape));
    return open;
  }

  /** Whether the latest checks, as many as operators are told after, had no result. */
  synchronized boolean isSilent() {
    return silentChecks >= SILENT_CHECKS;
  }

  /** Records the result of a probe. */
  synchronized void probed(PromptShape shape, Parity result) {
    count(result);
    if (shape.equals(first)) {
      recordFirst(result);
    } else if (result.verdict() == Verdict.DIFFERENT || result.verdict() == Verdict.SAME) {
      evidence(shape).difference = result.verdict() == Verdict.DIFFERENT ? result.detail() : null;
    }
    update();
  }

  private void recordFirst(Parity result) {
    switch (result.verdict()) {
      case SAME, DIFFERENT -> {
        parity = result;
        silentChecks = 0;
      }
      case REFUSED, UNANSWERED, UNCHECKED -> {
        silentChecks++;
        silence = String.valueOf(result.detail());
        if (silentChecks == SILENT_CHECKS && parity.verdict() == Verdict.UNCHECKED) {
          log.warn("{}", unanswered());
        }
      }
    }
  }

  private void count(Parity result) {
    if (!retired) {
      metrics.parity(model, result.verdict());
    }
  }

  /** Shows the modes that hold now. */
  private void show() {
    if (!retired) {
      metrics.mode(model, actualMode());
      metrics.engineShapes(model, engineShapes == ALL_SHAPES ? PromptShape.COUNT : Long.bitCount(engineShapes));
      metrics.silentChecks(model, silentChecks);
    }
  }

  /**
   * Records the result for a client's prompt. Returns whether the probe of its shape is to be compared: the prompt
   * differs, and no probe that is known to differ explains that.
   */
  synchronized boolean witnessed(PromptShape shape, String sender, Parity result) {
    count(result);
    if (result.verdict() != Verdict.SAME && result.verdict() != Verdict.DIFFERENT) {
      return false;
    }
    Evidence ofShape = evidence(shape);
    boolean differs = result.verdict() == Verdict.DIFFERENT;
    if (differs && ofShape.differing() == 0) {
      log.warn("model {}: the tokens of a client's prompt ({}) differ from the engine's, {}", model, shape,
          result.detail());
    }
    ofShape.witnesses.put(sender, result.verdict());
    update();
    return differs && ofShape.difference == null && engineShapes != ALL_SHAPES;
  }

  /**
   * The engine was to tokenise a prompt. While it does not, such prompts go by their text, and operators are told, for
   * a while: where few prompts need the engine, it may be long until one shows that it does again.
   *
   * @param failure why it did not, null when it did
   */
  void engineAnswered(@Nullable String failure) {
    if (failure != null) {
      engineFailureNanos = metrics.clock().nanos();
    }
    if ((failure == null) != (engineFailure == null)) {
      engineChanged(failure);
    }
  }

  private synchronized void engineChanged(@Nullable String failure) {
    if ((failure == null) == (engineFailure == null)) {
      return;
    }
    engineFailure = failure;
    if (failure == null) {
      log.info("model {}: its engine tokenises prompts again", model);
    } else {
      log.warn("{}", byText(failure));
    }
    show();
  }

  private String byText(String failure) {
    return "model %s: prompts that its engine has to tokenise are routed by their text, because %s"
        .formatted(model, failure);
  }

  /** The mode of prompts of any shape, as it is while the engine does not tokenise them. */
  private PromptMode actualMode() {
    PromptMode mode = mode();
    return mode == PromptMode.ENGINE && engineFailure != null ? PromptMode.TEXT : mode;
  }

  private Evidence evidence(PromptShape shape) {
    return evidence.computeIfAbsent(shape.index(), _ -> new Evidence(shape));
  }

  /** Derives the modes from what is known, and logs each change. */
  private void update() {
    long shapes = 0;
    for (Evidence each : evidence.values()) {
      String reason = each.reason();
      long bit = each.shape.bit();
      if (reason != null) {
        shapes |= bit;
        if ((differingShapes & bit) == 0) {
          log.warn("model {}: prompts of the shape {} are tokenised by the engine from now on: {}", model, each.shape,
              reason);
        }
      } else if ((differingShapes & bit) != 0) {
        log.info("model {}: prompts of the shape {} are prepared as configured again", model, each.shape);
      }
    }
    differingShapes = shapes;
    boolean differs = parity.verdict() == Verdict.DIFFERENT;
    if (differs && engineShapes != ALL_SHAPES) {
      log.warn("model {}: our tokens differ from the engine's, {}; prompts are tokenised by the engine from now on",
          model, parity.detail());
    } else if (!differs && engineShapes == ALL_SHAPES) {
      log.info("model {}: our tokens are equal to the engine's again", model);
    }
    engineShapes = differs ? ALL_SHAPES : shapes;
    show();
  }

  /** What operators have to know; nothing when all is as configured. */
  synchronized List<Problem> problems() {
    List<Problem> found = new ArrayList<>();
    if (engineShapes == ALL_SHAPES) {
      found.add(Problem.warning(
          "model %s is routed in engine mode instead of %s: %s".formatted(model, configured.label(), parity.detail()),
          SAME_FILES));
    } else {
      for (Evidence each : evidence.values()) {
        String reason = each.reason();
        if (reason != null) {
          found.add(Problem.warning(
              "model %s: prompts of the shape %s are routed in engine mode instead of %s: %s"
                  .formatted(model, each.shape, configured.label(), reason),
              SAME_FILES));
        }
      }
    }
    String failure = engineFailure;
    if (failure != null && metrics.clock().nanos() - engineFailureNanos < TemplateFailures.REPORTED.toNanos()) {
      found.add(Problem.warning(
          byText(failure),
          "see that the model's engines run and answer /tokenize; they are asked again, and this is shown for"
              + " %d minutes after the last time".formatted(TemplateFailures.REPORTED.toMinutes())));
    }
    if (silentChecks >= SILENT_CHECKS && parity.verdict() == Verdict.UNCHECKED) {
      found.add(Problem.warning(
          unanswered(), "see that the model's engines answer /tokenize with the same model"));
    }
    return found;
  }

  private String unanswered() {
    return "model %s: its tokens could not be compared with the engine's in %d checks, the last time because %s"
        .formatted(model, silentChecks, silence);
  }
}
