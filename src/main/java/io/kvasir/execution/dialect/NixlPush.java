package io.kvasir.execution.dialect;

import io.kvasir.routing.KvTransfer;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's NixlPushConnector (v0.24 and later): both requests at once, the prefill worker pushes. The two find each other
 * by the request id, which therefore has to be the same on both, and the decode worker gets the address of the
 * prefill worker's side channel: no engine reports it, so it is configured.
 */
final class NixlPush implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new NixlPush();


  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(NixlPull.APIS, NixlPull.PARAMETERS);
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    JsonMembers body = SingleTokenRequest.of(split.request()).with(NixlPull.PARAMETERS, NixlPull.PREFILL_PARAMETERS);
    return EngineRequest.of(split.request(), body);
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
    JsonMembers body = split.request().members().with(NixlPull.PARAMETERS, parameters.toString());
    return EngineRequest.of(split.request(), body);
  }
}
