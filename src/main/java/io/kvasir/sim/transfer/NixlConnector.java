package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's NixlConnector and NixlPushConnector: {@code kv_transfer_params} are sent with the prefill request, come back
 * filled in, and are sent unchanged with the decode request; with push both may be sent at once and match by request
 * id.
 *
 * <p>Beside the documented fields the parameters carry some that are unknown to routers ({@code kv_layout}, {@code
 * kv_handle}); the decode engine notices when they were lost or rounded.
 */
final class NixlConnector implements KvConnector {
  private static final String PARAMS = "kv_transfer_params";
  private static final BigInteger FINGERPRINT = new BigInteger("18446744073709551557");

  private final TransferDialect dialect;

  NixlConnector(TransferDialect dialect) {
    this.dialect = dialect;
  }

  @Override
  public @Nullable List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine)
      throws TransferRejectedException {
    if (!(request.body().get(PARAMS) instanceof ObjectNode params)) {
      return KvConnector.noTransfers(request);
    }
    List<TransferSpec> specs = new ArrayList<>();
    for (String id : request.ids()) {
      if (params.path("do_remote_decode").asBoolean()) {
        String name = dialect == TransferDialect.VLLM_PUSH ? id : id + "-" + suffix();
        specs.add(new TransferSpec.Send(name, -1, true, false, false));
      } else if (!params.path("do_remote_prefill").asBoolean()) {
        specs.add(new TransferSpec.NoTransfer());
      } else if (!complete(params)) {
        return null;
      } else {
        specs.add(receive(params, id, localEngine));
      }
    }
    return specs;
  }

  private boolean complete(ObjectNode params) {
    String fourth = dialect == TransferDialect.VLLM_NIXL_OLD ? "remote_block_ids" : "remote_request_id";
    return params.path("remote_engine_id").isTextual()
        && params.path("remote_host").isTextual()
        && params.path("remote_port").canConvertToInt()
        && params.hasNonNull(fourth);
  }

  private TransferSpec.Receive receive(ObjectNode params, String ownId, LocalEngine localEngine)
      throws TransferRejectedException {
    boolean push = dialect == TransferDialect.VLLM_PUSH;
    boolean old = dialect == TransferDialect.VLLM_NIXL_OLD;
    if (!push && !params.path("kv_layout").equals(layout())) {
      throw new TransferRejectedException(500,
          "NIXL compatibility hash mismatch: the parameters' kv_layout is not this engine's.");
    }
    JsonNode blocks = params.path("remote_block_ids");
    int count = blocks.isArray() && !blocks.isEmpty() && blocks.get(0).isArray() ? blocks.get(0).size() : blocks.size();
    boolean beats = !push && !old && params.path("tp_size").asInt() > 0;
    return new TransferSpec.Receive(
        new TransferSpec.RemoteBlocks(
            params.path("remote_host").asText(),
            params.path("remote_port").asInt(),
            params.path("remote_engine_id").asText(),
            push ? ownId : params.path(old ? "kv_handle" : "remote_request_id").asText(),
            -1,
            push ? null : blocks.toString()),
        push ? Integer.MAX_VALUE : params.path("remote_num_tokens").asInt(count * localEngine.blockSize()),
        push ? localEngine.watchdog() : Duration.ZERO,
        beats ? localEngine.lease().dividedBy(6) : Duration.ZERO,
        new int[0],
        true);
  }

  @Override
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine) {
    FinishedPrefill first = sent.getFirst();
    boolean old = dialect == TransferDialect.VLLM_NIXL_OLD;
    // Before connector version 2 only full blocks went over.
    int[] blocks =
        old ? Arrays.copyOf(first.blocks(), first.prompt().length / localEngine.blockSize()) : first.blocks();
    if (!first.blocksKept() || blocks.length == 0) {
      answer.putNull(PARAMS);
      return;
    }
    ObjectNode params = answer.putObject(PARAMS);
    params.put("do_remote_prefill", true).put("do_remote_decode", false);
    params.set("remote_block_ids", blockIds(blocks));
    params.put("remote_engine_id", localEngine.engineIds().get(first.rank()));
    params.put("remote_host", localEngine.host()).put("remote_port", localEngine.port()).put("tp_size", 1);
    if (old) {
      params.put("kv_handle", first.spec().id());
    } else {
      params.put("remote_request_id", first.spec().id());
      params.put("remote_num_tokens", first.prompt().length).putNull("remote_blocks_expiry_time");
    }
    params.set("kv_layout", layout());
  }

  /** A list for every KV group since connector version 2, before that a flat one. */
  private JsonNode blockIds(int[] blocks) {
    ArrayNode ids = JsonNodeFactory.instance.arrayNode();
    ArrayNode group = dialect == TransferDialect.VLLM_NIXL_OLD ? ids : ids.addArray();
    for (int block : blocks) {
      group.add(block);
    }
    return ids;
  }

  private static ObjectNode layout() {
    ObjectNode layout = JsonNodeFactory.instance.objectNode().put("version", 6).put("order", "HND");
    layout.put("fingerprint", FINGERPRINT);
    return layout;
  }

  private static String suffix() {
    return HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
  }
}
