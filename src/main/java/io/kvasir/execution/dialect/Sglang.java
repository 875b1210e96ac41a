package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.Worker;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * SGLang: both requests at once with the same body; the engines meet in a room at the prefill worker's bootstrap
 * server. The prefill side bounds the answer itself. A worker of either role takes no request without a room, so none
 * of them serves one alone.
 *
 * <p>Which rank of the prefill side takes a room follows from the room: {@code room mod ranks}. Requests to an API that
 * has no room in an engine's version are sent as chats.
 */
final class Sglang implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new Sglang();

  private static final Set<ApiPath> APIS = Set.of(
      ApiPath.CHAT, ApiPath.COMPLETIONS, ApiPath.GENERATE, ApiPath.RESPONSES,
      ApiPath.MESSAGES);

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(APIS, "bootstrap_room");
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    return both(split);
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    return both(split);
  }

  @Override
  public boolean splitsAsChat(@Nullable ApiPath api, Set<ApiPath> splitByBoth) {
    return (api == ApiPath.RESPONSES || api == ApiPath.MESSAGES) && !splitByBoth.contains(api);
  }

  private static EngineRequest both(SplitRequest split) {
    JsonMembers body = AdapterNames.withBase(split.prefill(), split.request().members())
        .withText("bootstrap_host", split.bareHost())
        .with("bootstrap_port", Integer.toString(split.transfer().bootstrapPort()))
        .with("bootstrap_room", Long.toString(room(split.rendezvousId(), split.prefill())));
    return EngineRequest.of(split.request(), body);
  }

  /** A room near a random one that leads to the prefill worker's rank. */
  private static long room(long random, Worker prefill) {
    long ranks = prefill.ranks();
    long room = random - random % ranks + prefill.rank();
    return room < 0 ? room - ranks : room;
  }
}
