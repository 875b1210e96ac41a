package io.kvasir.cell;

import io.kvasir.index.Chain;
import io.kvasir.routing.Role;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything a decision needs to know of a request: small enough to cross the cluster in one message.
 *
 * @param requestId the client's or our own
 * @param model as the request names it
 * @param profile name of the routing profile, null for the model's default
 * @param role what the chosen worker will have to do
 * @param chain the prompt's blocks; empty when nothing is known of the prompt
 * @param promptTokens tokens of the prompt, estimated where they could not be counted
 * @param sessionKey keeps a conversation together where a profile asks for it, null when the request
 *     carries none
 * @param excluded ids of workers that already failed this request
 */
public record DecisionRequest(
    String requestId,
    String model,
    @Nullable String profile,
    Role role,
    Chain chain,
    int promptTokens,
    @Nullable String sessionKey,
    Set<String> excluded) {}
