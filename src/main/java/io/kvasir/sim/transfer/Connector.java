package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An engine family's way to say, in requests and answers, which KV moves where. Stateless. */
interface Connector {
  /**
   * What each sequence of a request has to do with other engines.
   *
   * @return as many as the request has ids; null when its parameters are incomplete and the engine ignores them
   * @throws Refusal when the engine does not serve such a request
   */
  @Nullable List<Leg> legs(LegRequest request, Here here) throws Refusal;

  /** Adds to an answer in one piece what the next leg needs. */
  void tell(ObjectNode answer, List<Sent> sent, Here here);

  /** Under what the outbox keeps what a request names by {@code id} and {@code rank}. */
  default String key(String id, int rank, Here here) {
    return id;
  }

  /** Answers a GET at the side channel; null for no such page. */
  default @Nullable JsonNode page(String path, Here here) {
    return null;
  }

  /** The same for every sequence. */
  static List<Leg> alone(LegRequest request) {
    return request.ids().stream().<Leg>map(id -> new Leg.Alone()).toList();
  }
}
