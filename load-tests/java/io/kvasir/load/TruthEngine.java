package io.kvasir.load;

import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineClient;
import io.kvasir.engines.EventPublishing;
import io.kvasir.engines.PromptBlocks;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * An engine as it describes itself.
 *
 * @param models its model first, the LoRA adapters after it
 * @param blockSize tokens in a KV block
 * @param blocks of its cache; 0 where it does not say
 * @param events the sockets of its events; null where it does not tell
 * @param leavesOutZero whether its usage reports cached tokens only where there were any
 * @param simulated whether it can be disturbed by {@code /sim/…}
 */
record TruthEngine(
    URI url, List<String> models, int blockSize, int blocks, EventPublishing.@Nullable RankSockets events,
    boolean leavesOutZero, boolean simulated) {
  /** The first versions that report zero. */
  private static final VllmVersion VLLM_WITH_ZERO = new VllmVersion(0, 24);
  private static final int SGLANG_PATCH_WITH_ZERO = 22;

  private static final int USUAL_BLOCK_SIZE = 16;
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  /**
   * Asks an engine what it is.
   *
   * @throws IOException when it does not answer, or has no model
   */
  static TruthEngine ask(URI url) throws IOException, InterruptedException {
    try (HttpCalls calls = new HttpCalls()) {
      EngineDescription told = new EngineClient(calls, TIMEOUT).describe(url, null);
      List<String> models = new ArrayList<>(List.of(told.baseModels().getFirst().name()));
      models.addAll(told.adapters());
      Integer blockSize = told.cache().blockSize();
      Integer blocks = told.cache().blocks();
      return new TruthEngine(
          url,
          models,
          blockSize == null ? USUAL_BLOCK_SIZE : blockSize,
          blocks == null ? 0 : blocks,
          told.events() instanceof EventPublishing.Zmq zmq && !zmq.connects()
              ? new EventPublishing.RankSockets(zmq.endpoint(), zmq.replay())
              : null,
          leavesOutZero(told.identity()),
          told.identity().simulated());
    }
  }

  private static boolean leavesOutZero(EngineIdentity identity) {
    return switch (EngineVersion.of(identity.kind().label(), identity.version(), null)) {
      case VllmVersion version -> version.compareTo(VLLM_WITH_ZERO) < 0;
      case SglangVersion version ->
          version.major() == 0 && version.minor() == 5 && version.patch() < SGLANG_PATCH_WITH_ZERO;
      case TensorRtVersion _ -> false;
    };
  }

  /** Tokens in a block into which prompts for some of them are cut; where no size fits into all, the smallest. */
  static int promptBlock(List<TruthEngine> engines) {
    SortedSet<Integer> sizes = new TreeSet<>(engines.stream().map(TruthEngine::blockSize).toList());
    if (sizes.isEmpty()) {
      return USUAL_BLOCK_SIZE;
    }
    Integer shared = PromptBlocks.shared(sizes);
    return shared == null ? sizes.first() : shared;
  }

  /** Whether it answers now. */
  boolean isWell(HttpClient http) throws InterruptedException {
    try {
      return get(http, url, "/health").statusCode() == 200;
    } catch (IOException gone) {
      return false;
    }
  }

  /** Posts JSON to one of the paths that make a simulated engine misbehave. */
  void disturb(HttpClient http, String path, String json) throws IOException, InterruptedException {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(url.resolve(path)).timeout(TIMEOUT).POST(BodyPublishers.ofString(json)).build(),
            BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(url.resolve(path) + " answered " + answer.statusCode() + " " + answer.body());
    }
  }

  private static HttpResponse<String> get(HttpClient http, URI url, String path)
      throws IOException, InterruptedException {
    return http.send(HttpRequest.newBuilder(url.resolve(path)).timeout(TIMEOUT).build(), BodyHandlers.ofString());
  }
}
