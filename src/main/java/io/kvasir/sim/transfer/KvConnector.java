package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An engine family's transfer parameters in requests and answers. Stateless. */
interface KvConnector {
  /**
   * The transfer of each sequence of a request.
   *
   * @return as many as the request has ids; null when its parameters are incomplete and the engine ignores them
   * @throws TransferRejectedException when the engine does not serve such a request
   */
  @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine)
      throws TransferRejectedException;

  /** Adds the next engine's parameters to an unstreamed answer. */
  void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine);

  /** The key in {@link KvLeases} of the blocks that a request names by {@code id} and {@code rank}. */
  default String key(String id, int rank, LocalEngine localEngine) {
    return id;
  }

  /** Answers a GET at the side channel; null for no such page. */
  default @Nullable JsonNode page(String path, LocalEngine localEngine) {
    return null;
  }

  /** {@link TransferSpec.NoTransfer} for every sequence. */
  static List<TransferSpec> noTransfers(ConnectorRequest request) {
    return request.ids().stream().<TransferSpec>map(id -> new TransferSpec.NoTransfer()).toList();
  }
}
