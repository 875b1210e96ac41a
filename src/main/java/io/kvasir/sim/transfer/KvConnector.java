package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An engine family's way to say, in requests and answers, which KV moves where. Stateless. */
interface KvConnector {
  /**
   * What each sequence of a request has to do with other engines.
   *
   * @return as many as the request has ids; null when its parameters are incomplete and the engine ignores them
   * @throws TransferRejectedException when the engine does not serve such a request
   */
  @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine here) throws TransferRejectedException;

  /** Adds to an answer in one piece what the next leg needs. */
  void addParams(ObjectNode answer, List<PrefillResult> sent, LocalEngine here);

  /** Under what the outbox keeps what a request names by {@code id} and {@code rank}. */
  default String key(String id, int rank, LocalEngine here) {
    return id;
  }

  /** Answers a GET at the side channel; null for no such page. */
  default @Nullable JsonNode page(String path, LocalEngine here) {
    return null;
  }

  /** The same for every sequence. */
  static List<TransferSpec> noTransfers(ConnectorRequest request) {
    return request.ids().stream().<TransferSpec>map(id -> new TransferSpec.NoTransfer()).toList();
  }
}
