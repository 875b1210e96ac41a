package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * TensorRT-LLM: a context request generates one token and returns, in every choice, the parameters of the generation
 * request; with {@code schedule_style} 1 both are sent at once and match by {@code disagg_request_id}. The opaque state
 * names the blocks' engine and carries a check sum.
 */
final class TensorRtConnector implements KvConnector {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PARAMS = "disaggregated_params";

  @Override
  public List<TransferSpec> specs(ConnectorRequest request, LocalEngine localEngine) throws TransferRejectedException {
    JsonNode params = request.body().path(PARAMS);
    if (!params.isObject()) {
      return KvConnector.noTransfers(request);
    }
    if (request.ids().size() > 1) {
      throw new TransferRejectedException(400, "Disaggregated requests take a single prompt and n=1");
    }
    return switch (params.path("request_type").asText()) {
      case "context_only" -> List.of(context(request, params));
      case "generation_only" -> List.of(generation(params, localEngine));
      case "context_and_generation" -> KvConnector.noTransfers(request);
      default -> throw new TransferRejectedException(
          400, "disaggregated_params.request_type must be context_only, generation_only or context_and_generation");
    };
  }

  private static TransferSpec context(ConnectorRequest request, JsonNode params) throws TransferRejectedException {
    if (request.body().path("stream").asBoolean()) {
      throw new TransferRejectedException(400, "context_only requests cannot be streamed");
    }
    boolean together = params.path("schedule_style").asInt() == 1;
    String id = together ? "d" + params.path("disagg_request_id").asText() : Long.toString(newId());
    return new TransferSpec.Send(id, -1, false, true, false);
  }

  private static TransferSpec generation(JsonNode params, LocalEngine localEngine) throws TransferRejectedException {
    if (params.path("schedule_style").asInt() == 1 && !params.hasNonNull("encoded_opaque_state")) {
      String[] at = params.path("ctx_info_endpoint").asText("").split(":", -1);
      if (at.length != 2 || !at[1].matches("\\d{1,5}") || !params.path("disagg_request_id").isIntegralNumber()) {
        throw new TransferRejectedException(
            400, "generation_only with schedule_style 1 needs ctx_info_endpoint (host:port) and disagg_request_id");
      }
      return new TransferSpec.Receive(
          new TransferSpec.RemoteBlocks(
              at[0], Integer.parseInt(at[1]), null, "d" + params.path("disagg_request_id").asText(), -1, null),
          Integer.MAX_VALUE, localEngine.watchdog(), Duration.ZERO, new int[0], true);
    }
    JsonNode state = opened(params.path("encoded_opaque_state").asText(""));
    if (state == null) {
      throw new TransferRejectedException(500, "Failed to deserialize the opaque state of the context request");
    }
    if (!params.path("ctx_request_id").asText("").equals(state.path("request").asText())) {
      throw new TransferRejectedException(500,
          "ctx_request_id " + params.path("ctx_request_id") + " is not the opaque state's");
    }
    JsonNode first = params.path("first_gen_tokens");
    if (!first.isArray() || first.isEmpty()) {
      throw new TransferRejectedException(400, "generation_only needs first_gen_tokens of the context request");
    }
    int[] tokens = new int[first.size()];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = (int) first.get(i).asLong();
    }
    return new TransferSpec.Receive(
        new TransferSpec.RemoteBlocks(
            state.path("host").asText(), state.path("port").asInt(), state.path("engine").asText(),
            state.path("request").asText(), -1, null),
        Integer.MAX_VALUE, Duration.ZERO, Duration.ZERO, tokens, true);
  }

  @Override
  public void addParams(ObjectNode answer, List<FinishedPrefill> sent, LocalEngine localEngine) {
    FinishedPrefill only = sent.getFirst();
    if (!(answer.path("choices").path(0) instanceof ObjectNode choice)) {
      return;
    }
    if (only.unfinished()) {
      choice.put("finish_reason", "not_finished");
    }
    ObjectNode params = choice.putObject(PARAMS).put("request_type", "context_only");
    ArrayNode first = params.putArray("first_gen_tokens");
    for (int token : only.firstTokens()) {
      first.add(Integer.toUnsignedLong(token));
    }
    String id = only.spec().id();
    if (id.startsWith("d")) {
      params.put("disagg_request_id", Long.parseLong(id.substring(1)));
      params.putNull("ctx_request_id").putNull("encoded_opaque_state");
    } else {
      params.put("ctx_request_id", Long.parseLong(id));
      params.put("encoded_opaque_state", only.blocksKept() ? sealed(id, only.rank(), localEngine) : null);
    }
    params.putNull("draft_tokens").putNull("first_gen_log_probs");
    params.put("ctx_dp_rank", only.rank()).put("ctx_info_endpoint", localEngine.host() + ":" + localEngine.port());
    ArrayNode prompt = answer.putArray("prompt_token_ids");
    for (int token : only.prompt()) {
      prompt.add(Integer.toUnsignedLong(token));
    }
  }

  private static String sealed(String id, int rank, LocalEngine localEngine) {
    String state =
        JSON.createObjectNode()
            .put("engine", localEngine.engineIds().get(rank))
            .put("host", localEngine.host())
            .put("port", localEngine.port())
            .put("request", id)
            .toString();
    return Base64.getEncoder().encodeToString((sum(state) + state).getBytes(StandardCharsets.UTF_8));
  }

  private static @Nullable JsonNode opened(String text) {
    try {
      String state = new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
      boolean whole = state.length() > 8 && state.startsWith(sum(state.substring(8)));
      return whole ? JSON.readTree(state.substring(8)) : null;
    } catch (IllegalArgumentException | IOException e) {
      return null;
    }
  }

  private static String sum(String state) {
    CRC32 crc = new CRC32();
    crc.update(state.getBytes(StandardCharsets.UTF_8));
    return String.format("%08x", crc.getValue());
  }

  private static long newId() {
    return ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
  }
}
