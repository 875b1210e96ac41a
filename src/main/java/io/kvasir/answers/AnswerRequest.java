package io.kvasir.answers;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request as the cache looks at it.
 *
 * @param path its path, undecoded
 * @param query what follows the question mark, undecoded; empty without one
 * @param tenant whose it is, by the name operators know; empty for requests without any
 * @param owner the tenant's full identity, which no other one shares, such as the whole hash of its API key
 * @param model the model that will answer
 * @param profile the routing profile it goes by
 * @param header a header's value by its name in any case, several of one name joined by commas; null when there is none
 * @param body the body's tree, null when it is not a JSON object
 */
public record AnswerRequest(
    String path,
    String query,
    String tenant,
    String owner,
    String model,
    String profile,
    Function<String, @Nullable String> header,
    @Nullable JsonNode body) {}
