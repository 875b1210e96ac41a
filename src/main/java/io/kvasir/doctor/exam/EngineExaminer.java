package io.kvasir.doctor.exam;

import io.kvasir.doctor.exam.ProbeExam.ProbeEvents;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineClient;
import io.kvasir.engines.EngineKind;
import io.kvasir.events.KvEvent;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.chat.EngineVersion;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Examines engines, each in the time of a few requests. Thread-safe; waits for the engine. */
public final class EngineExaminer {
  private static final int USUAL_BLOCK_SIZE = 16;

  private final HttpCalls calls;
  private final Timeouts timeouts;
  private final Map<String, ModelPrompts> prompts;
  private final long seed;

  /**
   * How long is waited.
   *
   * @param request for an answer over HTTP
   * @param socket for a ZMQ socket to show itself
   * @param events for the events of a request, after its answer
   */
  public record Timeouts(Duration request, Duration socket, Duration events) {
    /** Long enough for engines in use. */
    public static final Timeouts DEFAULT =
        new Timeouts(Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(3));
  }

  /**
   * An examiner.
   *
   * @param calls owned by the caller
   * @param prompts the router's own way to tokens, by the names of models
   * @param seed of the prompts: engines examined with the same one get equal prompts, whose blocks they should name
   *     alike
   */
  public EngineExaminer(HttpCalls calls, Timeouts timeouts, Map<String, ModelPrompts> prompts, long seed) {
    this.calls = calls;
    this.timeouts = timeouts;
    this.prompts = Map.copyOf(prompts);
    this.seed = seed;
  }

  /** Examines an engine. */
  public EngineExam examine(EngineTarget target) throws InterruptedException {
    EngineDescription told;
    try {
      told = new EngineClient(calls, timeouts.request).describe(target.url(), target.key());
    } catch (IOException silent) {
      return EngineExam.unreachable(target, String.valueOf(silent.getMessage()));
    }
    EngineRequests requests = new EngineRequests(calls, target, timeouts.request);
    LatestPrompt prompt = new LatestPrompt();
    try (EngineListeners listeners = new EngineListeners(target, told, timeouts.socket, prompt)) {
      listeners.awaitConnected();
      TokenExam tokens = tokens(target, told, requests);
      ProbeExam probe = null;
      if (takesRequests(told)) {
        listeners.awaitSubscribed();
        boolean hears = listeners.listensToFirstRank();
        probe = probe(requests, told, prompt.next(seed, blockSize(target, told)), hears);
        if (hears && !listeners.firstRankPublished() && publishes(told)) {
          // A subscription may take effect after the connection does; by now it has.
          probe = probe(requests, told, prompt.next(seed + 1, probe.blockSize()), hears);
        }
      }
      return new EngineExam(target, told, null, listeners.sources(), listeners.feeds(), probe, tokens);
    }
  }

  /** The prompt whose events are waited for. */
  private static final class LatestPrompt implements Consumer<KvEvent> {
    private volatile @Nullable ProbeSequence prompt;

    ProbeSequence next(long seed, int blockSize) {
      ProbeSequence made = new ProbeSequence(new Random(seed), "kvasir-doctor-" + seed, blockSize);
      prompt = made;
      return made;
    }

    @Override
    public void accept(KvEvent event) {
      ProbeSequence latest = prompt;
      if (latest != null) {
        latest.accept(event);
      }
    }
  }

  /** The model that requests to an engine that answered are for. */
  static String model(EngineDescription told) {
    return told.baseModels().getFirst().name();
  }

  /** Tokens in a block of an engine that answered. */
  static int blockSize(EngineTarget target, EngineDescription told) {
    Integer size = told.cache().blockSize();
    Integer known = size == null ? target.blockSize() : size;
    return known == null ? USUAL_BLOCK_SIZE : known;
  }

  /** Whether it answers a request alone: of SGLang's divided engines each waits for its partner. */
  private static boolean takesRequests(EngineDescription told) {
    return told.identity().kind() != EngineKind.SGLANG || told.transfer() == null;
  }

  /** Whether there are events to wait for. */
  private static boolean publishes(EngineDescription told) {
    return !Boolean.FALSE.equals(told.cache().prefixCaching());
  }

  private ProbeExam probe(
      EngineRequests requests, EngineDescription told, ProbeSequence prompt, boolean hears)
      throws InterruptedException {
    String model = model(told);
    Integer longest = told.baseModels().getFirst().contextLength();
    if (longest != null && longest <= prompt.tokens().length) {
      return new ProbeExam(
          model, prompt.blocks(), prompt.blockSize(),
          "its context of " + longest + " tokens does not hold " + prompt.blocks() + " blocks", null, null);
    }
    String failure = null;
    Integer cached = null;
    try {
      Integer _ = requests.generate(model, prompt);
      if (hears && publishes(told)) {
        prompt.awaitStored(System.nanoTime() + timeouts.events.toNanos());
      }
      cached = requests.generate(model, prompt);
    } catch (IOException failed) {
      failure = String.valueOf(failed.getMessage());
    }
    ProbeEvents stored = hears && failure == null ? prompt.events() : null;
    return new ProbeExam(model, prompt.blocks(), prompt.blockSize(), failure, cached, stored);
  }

  private @Nullable TokenExam tokens(EngineTarget target, EngineDescription told, EngineRequests requests) {
    for (String model : target.models()) {
      ModelPrompts own = prompts.get(model);
      if (own != null) {
        EngineIdentity engine = told.identity();
        EngineVersion version =
            EngineVersion.of(engine.kind().label(), engine.version(), engine.reasoningParser());
        return own.compare(requests, version);
      }
    }
    return null;
  }
}
