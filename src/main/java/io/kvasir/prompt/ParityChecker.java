package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.tokens.Tokenizer;
import java.io.IOException;

/**
 * The comparisons of one model's tokens with its engine's: of probes until they agree, and of sampled prompts of
 * clients. What follows from the results is {@link ParityTracker}'s. Thread-safe; waits for the engine.
 */
final class ParityChecker {
  /** Longer prompts are not compared: they would cost the engine and us more than they are likely to show. */
  private static final int MAX_TOKENS = 1 << 17;

  private final String model;
  private final ObjectNode templateKwargs;
  private final LocalTokenizer local;
  private final KnownEngines engines;
  private final Tokenizer tokenizer;
  private final CachingEngineTokenizer engine;
  private final ParityTracker tracker;

  /**
   * A checker.
   *
   * @param engines as most of which prompts are prepared
   * @param tokenizer the one of {@code local}
   */
  ParityChecker(
      String model,
      ObjectNode templateKwargs,
      LocalTokenizer local,
      KnownEngines engines,
      Tokenizer tokenizer,
      CachingEngineTokenizer engine,
      ParityTracker tracker) {
    this.model = model;
    this.templateKwargs = templateKwargs;
    this.local = local;
    this.engines = engines;
    this.tokenizer = tokenizer;
    this.engine = engine;
    this.tracker = tracker;
  }

  /** Compares the probes that have not agreed yet, or differ. */
  void check() {
    tracker.openProbes().forEach(this::probe);
  }

  /** Of a conversation that the engine does not tokenise as it reads it, the tokens of a text are compared. */
  private void probe(PromptShape shape) {
    EngineVersion version = engines.most();
    PromptSource.Untokenized prompt = ProbePrompt.of(shape);
    boolean alike = local.isTokenizedAlike(prompt, version);
    tracker.probed(shape, ofProbe(alike ? prompt : ProbePrompt.of(PromptShape.TEXT), version));
  }

  private Parity ofProbe(PromptSource.Untokenized prompt, EngineVersion version) {
    int[] ours;
    try {
      ours = local.ids(prompt, -1, version);
    } catch (RuntimeException e) {
      return Parity.unanswered("our chat template refuses the probe: " + e.getMessage());
    }
    if (ours == null) {
      return Parity.unanswered("there is no chat template");
    }
    try {
      String body = prompt.tokenizeRequest(model, templateKwargs, version);
      return Parity.compareProbe(tokenizer, ours, tokenize(body, version));
    } catch (EngineTokenizer.RefusedException e) {
      return Parity.refused("the engine refuses the probe: " + e.getMessage());
    } catch (IOException | RuntimeException e) {
      return Parity.unanswered(String.valueOf(e.getMessage()));
    }
  }

  private int[] tokenize(String body, EngineVersion version) throws IOException {
    try {
      return engine.tokenize(body, version);
    } finally {
      tracker.engineAnswered(engine.failure());
    }
  }

  /** Whether a client's prompt can be compared: it is not too long, and the engine can be asked about all of it. */
  static boolean isComparable(PromptSource source, Prompt routed) {
    return routed.tokens() <= MAX_TOKENS && source instanceof PromptSource.Untokenized prompt && prompt.isComparable();
  }

  /**
   * Compares our tokens of a client's prompt, and their number by which it was routed, with the engine's.
   *
   * @param requested the model's name in the request
   * @param permit closed before the engine is waited for
   */
  void witness(PromptSource source, String requested, String sender, Prompt routed, Permit permit) {
    if (!(source instanceof PromptSource.Untokenized prompt) || !local.isTokenizedAlike(prompt, engines.most())) {
      return;
    }
    PromptShape shape = PromptShape.of(prompt);
    if (tracker.witnessed(shape, sender, ofClient(prompt, requested, routed, permit))) {
      probe(shape);
    }
  }

  private Parity ofClient(PromptSource.Untokenized prompt, String requested, Prompt routed, Permit permit) {
    EngineVersion version = engines.most();
    try {
      int[] ours = local.ids(prompt, -1, version);
      if (ours == null) {
        return Parity.unanswered("there is no chat template");
      }
      String body = prompt.tokenizeRequest(requested, templateKwargs, version);
      permit.close();
      int[] theirs = tokenize(body, version);
      Parity parity = Parity.compare(ours, theirs);
      return parity.verdict() == Parity.Verdict.SAME && routed.mode() == PromptMode.EXACT
              && routed.tokens() != theirs.length
          ? Parity.different("the prompt was routed as " + routed.tokens() + " tokens and has " + theirs.length)
          : parity;
    } catch (EngineTokenizer.RefusedException _) {
      return Parity.refused("the engine refuses the prompt");
    } catch (IOException | RuntimeException _) {
      return Parity.unanswered("the engine or the template failed");
    }
  }
}
