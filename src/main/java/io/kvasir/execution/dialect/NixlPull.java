package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's NixlConnector: the prefill worker keeps its blocks under a lease and responds with their place, the decode
 * worker pulls them. The parameters are copied as they are, for its fields differ by release (flat block ids in old
 * ones, one list per cache group since); a response without them means that nothing was kept.
 *
 * <p>The lease is 30 s from the end of prefill (v0.22 and later; before that 480 s), so nothing may wait between
 * the two requests.
 */
final class NixlPull implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new NixlPull();

  static final String PARAMETERS = "kv_transfer_params";
  static final Set<ApiPath> APIS = Set.of(
      ApiPath.CHAT, ApiPath.COMPLETIONS, ApiPath.RESPONSES, ApiPath.MESSAGES,
      ApiPath.TOKENS);

  /** Has the prefill worker keep its blocks. */
  static final String PREFILL_PARAMETERS =
      "{\"do_remote_decode\":true,\"do_remote_prefill\":false,\"remote_engine_id\":null,"
          + "\"remote_block_ids\":null,\"remote_host\":null,\"remote_port\":null}";

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(APIS, PARAMETERS);
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    return EngineRequest.of(split.request(),
        SingleTokenRequest.of(split.request()).with(PARAMETERS, PREFILL_PARAMETERS));
  }

  @Override
  public PrefillResult prefillResult(SplitRequest split, byte[] answer) {
    JsonMembers members = JsonMembers.tryOf(answer);
    return members != null && members.object(PARAMETERS) != null
        ? new PrefillResult.KvBlocks(members)
        : new PrefillResult.NoBlocks("prefill kept nothing");
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    return EngineRequest.of(
        split.request(), split.request().members().withCopy(PARAMETERS, blocks.answer(), PARAMETERS));
  }
}
