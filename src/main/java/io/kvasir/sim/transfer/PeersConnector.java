package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's tier of peers. In the request's {@code kv_transfer_params}, {@code remote_decoder} names the request for which
 * this engine stores its blocks, {@code remote_prefiller} the engine that has stored them, and {@code remote_kv_source}
 * one in whose memory some may be found. What is named incompletely is ignored.
 */
final class PeersConnector implements KvConnector {
  @Override
  public @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine) {
    JsonNode params = request.body().path("kv_transfer_params");
    if (!params.isObject()) {
      return KvConnector.noTransfers(request);
    }
    TransferSpec spec = spec(params, localEngine);
    if (spec == null) {
      return null;
    }
    List<TransferSpec> specs = new ArrayList<>();
    request.ids().forEach(id -> specs.add(spec));
    return specs;
  }

  private static @Nullable TransferSpec spec(JsonNode params, LocalEngine localEngine) {
    String stored = params.path("remote_decoder").path("kv_request_id").asText("");
    if (!stored.isEmpty()) {
      return new TransferSpec.Send(stored, -1, true, false, false);
    }
    boolean fetches = params.path("remote_prefiller").isObject();
    JsonNode peer = params.path(fetches ? "remote_prefiller" : "remote_kv_source");
    String host = peer.path("remote_host").asText("");
    int port = peer.path("remote_port").asInt();
    String id = peer.path("kv_request_id").asText("");
    if (host.isEmpty() || port <= 0 || id.isEmpty()) {
      return null;
    }
    return fetches
        ? new TransferSpec.Receive(
            new TransferSpec.RemoteBlocks(host, port, null, id, -1, null),
            Integer.MAX_VALUE, localEngine.watchdog(), Duration.ZERO, new int[0], true)
        : new TransferSpec.Pull(host, port);
  }

  /** Adds nothing: no other engine needs parameters from the answer. */
  @Override
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine) {}
}
