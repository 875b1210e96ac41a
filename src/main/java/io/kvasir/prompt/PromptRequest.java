package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request whose prompt is to be prepared. Immutable.
 *
 * @param api the API of its body
 * @param model the model's name in it
 * @param body its JSON
 * @param templateGranted whether the request may have a chat template of its own even if its model does not allow it
 * @param sender identity of the client that sent it, which that client cannot choose; null for a request that no engine
 *     gets, such as a dry run. Prompts without a sender are never compared with the engine's tokens
 */
public record PromptRequest(
    Api api, String model, JsonNode body, boolean templateGranted, @Nullable Supplier<String> sender) {}
