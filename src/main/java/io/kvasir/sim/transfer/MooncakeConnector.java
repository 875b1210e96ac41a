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
 * vLLM's MooncakeConnector: prefill and decode requests are sent at once and match by {@code transfer_id}; the prefill
 * engine's bootstrap server has the addresses of its ranks. Blocks are freed when the first token ends the answer,
 * without a notice to the decode engine.
 */
final class MooncakeConnector implements KvConnector {
  @Override
  public @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine) {
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
    List<TransferSpec> specs = new ArrayList<>();
    for (int i = 0; i < request.ids().size(); i++) {
      if (sends) {
        specs.add(new TransferSpec.Send(transfer, -1, false, false, false));
        continue;
      }
      URI bootstrap = address(params.path("remote_bootstrap_addr").asText(""));
      if (bootstrap == null || !params.path("remote_engine_id").isTextual()) {
        return null;
      }
      specs.add(
          new TransferSpec.Receive(
              new TransferSpec.RemoteBlocks(
                  bootstrap.getHost(), bootstrap.getPort(), params.path("remote_engine_id").asText(), transfer, -1,
                  null),
              Integer.MAX_VALUE, localEngine.watchdog(), Duration.ZERO, new int[0], true));
    }
    return specs;
  }

  private static @Nullable URI address(String text) {
    if (!text.matches("https?://[^/:]+:\\d{1,5}/?")) {
      return null;
    }
    return URI.create(text);
  }

  /** Adds nothing: the decode engine needs no parameters from the answer. */
  @Override
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine) {
    answer.putNull("kv_transfer_params");
  }

  @Override
  public @Nullable JsonNode page(String path, LocalEngine localEngine) {
    if (!path.equals("/query")) {
      return null;
    }
    ObjectNode ranks = JsonNodeFactory.instance.objectNode();
    for (int rank = 0; rank < localEngine.ranks(); rank++) {
      ObjectNode one = ranks.putObject(Integer.toString(rank)).put("engine_id", localEngine.engineIds().get(rank));
      one.putObject("worker_addr").putObject("0").put("0", localEngine.host() + ":" + localEngine.port());
    }
    return ranks;
  }
}
