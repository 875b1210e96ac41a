package io.kvasir.gateway.body;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * What the gateway understood of a request.
 *
 * @param model as the body names it, null when it does not
 * @param stream whether the body asks for a stream
 * @param previousResponse id of the stored response it builds on, null without one
 * @param body the body's tree, null when it is not JSON
 */
public record ApiRequest(
    @Nullable String model,
    boolean stream,
    @Nullable String previousResponse,
    @Nullable JsonNode body) {}
