package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's MooncakeConnector: both requests at once; the engines meet under a transfer id. The decode worker gets the
 * engine id of the prefill worker's rank, which its bootstrap server knows and which changes when the engine restarts.
 *
 * <p>The prefill worker keeps blocks only of a request that ended by its length, so it must not end by its first
 * token.
 */
final class Mooncake implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new Mooncake();

  private static final String RANK = "X-data-parallel-rank";

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(NixlPull.APIS, NixlPull.PARAMETERS);
  }

  @Override
  public URI bootstrap(Worker prefill) {
    return SplitRequest.bootstrapServer(prefill, "/query");
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    ClientRequest request = split.request();
    JsonMembers parameters = JsonMembers.empty()
        .with("do_remote_decode", "true")
        .with("do_remote_prefill", "false")
        .withText("transfer_id", transfer(split));
    JsonMembers body = SingleTokenRequest.of(request);
    JsonMembers sampling = body.object("sampling_params");
    JsonMembers endless = request.api() == ApiPath.TOKENS && sampling != null
        ? body.with("sampling_params", sampling.with("ignore_eos", "true").toString())
        : body.with("ignore_eos", "true");
    return new EngineRequest(
        request.path(),
        endless.with(NixlPull.PARAMETERS, parameters.toString()).bytes(),
        Map.of(RANK, Integer.toString(split.prefill().rank())));
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    JsonMembers parameters = JsonMembers.empty()
        .with("do_remote_decode", "false")
        .with("do_remote_prefill", "true")
        .withText("remote_bootstrap_addr", SplitRequest.bootstrapServer(split.prefill(), "").toString())
        .withText("remote_engine_id", engine(split))
        .withText("transfer_id", transfer(split));
    return EngineRequest.of(
        split.request(), split.request().members().with(NixlPull.PARAMETERS, parameters.toString()));
  }

  private static String transfer(SplitRequest split) {
    return "xfer-" + split.id();
  }

  /**
   * The engine id of the worker's rank.
   *
   * @throws IllegalArgumentException when the bootstrap's answer does not have it
   */
  private static String engine(SplitRequest split) {
    Worker prefill = split.prefill();
    JsonMembers ranks = split.bootstrap();
    JsonNode id = ranks == null ? null : ranks.value(Integer.toString(prefill.rank())).get("engine_id");
    if (id == null || !id.isTextual()) {
      throw new IllegalArgumentException(
          "the bootstrap server of " + prefill.pod() + " names no engine of rank " + prefill.rank());
    }
    return id.textValue();
  }
}
