package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's MooncakeConnector: both legs at once, matched by {@code transfer_id}; where the prefill engine's ranks are is
 * asked at its bootstrap server. Blocks are dropped when the first token ends the answer, and nobody is told.
 */
final class MooncakeConnector implements KvConnector {
  @Override
  public @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine here) {
    if (!(request.body().get("kv_transfer_params") instanceof ObjectNode params)) {
      return KvConnector.noTransfers(request);
    }
    boolean sends = params.path("do_remote_decode").asBoolean();
    boolean receives = params.path("do_remote_prefill").asBoolean();
    String transfer = params.path("transfer_id").asText("");
    if (!sends && !receives) {
      return KvConnector.noTransfers(request);
    }
    if (transfer.isEmpty()) {
      return null;
    }
    List<TransferSpec> legs = new ArrayList<>();
    for (int i = 0; i < request.ids().size(); i++) {
      if (sends) {
        legs.add(new TransferSpec.Send(transfer, -1, false, false, false));
        continue;
      }
      URI bootstrap = address(params.path("remote_bootstrap_addr").asText(""));
      if (bootstrap == null || !params.path("remote_engine_id").isTextual()) {
        return null;
      }
      legs.add(
          new TransferSpec.Receive(
              bootstrap.getHost(), bootstrap.getPort(), params.path("remote_engine_id").asText(), transfer, -1, null,
              Integer.MAX_VALUE, here.watchdog(), Duration.ZERO, new int[0], true));
    }
    return legs;
  }

  private static @Nullable URI address(String text) {
    if (!text.matches("https?://[^/:]+:\\d{1,5}/?")) {
      return null;
    }
    return URI.create(text);
  }

  /** The decode engine knows all it needs; the answer tells nothing. */
  @Override
  public void addParams(ObjectNode answer, List<PrefillResult> sent, LocalEngine here) {
    answer.putNull("kv_transfer_params");
  }

  @Override
  public @Nullable JsonNode page(String path, LocalEngine here) {
    if (!path.equals("/query")) {
      return null;
    }
    ObjectNode ranks = JsonNodeFactory.instance.objectNode();
    for (int rank = 0; rank < here.ranks(); rank++) {
      ObjectNode one = ranks.putObject(Integer.toString(rank)).put("engine_id", here.engineIds().get(rank));
      one.putObject("worker_addr").putObject("0").put("0", here.host() + ":" + here.port());
    }
    return ranks;
  }
}
