package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's MooncakeConnector: both legs at once, which meet under a transfer id. The decode worker is told the engine
 * id of the prefill worker's rank, which its bootstrap server knows and which changes when the engine restarts.
 *
 * <p>The prefill worker keeps blocks only of a request that ended by its length, so it must not end by its first
 * token.
 */
final class Mooncake implements Legs {
  static final Legs LEGS = new Mooncake();

  private static final String RANK = "X-data-parallel-rank";

  @Override
  public @Nullable String unfit(ClientRequest request) {
    return request.unfit(NixlPull.PATHS, NixlPull.PARAMETERS);
  }

  @Override
  public URI bootstrap(Worker prefill) {
    return Split.bootstrapServer(prefill, "/query");
  }

  @Override
  public Message prefill(Split split) {
    ClientRequest request = split.request();
    JsonMembers parameters = JsonMembers.empty()
        .with("do_remote_decode", "true")
        .with("do_remote_prefill", "false")
        .withText("transfer_id", transfer(split));
    JsonMembers body = OneToken.of(request);
    JsonMembers sampling = body.object("sampling_params");
    JsonMembers endless = request.path().equals(ClientRequest.TOKENS) && sampling != null
        ? body.with("sampling_params", sampling.with("ignore_eos", "true").toString())
        : body.with("ignore_eos", "true");
    return new Message(
        request.path(),
        endless.with(NixlPull.PARAMETERS, parameters.toString()).bytes(),
        Map.of(RANK, Integer.toString(split.prefill().rank())));
  }

  @Override
  public Message decode(Split split, Handed.Blocks blocks) {
    JsonMembers parameters = JsonMembers.empty()
        .with("do_remote_decode", "false")
        .with("do_remote_prefill", "true")
        .withText("remote_bootstrap_addr", Split.bootstrapServer(split.prefill(), "").toString())
        .withText("remote_engine_id", engine(split))
        .withText("transfer_id", transfer(split));
    return Message.of(
        split.request(), split.request().members().with(NixlPull.PARAMETERS, parameters.toString()));
  }

  private static String transfer(Split split) {
    return "xfer-" + split.id();
  }

  /**
   * The engine id of the worker's rank.
   *
   * @throws IllegalArgumentException when the bootstrap's answer does not have it
   */
  private static String engine(Split split) {
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
