package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.KvTransfer;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's NixlPushConnector (v0.24 and later): both requests at once, the prefill worker pushes. The two find each other
 * by the request id, which therefore has to be the same on both and nobody else's, and the decode worker gets the
 * address of the prefill worker's side channel: no engine reports it, so it is configured.
 */
final class NixlPush implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new NixlPush();

  /** The id of a response's request: vLLM reads no {@code X-Request-Id} there (0.32). */
  private static final String REQUEST_ID = "request_id";

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(NixlPull.APIS, NixlPull.PARAMETERS);
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    JsonMembers body = identified(split, SingleTokenRequest.of(split.request()));
    return message(split, body.with(NixlPull.PARAMETERS, NixlPull.PREFILL_PARAMETERS));
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    KvTransfer transfer = split.transfer();
    JsonMembers parameters = JsonMembers.empty()
        .with("do_remote_decode", "false")
        .with("do_remote_prefill", "true")
        .withText("remote_engine_id", transfer.engineId())
        .withText("remote_host", split.bareHost())
        // One side channel for each data-parallel rank.
        .with("remote_port", Integer.toString(transfer.bootstrapPort() + split.prefill().rank()))
        .with("tp_size", Integer.toString(transfer.tensorParallel()))
        .with("pp_size", Integer.toString(transfer.pipelineParallel()))
        .withText("remote_request_id", split.id());
    JsonMembers body = identified(split, split.request().members());
    return message(split, body.with(NixlPull.PARAMETERS, parameters.toString()));
  }

  private static EngineRequest message(SplitRequest split, JsonMembers body) {
    return new EngineRequest(split.request().path(), body.bytes(), Map.of("X-Request-Id", split.id()));
  }

  /** The body with the id that both engines are to know its request by, where the header does not say it. */
  private static JsonMembers identified(SplitRequest split, JsonMembers body) {
    return split.request().api() == ApiPath.RESPONSES ? body.withText(REQUEST_ID, "resp_" + split.id()) : body;
  }
}
