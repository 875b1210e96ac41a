package io.kvasir.execution.dialect;

import io.kvasir.routing.KvPull;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's tier of peers below its offloading to host memory, where engines connect to each other. A decode worker
 * takes all that the prefill worker has stored for it under the request's id; it is sent the request second, since it
 * waits for the blocks for 30 s only. And any worker pulls what it finds in the memory of a peer, block by block, and
 * computes the rest. Engines whose block hashes begin from different seeds refuse each other (fields and behaviour of
 * {@code vllm.v1.kv_offload.tiering.p2p}, 0.32).
 */
public final class PeerTier implements KvTransferProtocol {
  static final PeerTier INSTANCE = new PeerTier();

  private PeerTier() {}

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(NixlPull.APIS, NixlPull.PARAMETERS);
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    JsonMembers receiver = JsonMembers.empty().withText("kv_request_id", split.id());
    return EngineRequest.of(
        split.request(), with(SingleTokenRequest.of(split.request()), "remote_decoder", receiver));
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    // One side channel for each data-parallel rank.
    int port = split.transfer().bootstrapPort() + split.prefill().rank();
    JsonMembers sender = peer(split.id(), split.bareHost(), port);
    return EngineRequest.of(split.request(), with(split.request().members(), "remote_prefiller", sender));
  }

  /**
   * The client's request with the peer that its worker is to pull from; null for one that cannot name a peer, or has
   * parameters of its own.
   *
   * @param requestId that of the client's request; what the engines meet under begins with it
   */
  public static @Nullable EngineRequest pull(String target, byte[] body, KvPull pull, String requestId) {
    ClientRequest request = ClientRequest.of(target, body);
    String id = SplitRequest.uniqueId(requestId, ThreadLocalRandom.current().nextLong());
    return request == null || INSTANCE.unsupportedReason(request) != null ? null
        : EngineRequest.of(
            request, with(request.members(), "remote_kv_source", peer(id, pull.host(), pull.port())));
  }

  private static JsonMembers peer(String id, String host, int port) {
    return JsonMembers.empty()
        .withText("kv_request_id", id)
        .withText("remote_host", host)
        .with("remote_port", Integer.toString(port));
  }

  private static JsonMembers with(JsonMembers body, String side, JsonMembers members) {
    return body.with(NixlPull.PARAMETERS, JsonMembers.empty().with(side, members.toString()).toString());
  }
}
