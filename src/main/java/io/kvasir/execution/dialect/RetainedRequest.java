package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.Retention;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Requests that tell their engine what program they are a turn of, so that it retains what they have used. */
public final class RetainedRequest {
  /** SGLang's APIs whose requests have a session; that of Anthropic's clients has none (0.5.23). */
  private static final Set<ApiPath> SGLANG_APIS =
      EnumSet.of(ApiPath.CHAT, ApiPath.COMPLETIONS, ApiPath.RESPONSES, ApiPath.GENERATE);

  private static final String SESSION = "session_id";

  /** Sessions of the older kind, which have requests of their own: no request may have both. */
  private static final String OLDER_SESSION = "session_params";

  private RetainedRequest() {}

  /**
   * The client's request as a turn of a program; null where its API cannot say so. A session that the client has named
   * itself gives way to the program's: its own would never be closed, and tenants could close each other's.
   *
   * @param program its name, which no other tenant's program has
   */
  public static @Nullable EngineRequest of(Retention retention, String target, byte[] body, String program) {
    return switch (retention) {
      case NONE -> null;
      case SGLANG -> inSession(ClientRequest.of(target, body), program);
    };
  }

  private static @Nullable EngineRequest inSession(@Nullable ClientRequest request, String program) {
    return request == null || request.api() == null || !SGLANG_APIS.contains(request.api())
            || request.members().hasValue(OLDER_SESSION)
        ? null
        : EngineRequest.of(request, request.members().withText(SESSION, program));
  }
}
