package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * SGLang's prefill and decode servers: the same body goes to both, which meet in a bootstrap room. The prefill server
 * generates one token by itself and transfers it with the blocks; it computes nothing before the decode server has
 * requested them. The room's residue is the prefill server's rank.
 */
final class SglangConnector implements KvConnector {
  /** The bootstrap host of the server's own warm-up requests. */
  private static final String FAKE_HOST = "2.2.2.2";

  private static final int DEFAULT_PORT = 8998;
  /** The paths whose request models have the bootstrap fields; others ignore them. */
  private static final Set<String> PATHS =
      Set.of("/v1/chat/completions", "/v1/completions", "/generate", "/v1/messages", "/v1/responses");

  @Override
  public List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine) throws TransferRejectedException {
    if (localEngine.role() == Role.BOTH) {
      return KvConnector.noTransfers(request);
    }
    JsonNode body = PATHS.contains(request.path()) ? request.body() : JsonNodeFactory.instance.objectNode();
    JsonNode rooms = body.path("bootstrap_room");
    if (rooms.isMissingNode() || rooms.isNull()) {
      throw new TransferRejectedException(
          400,
          "Invalid request: Disaggregated request received without bootstrap room id. recv_req.rid='"
              + request.ids().getFirst() + "'");
    }
    List<TransferSpec> specs = new ArrayList<>();
    for (int i = 0; i < request.ids().size(); i++) {
      String host = item(body.path("bootstrap_host"), i).asText("");
      if (host.equals(FAKE_HOST)) {
        specs.add(new TransferSpec.NoTransfer());
        continue;
      }
      long room = room(rooms, i, request.ids().size());
      specs.add(localEngine.role() == Role.PREFILL ? send(room, request, localEngine)
          : receive(body, i, host, room, localEngine));
    }
    return specs;
  }

  private static TransferSpec send(long room, ConnectorRequest request, LocalEngine localEngine) {
    int rank = request.rank() != null ? request.rank() : (int) (room % localEngine.ranks());
    return new TransferSpec.Send(Long.toString(room), rank, true, true, true);
  }

  private static TransferSpec receive(JsonNode body, int i, String host, long room, LocalEngine localEngine)
      throws TransferRejectedException {
    if (host.isEmpty()) {
      throw new TransferRejectedException(500,
          "Decode handshake failed: bootstrap_host is missing for bootstrap_room=" + room);
    }
    JsonNode port = item(body.path("bootstrap_port"), i);
    JsonNode rank = body.path("disagg_prefill_dp_rank");
    return new TransferSpec.Receive(
        new TransferSpec.RemoteBlocks(
            host,
            port.canConvertToInt() && port.isNumber() ? port.asInt() : DEFAULT_PORT,
            null,
            Long.toString(room),
            rank.isInt() ? rank.asInt() : -1,
            null),
        Integer.MAX_VALUE, localEngine.watchdog(), Duration.ZERO, new int[0], false);
  }

  /** A scalar room is that of the first sequence and counts on; a list, repeated, has one for each. */
  private static long room(JsonNode rooms, int i, int sequences) throws TransferRejectedException {
    if (rooms.isArray() && (rooms.isEmpty() || sequences % rooms.size() != 0)) {
      throw new TransferRejectedException(400,
          "bootstrap_room: " + rooms.size() + " rooms for " + sequences + " sequences");
    }
    JsonNode room = item(rooms, i);
    if (!room.isIntegralNumber()) {
      throw new TransferRejectedException(400, "bootstrap_room: Input should be a valid integer");
    }
    BigInteger value = room.bigIntegerValue().add(BigInteger.valueOf(rooms.isArray() ? 0 : i));
    if (value.signum() < 0 || value.bitLength() > 63) {
      throw new TransferRejectedException(400,
          "bootstrap_room: " + value + " does not fit into an int64 from 0 to 2^63-1");
    }
    return value.longValue();
  }

  private static JsonNode item(JsonNode value, int i) {
    return value.isArray() && !value.isEmpty() ? value.get(i % value.size()) : value;
  }

  @Override
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine) {}

  @Override
  public String key(String id, int rank, LocalEngine localEngine) {
    return (rank >= 0 ? rank : Long.parseLong(id) % localEngine.ranks()) + ":" + id;
  }

  @Override
  public @Nullable JsonNode page(String path, LocalEngine localEngine) {
    if (!path.equals("/route")) {
      return null;
    }
    return JsonNodeFactory.instance.objectNode()
        .put("attn_tp_size", 1)
        .put("attn_cp_size", 1)
        .put("dp_size", localEngine.ranks())
        .put("pp_size", 1)
        .put("page_size", localEngine.blockSize())
        .put("kv_cache_dtype", "auto")
        .put("follow_bootstrap_room", true);
  }
}
