package io.kvasir.doctor.exam;

import io.kvasir.engines.EngineDescription;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.KvTransferProtocol;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.SplitRequest;
import io.kvasir.http.HttpCalls;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Divides a request between engines as the router does, and finds whether the one that is to generate receives what the
 * other computed. Thread-safe; waits for the engines.
 */
public final class HandOverExaminer {
  private static final String PATH = "/v1/completions";

  private final HttpCalls calls;
  private final Duration timeout;
  private final long seed;

  /**
   * An examiner.
   *
   * @param calls owned by the caller
   * @param timeout for each answer; engines try for seconds to reach each other
   * @param seed of the prompts, which no engine may have seen
   */
  public HandOverExaminer(HttpCalls calls, Duration timeout, long seed) {
    this.calls = calls;
    this.timeout = timeout;
    this.seed = seed;
  }

  /** A prefill engine and a decode engine of its model that can receive from it. */
  public record EnginePair(EngineExam prefill, EngineExam decode) {}

  /** As few pairs as have every engine in one that has a partner. */
  public static List<EnginePair> pairs(List<EngineExam> engines) {
    Set<EnginePair> pairs = new LinkedHashSet<>();
    List<EngineExam> prefills = ofRole(Role.PREFILL, engines);
    List<EngineExam> decodes = ofRole(Role.DECODE, engines);
    for (int i = 0; i < prefills.size(); i++) {
      List<EngineExam> partners = partners(prefills.get(i), decodes);
      if (!partners.isEmpty()) {
        pairs.add(new EnginePair(prefills.get(i), partners.get(i % partners.size())));
      }
    }
    for (int i = 0; i < decodes.size(); i++) {
      EngineExam decode = decodes.get(i);
      List<EngineExam> partners = partners(decode, prefills);
      if (!partners.isEmpty() && pairs.stream().noneMatch(pair -> pair.decode().equals(decode))) {
        pairs.add(new EnginePair(partners.get(i % partners.size()), decode));
      }
    }
    return List.copyOf(pairs);
  }

  private static List<EngineExam> ofRole(Role role, List<EngineExam> engines) {
    return engines.stream()
        .filter(engine -> engine.description() != null)
        .filter(engine -> engine.target().worker() != null && engine.target().worker().role() == role)
        .toList();
  }

  private static List<EngineExam> partners(EngineExam engine, List<EngineExam> others) {
    List<EngineExam> able = new ArrayList<>();
    for (EngineExam other : others) {
      if (worker(engine).pairsWith(worker(other))
          && !Collections.disjoint(engine.target().models(), other.target().models())) {
        able.add(other);
      }
    }
    return able;
  }

  private static Worker worker(EngineExam engine) {
    return Objects.requireNonNull(engine.target().worker());
  }

  /** Examines a pair; what fails is tried once more. */
  public HandOverExam examine(EnginePair pair) throws InterruptedException {
    HandOverExam first = attempt(pair, seed);
    // vLLM's first contact with another engine was seen to fail where the next succeeded.
    return first.failure() == null ? first : attempt(pair, seed + 1);
  }

  private HandOverExam attempt(EnginePair pair, long promptSeed) throws InterruptedException {
    Attempt attempt = new Attempt(pair, promptSeed);
    String failure = null;
    try {
      attempt.run();
    } catch (IOException | IllegalArgumentException failed) {
      failure = String.valueOf(failed.getMessage());
    }
    return new HandOverExam(
        pair.prefill.target(), pair.decode.target(), attempt.transfer.dialect(), attempt.address, failure);
  }

  /** One request, divided. */
  private final class Attempt {
    private final KvTransferProtocol protocol;
    private final Worker sender;
    private final KvTransfer transfer;
    private final EngineRequests prefill;
    private final EngineRequests decode;
    private final ClientRequest request;
    private final String id;
    private final long room;
    private @Nullable String address;

    Attempt(EnginePair pair, long promptSeed) {
      Random random = new Random(Objects.hash(promptSeed, pair.prefill.target(), pair.decode.target()));
      EngineDescription told = Objects.requireNonNull(pair.prefill.description());
      ProbeSequence prompt =
          new ProbeSequence(
              random, "kvasir-doctor-" + promptSeed, EngineExaminer.blockSize(pair.prefill.target(), told));
      this.sender = worker(pair.prefill);
      this.transfer = Objects.requireNonNull(sender.kvTransfer());
      this.protocol = KvTransferProtocol.of(transfer.dialect());
      this.prefill = new EngineRequests(calls, pair.prefill.target(), timeout);
      this.decode = new EngineRequests(calls, pair.decode.target(), timeout);
      this.room = random.nextLong(Long.MAX_VALUE);
      this.id = "kvasir-doctor-" + Long.toHexString(room);
      this.request = Objects.requireNonNull(ClientRequest.of(PATH, body(EngineExaminer.model(told), prompt)));
    }

    private static byte[] body(String model, ProbeSequence prompt) {
      // An engine that ends by itself keeps nothing for another.
      return EngineRequests.body(model, prompt, 2).put("ignore_eos", true).toString().getBytes(StandardCharsets.UTF_8);
    }

    void run() throws IOException, InterruptedException {
      URI server = protocol.bootstrap(sender);
      JsonMembers bootstrap =
          server == null ? null
              : JsonMembers.tryOf(calls.send(HttpCalls.Request.get(server, timeout)).requireStatus(200).body());
      SplitRequest split = new SplitRequest(request, id, room, sender, bootstrap);
      if (transfer.dialect().concurrent()) {
        address = transfer.bareHost() + ":" + transfer.bootstrapPort();
        CompletableFuture<HttpCalls.Reply> computed = prefill.sendAsync(protocol.prefill(split), id);
        try {
          byte[] _ = decode.send(protocol.decode(split, PrefillResult.KvBlocks.NOT_AWAITED), id);
          byte[] _ = EngineRequests.answer(computed);
        } finally {
          computed.cancel(true);
        }
        return;
      }
      EngineRequest first = protocol.prefill(split);
      switch (protocol.prefillResult(split, prefill.send(first, id))) {
        case PrefillResult.KvBlocks blocks -> {
          address = addressIn(blocks.answer());
          byte[] _ = decode.send(protocol.decode(split, blocks), id);
        }
        case PrefillResult.NoBlocks(String why) -> throw new IOException(why);
        case PrefillResult.FinalAnswer _ -> throw new IOException("prefill ended the answer itself");
      }
    }

    /** Where the prefill engine says that its blocks are. */
    private static @Nullable String addressIn(JsonMembers answer) {
      JsonMembers parameters = answer.object("kv_transfer_params");
      return parameters == null || !parameters.hasValue("remote_host") ? null
          : parameters.value("remote_host").asText() + ":" + parameters.value("remote_port").asText();
    }
  }
}
